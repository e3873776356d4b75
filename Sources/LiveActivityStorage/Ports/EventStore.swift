package import APNSModel
package import LiveActivityCore

/// What happened, as it is told: written by commands, read in the order of its numbers.
package protocol EventStore: Sendable {
    /// An element after each commit that wrote events; many collapse into one. A stream of its own for each who asks.
    func eventWakeUps() -> AsyncStream<Void>
    /// Which numbers there are for an app; `nil`: for all of them.
    func eventSpan(of app: BundleID?) async throws(StorageError) -> EventSpan
    /// An app's events that a filter lets through, in order, from the one after `after`. How far one call looks is
    /// limited: a page may be empty and still not be the last.
    func events(
        of app: BundleID?, _ filter: EventFilter, after: EventNumber, limit: Int
    ) async throws(StorageError) -> EventPage
    /// Those of these events that are still there.
    func events(numbered numbers: [EventNumber]) async throws(StorageError) -> [StoredEvent]
}

extension EventStore {
    package func eventSpan() async throws(StorageError) -> EventSpan { try await eventSpan(of: nil) }
}

/// The numbers that were given, and of those the ones that were erased.
package struct EventSpan: Sendable, Equatable {
    /// Everything of the app, or of all, up to it was erased; 0: nothing was.
    package var erasedThrough: EventNumber
    /// The greatest number there is; 0: nothing has happened yet.
    package var newest: EventNumber
    /// Some of the numbers up to it are of events that came after a backup which was put back, or, for all apps, that
    /// an app had too many of: they are not there.
    package var lostThrough: EventNumber

    package init(erasedThrough: EventNumber, newest: EventNumber, lostThrough: EventNumber = 0) {
        self.erasedThrough = erasedThrough
        self.newest = newest
        self.lostThrough = lostThrough
    }

    /// From here on nothing is missing.
    package var wholeFrom: EventNumber { max(erasedThrough, lostThrough) }

    /// Whether nothing is missing for one who has everything up to a number. One that is not given yet is another
    /// database's.
    package func holds(everythingAfter number: EventNumber) -> Bool { wholeFrom <= number && number <= newest }
}

/// A stretch of the events.
package struct EventPage: Sendable, Equatable {
    /// Numbers that one call looks at, at most.
    package static let maximumExamined = 5000

    package var events: [StoredEvent]
    /// Everything up to it was looked at.
    package var through: EventNumber
    package var span: EventSpan

    package init(events: [StoredEvent], through: EventNumber, span: EventSpan) {
        self.events = events
        self.through = through
        self.span = span
    }
}

/// How far endpoints were told.
package protocol WebhookStore: EventStore {
    /// What stands of an endpoint; one that nobody knows begins with what happens from now on.
    func webhook(_ key: WebhookKey) async throws(StorageError) -> WebhookState
    /// The first of an activity that an endpoint is still to be told, in order.
    func waiting(
        for key: WebhookKey, of activity: ActivityNumber?, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery]
    /// Every endpoint there ever was, in order, without what waits.
    func webhooks() async throws(StorageError) -> [WebhookPlace]
    /// Writes down how far it was told. - Returns: `false` when somebody else has changed it: nothing was written then.
    func save(_ progress: WebhookProgress) async throws(StorageError) -> Bool
    /// The events that an endpoint was not told and will not be, from the one after `after`.
    func deadDeliveries(
        to key: WebhookKey, after: EventNumber, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery]
    /// How many wait, and how many are dead.
    func deliveryCounts(of key: WebhookKey) async throws(StorageError) -> (waiting: Int, dead: Int)
    /// Has an endpoint told again. - Returns: How many dead ones wait again; `nil`: nobody knows the endpoint.
    func replay(_ what: WebhookReplay, to key: WebhookKey, at now: UnixTime) async throws(StorageError) -> Int?
    /// Takes dead ones off the list: these, or all. - Returns: How many; `nil`: nobody knows the endpoint.
    func discard(_ dead: [EventNumber]?, of key: WebhookKey) async throws(StorageError) -> Int?
    /// Turns an endpoint on again. - Returns: `false` when it was on; `nil`: nobody knows it.
    func enable(_ key: WebhookKey) async throws(StorageError) -> Bool?
}

/// What an endpoint is told again.
package enum WebhookReplay: Sendable, Equatable {
    /// All that were given up, or these of them.
    case dead([EventNumber]?)
    /// Everything that happened after a number and is kept.
    case everything(after: EventNumber)
}
