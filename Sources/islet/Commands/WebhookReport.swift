import APNSModel
import JSONText
import LiveActivityCore

/// The printed form of a webhook, without its secret.
struct WebhookReport {
    let key: WebhookKey
    /// Position of the webhook in the stream of events; `nil` if no server has run with it yet.
    let place: WebhookPlace?
    /// URL of the webhook; `nil` if it is no longer configured.
    let url: String?
    /// Number of the newest event.
    let newest: EventNumber
    let waiting: Int
    let dead: Int

    private var standing: WebhookStanding { WebhookStanding(place, isConfigured: url != nil, dead: dead) }

    private var words: String {
        switch standing.state {
        case .new: return "not known yet"
        case .removed: return "not configured"
        case .on: return "on"
        case .off, .failing:
            let since = standing.since.map { " since \($0)" } ?? ""
            return "\(standing.state.rawValue)\(since): \(standing.reason ?? "?")"
        }
    }

    /// Number of events after the webhook's position.
    private var behind: EventNumber { max(0, newest - (place?.position ?? newest)) }

    static func table(_ rows: [WebhookReport]) -> String {
        guard !rows.isEmpty else { return "no webhooks; see docs/webhooks.md to configure one\n" }
        return Columns.text(
            ["NAME", "APP", "BEHIND", "WAITING", "DEAD", "STANDING"],
            rows.map { row in
                [
                    row.key.name, row.key.app.text, String(row.behind), String(row.waiting), String(row.dead),
                    row.words,
                ]
            }) + rows.compactMap { row in row.standing.fix.map { "\(row.key.name): \($0)\n" } }.joined()
    }

    static func json(_ rows: [WebhookReport]) -> String {
        JSONValue.array(
            rows.map { row in
                var object: JSONObject = [
                    "name": .string(row.key.name), "app": .string(row.key.app.text),
                    "waiting": .number(JSONNumber(row.waiting)), "dead": .number(JSONNumber(row.dead)),
                    "behind": .number(JSONNumber(Int(row.behind))),
                    "enabled": .bool(row.place?.disabledAt == nil),
                    "state": .string(row.standing.state.rawValue),
                ]
                object["fix"] = row.standing.fix.map(JSONValue.string)
                object["url"] = row.url.map(JSONValue.string)
                object["position"] = row.place.map { .number(JSONNumber(Int($0.position))) }
                object["failures"] = row.place.map { .number(JSONNumber($0.failures)) }
                object["failure"] = row.place?.failure.map(JSONValue.string)
                object["failingSince"] = row.place?.failingSince.map { .string($0.description) }
                object["disabledAt"] = row.place?.disabledAt.map { .string($0.description) }
                return .object(object)
            }
        ).text
    }
}

/// The printed form of deliveries that were given up.
enum DeadReport {
    static func table(_ dead: [WebhookDelivery], _ events: [StoredEvent]) -> String {
        guard !dead.isEmpty else { return "no failed events\n" }
        let known = Dictionary(events.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        return Columns.text(
            ["EVENT", "KIND", "ACTIVITY", "TRIES", "GIVEN UP", "LAST FAILURE"],
            dead.map { delivery in
                let event = known[delivery.number]
                return [
                    String(delivery.number), event?.record.kind.name ?? "-", event?.activity?.text ?? "-",
                    String(delivery.tries), delivery.deadAt?.description ?? "-", delivery.failure ?? "-",
                ]
            })
    }

    static func json(_ dead: [WebhookDelivery], _ events: [StoredEvent]) -> String {
        let known = Dictionary(events.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        return JSONValue.array(
            dead.map { delivery in
                var object: JSONObject = [
                    "event": .number(JSONNumber(Int(delivery.number))), "tries": .number(JSONNumber(delivery.tries)),
                ]
                object["failure"] = delivery.failure.map(JSONValue.string)
                object["givenUpAt"] = delivery.deadAt.map { .string($0.description) }
                object["document"] = known[delivery.number].map { .object($0.document) }
                return .object(object)
            }
        ).text
    }
}
