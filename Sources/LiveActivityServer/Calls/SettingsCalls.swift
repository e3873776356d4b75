import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls that read the configuration of the key's app. It cannot be changed by calls.
enum SettingsCalls {
    /// `GET /v1/types`: returns the app's activity types with contract, policy and view.
    @Sendable static func types(_ call: Call) async throws(Problem) -> Answer {
        try Answer(TypeList(types: call.app.types.values.sorted { $0.name < $1.name }.map { TypeList.Row($0) }))
    }

    /// `GET /v1/keys`: returns the app's keys without their secrets.
    @Sendable static func keys(_ call: Call) async throws(Problem) -> Answer {
        let all = try await call.ask { () async throws(StorageError) in try await call.services.store.keys() }
        let own = all.filter { $0.app == call.app.bundleID }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
        return try Answer(
            KeyList(
                keys: own.map { key in
                    KeyList.Row(
                        id: key.id, scope: key.scope.rawValue, name: key.name,
                        standing: key.standing(at: call.now).rawValue, createdAt: Instant(key.createdAt),
                        expiresAt: key.expiresAt.map { Instant($0) }, usedAt: key.usedAt.map { Instant($0) })
                }))
    }
}

extension TypeList.Row {
    fileprivate init(_ type: ActivityType) {
        self.init(
            type: type.name, attributesType: type.attributesType,
            activityIDAttribute: type.activityIDAttribute?.description, isProvided: type.isProvided,
            contract: type.contract?.document.object, policy: type.policy.described,
            view: type.view.map(TypeList.View.init))
    }
}

extension TypeList.View {
    fileprivate init(_ view: CardView) {
        self.init()
        title = view.title?.description
        subtitle = view.subtitle?.description
        progress = view.progress?.description
        countdown = view.countdown?.description
        image = view.image?.description
    }
}

extension TypePolicy {
    /// The policy in the form of the configuration. Settings without a value are left out.
    var described: JSONObject {
        var object: JSONObject = [
            "coalescingWindow": Self.text(coalescingWindow), "startGrace": Self.text(startGrace),
            "startWindow": Self.text(startWindow), "startStaleAfter": Self.text(startStaleAfter),
            "highPriorityInterval": Self.text(highPriorityInterval), "reusable": .bool(isReusable),
            "start": .string(start.rawValue), "restart": .string(restart.rawValue), "renewal": .bool(renewal),
            "authority": .string(authority.rawValue), "join": .string(join.rawValue),
            "delivery": .string(delivery.rawValue), "channelAlerts": .string(channelAlerts.rawValue),
            "channelStorage": channelStorage == .none ? "none" : "mostRecent",
            "atCeiling": .string(atCeiling.rawValue), "ceiling": .number(JSONNumber(ceiling)),
            "endAfter": endAfter.map(Self.text) ?? "0s", "budgets": .object(budgets.described),
        ]
        object["staleAfter"] = staleAfter.map(Self.text)
        object["dismissAfter"] = dismissAfter.map(Self.text)
        object["startAlert"] = startAlert.map { .object($0.described) }
        object["fallback"] = fallback.map { .object($0.described) }
        object["highWhen"] = highWhen.map {
            ["pointer": .string($0.pointer.description), "values": .array($0.values)]
        }
        object["quietHours"] = quietHours.map { hours in
            var told: JSONObject = [
                "from": .string("\(hours.from)"), "to": .string("\(hours.to)"), "holdAlerts": .bool(hours.holdsAlerts),
            ]
            told["zone"] = hours.zone.map(JSONValue.string)
            return .object(told)
        }
        return object
    }

    private static func text(_ duration: Duration) -> JSONValue {
        let milliseconds = duration.wholeMilliseconds
        guard milliseconds % 1000 == 0 else {
            return (try? JSONValue(encoding: Double(milliseconds) / 1000)) ?? .null
        }
        let seconds = milliseconds / 1000
        if seconds > 0, seconds % 3600 == 0 { return .string("\(seconds / 3600)h") }
        if seconds > 0, seconds % 60 == 0 { return .string("\(seconds / 60)m") }
        return .string("\(seconds)s")
    }
}

extension BudgetPolicy {
    fileprivate var described: JSONObject {
        func number(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }
        return [
            "highPerHour": number(high.perHour), "highPerDay": number(high.perDay),
            "frequentPerHour": number(highFrequent.perHour), "frequentPerDay": number(highFrequent.perDay),
            "startsPerHour": number(start.perHour), "startsPerDay": number(start.perDay),
            "reserve": number(high.reserve),
        ]
    }
}

extension AlertTemplate {
    fileprivate var described: JSONObject {
        var object: JSONObject = ["title": Self.value(title)]
        object["body"] = body.map(Self.value)
        object["sound"] = sound.map(JSONValue.string)
        return object
    }

    private static func value(_ text: Text) -> JSONValue {
        switch text {
        case .text(let phrase): .string(phrase.description)
        case .localized(let key, let arguments):
            ["locKey": .string(key), "locArgs": .array(arguments.map { .string($0.description) })]
        }
    }
}
