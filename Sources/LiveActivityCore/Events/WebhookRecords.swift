package import APNSModel

/// Endpoint that gets an app's events: the app, and the endpoint's name in the configuration.
package struct WebhookKey: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let app: BundleID
    package let name: String

    package init(_ app: BundleID, _ name: String) {
        self.app = app
        self.name = name
    }

    package var description: String { "\(app)/\(name)" }

    package static func < (left: Self, right: Self) -> Bool {
        (left.app.text, left.name) < (right.app.text, right.name)
    }
}

/// Progress and health of an endpoint.
package struct WebhookPlace: Sendable, Equatable {
    package var key: WebhookKey
    /// Number up to which every event was accepted, has a row of its own, or is not wanted.
    package var position: EventNumber
    /// Number of consecutive failures.
    package var failures = 0
    package var failingSince: UnixTime?
    /// Time at which the endpoint was turned off; `nil` if it is on.
    package var disabledAt: UnixTime?
    /// Description of the last failure.
    package var failure: String?
    /// Number that grows when something other than the server changes the endpoint. The server then reads its state
    /// again.
    package var version: Int64 = 0

    package init(_ key: WebhookKey, position: EventNumber) {
        self.key = key
        self.position = position
    }
}

/// Event that an endpoint has not accepted yet, or that was given up.
package struct WebhookDelivery: Sendable, Equatable {
    package var number: EventNumber
    package var activity: ActivityNumber?
    package var tries: Int
    package var firstTriedAt: UnixTime?
    package var dueAt: UnixTime?
    /// Time at which the event was given up; `nil` if it was not.
    package var deadAt: UnixTime?
    package var failure: String?

    package init(
        number: EventNumber, activity: ActivityNumber?, tries: Int = 0, firstTriedAt: UnixTime? = nil,
        dueAt: UnixTime? = nil, deadAt: UnixTime? = nil, failure: String? = nil
    ) {
        self.number = number
        self.activity = activity
        self.tries = tries
        self.firstTriedAt = firstTriedAt
        self.dueAt = dueAt
        self.deadAt = deadAt
        self.failure = failure
    }
}

/// Stored state of an endpoint.
package struct WebhookState: Sendable, Equatable {
    /// Maximum number of events of each activity that are read with the state.
    package static let waitingOfOne = 100

    package var place: WebhookPlace
    /// Deliveries that are still to be sent and were not given up: the first of each activity.
    package var waiting: [WebhookDelivery]
    /// Activities with more deliveries than `waiting` holds.
    package var parked: Set<ActivityNumber?>

    package init(place: WebhookPlace, waiting: [WebhookDelivery] = [], parked: Set<ActivityNumber?> = []) {
        self.place = place
        self.waiting = waiting
        self.parked = parked
    }
}

/// Changes of an endpoint to write in one commit.
package struct WebhookProgress: Sendable, Equatable {
    package var place: WebhookPlace
    package var rows: [WebhookDelivery]
    package var done: [EventNumber]

    package init(place: WebhookPlace, rows: [WebhookDelivery] = [], done: [EventNumber] = []) {
        self.place = place
        self.rows = rows
        self.done = done
    }
}

/// Event on its way to an endpoint.
package struct WebhookMessage: Sendable, Equatable {
    package var event: StoredEvent
    package var at: UnixTime

    package init(event: StoredEvent, at time: UnixTime) {
        self.event = event
        at = time
    }
}
