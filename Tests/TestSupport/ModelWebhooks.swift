package import LiveActivityCore
package import LiveActivityStorage

/// Cursors of endpoints as the tables of a store hold them: a model of the statements in `SQLStore`.
package struct ModelWebhooks: Sendable {
    private var places: [WebhookKey: WebhookPlace] = [:]
    private var rows: [WebhookKey: [EventNumber: WebhookDelivery]] = [:]

    package init() {}

    package var all: [WebhookPlace] { places.values.sorted { $0.key < $1.key } }

    package func deliveries(to key: WebhookKey, areDead: Bool) -> [WebhookDelivery] {
        (rows[key] ?? [:]).values.filter { ($0.deadAt != nil) == areDead }.sorted { $0.number < $1.number }
    }

    /// - Parameter newest: The newest event. An unknown endpoint begins after it.
    package mutating func state(of key: WebhookKey, newest: EventNumber) -> WebhookState {
        guard let place = places[key] else {
            let place = WebhookPlace(key, position: newest)
            places[key] = place
            return WebhookState(place: place)
        }
        let lines = Dictionary(grouping: deliveries(to: key, areDead: false), by: \.activity)
        return WebhookState(
            place: place, waiting: lines.values.flatMap { $0.prefix(WebhookState.waitingOfOne) },
            parked: Set(lines.filter { $0.value.count > WebhookState.waitingOfOne }.keys))
    }

    package mutating func save(_ progress: WebhookProgress) -> Bool {
        let key = progress.place.key
        guard places[key]?.version == progress.place.version else { return false }
        places[key] = progress.place
        for row in progress.rows { rows[key, default: [:]][row.number] = row }
        for number in progress.done { rows[key]?[number] = nil }
        return true
    }

    package mutating func replay(_ what: WebhookReplay, to key: WebhookKey, span: EventSpan) -> Int? {
        guard var place = places[key] else { return nil }
        place.version += 1
        let dead = deliveries(to: key, areDead: true).map(\.number)
        var chosen = dead
        switch what {
        case .dead(let numbers):
            if let numbers { chosen = dead.filter(numbers.contains) }
            for number in chosen {
                let activity = rows[key]?[number]?.activity
                rows[key]?[number] = WebhookDelivery(number: number, activity: activity)
            }
        case .everything(let number):
            place.position = min(place.position, max(number, span.erasedThrough))
            chosen = dead.filter { $0 > place.position }
            for number in chosen { rows[key]?[number] = nil }
        }
        places[key] = place
        return chosen.count
    }

    package mutating func discard(_ dead: [EventNumber]?, of key: WebhookKey) -> Int? {
        guard places[key] != nil else { return nil }
        let chosen = deliveries(to: key, areDead: true).map(\.number).filter { dead?.contains($0) ?? true }
        for number in chosen { rows[key]?[number] = nil }
        return chosen.count
    }

    package mutating func enable(_ key: WebhookKey) -> Bool? {
        guard var place = places[key] else { return nil }
        guard place.disabledAt != nil else { return false }
        place.disabledAt = nil
        place.failures = 0
        place.failingSince = nil
        place.version += 1
        places[key] = place
        return true
    }
}
