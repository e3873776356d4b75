package import APNSModel

/// One endpoint that an app's events are told to: its app, and the name that its configuration gives it.
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

/// How far an endpoint was told, and how it does.
package struct WebhookPlace: Sendable, Equatable {
    package var key: WebhookKey
    /// Every event up to it was taken, or has a row of its own, or is not wanted.
    package var position: EventNumber
    /// In a row.
    package var failures = 0
    package var failingSince: UnixTime?
    /// `nil`: it is told.
    package var disabledAt: UnixTime?
    /// The last failure, in words.
    package var failure: String?
    /// Grows when somebody else than the server changes it, who then reads all of it anew.
    package var version: Int64 = 0

    package init(_ key: WebhookKey, position: EventNumber) {
        self.key = key
        self.position = position
    }
}

/// An event that an endpoint did not take yet, or will not be told any more.
package struct WebhookDelivery: Sendable, Equatable {
    package var number: EventNumber
    package var activity: ActivityNumber?
    package var tries: Int
    package var firstTriedAt: UnixTime?
    package var dueAt: UnixTime?
    /// It was given up.
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

/// What stands of an endpoint.
package struct WebhookState: Sendable, Equatable {
    /// The events of each activity that are read with it.
    package static let waitingOfOne = 100

    package var place: WebhookPlace
    /// Those that are still to be told, which are not dead: of each activity the first.
    package var waiting: [WebhookDelivery]
    /// Activities of which more are waiting.
    package var parked: Set<ActivityNumber?>

    package init(place: WebhookPlace, waiting: [WebhookDelivery] = [], parked: Set<ActivityNumber?> = []) {
        self.place = place
        self.waiting = waiting
        self.parked = parked
    }
}

/// What is to be written of an endpoint, in one commit.
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

/// An event on its way to an endpoint.
package struct WebhookMessage: Sendable, Equatable {
    package var event: StoredEvent
    package var at: UnixTime

    package init(event: StoredEvent, at time: UnixTime) {
        self.event = event
        at = time
    }
}
