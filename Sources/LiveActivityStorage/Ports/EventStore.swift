package import APNSModel
package import LiveActivityCore

/// Store of events. Commands write them, and they are read in the order of their numbers.
package protocol EventStore: Sendable {
    /// Returns a new stream with an element after each commit that wrote events. Several commits may cause one element.
    func eventWakeUps() -> AsyncStream<Void>
    /// Returns the range of an app's event numbers; `nil` asks for all apps.
    func eventSpan(of app: BundleID?) async throws(StorageError) -> EventSpan
    /// Returns an app's events that match a filter, in order, starting after `after`.
    ///
    /// One call examines a limited number of events. So a page may be empty and still not be the last one.
    func events(
        of app: BundleID?, _ filter: EventFilter, after: EventNumber, limit: Int
    ) async throws(StorageError) -> EventPage
    /// Returns those of these events that still exist.
    func events(numbered numbers: [EventNumber]) async throws(StorageError) -> [StoredEvent]
}

extension EventStore {
    package func eventSpan() async throws(StorageError) -> EventSpan { try await eventSpan(of: nil) }
}

/// Range of event numbers that were assigned, and the part of it that was erased.
package struct EventSpan: Sendable, Equatable {
    /// Number up to which all events, of the app or of all apps, were erased; 0 if none were.
    package var erasedThrough: EventNumber
    /// Greatest event number; 0 if there are no events yet.
    package var newest: EventNumber
    /// Number up to which some events are missing.
    ///
    /// They were written after a backup that has been restored. For all apps, they also include events that one app had
    /// too many of.
    package var lostThrough: EventNumber

    package init(erasedThrough: EventNumber, newest: EventNumber, lostThrough: EventNumber = 0) {
        self.erasedThrough = erasedThrough
        self.newest = newest
        self.lostThrough = lostThrough
    }

    /// Number after which no event is missing.
    package var wholeFrom: EventNumber { max(erasedThrough, lostThrough) }

    /// Returns whether no event is missing for a reader that has every event up to a number. A number that was not
    /// assigned yet belongs to another database.
    package func holds(everythingAfter number: EventNumber) -> Bool { wholeFrom <= number && number <= newest }
}

/// Page of events.
package struct EventPage: Sendable, Equatable {
    /// Maximum number of event numbers that one call examines.
    package static let maximumExamined = 5000

    package var events: [StoredEvent]
    /// Number up to which every event was examined.
    package var through: EventNumber
    package var span: EventSpan

    package init(events: [StoredEvent], through: EventNumber, span: EventSpan) {
        self.events = events
        self.through = through
        self.span = span
    }
}

/// Store of the endpoints' progress.
package protocol WebhookStore: EventStore {
    /// Returns the state of an endpoint. A new endpoint begins with the events from now on.
    func webhook(_ key: WebhookKey) async throws(StorageError) -> WebhookState
    /// Returns the first deliveries of an activity that an endpoint must still get, in order.
    func waiting(
        for key: WebhookKey, of activity: ActivityNumber?, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery]
    /// Returns every endpoint that ever existed, in order, without its waiting deliveries.
    func webhooks() async throws(StorageError) -> [WebhookPlace]
    /// Writes the progress of an endpoint.
    ///
    /// - Returns: `false` if another party has changed the endpoint. Then nothing was written.
    func save(_ progress: WebhookProgress) async throws(StorageError) -> Bool
    /// Returns an endpoint's deliveries that were given up, starting after `after`.
    func deadDeliveries(
        to key: WebhookKey, after: EventNumber, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery]
    /// Returns the number of waiting deliveries, and of those that were given up.
    func deliveryCounts(of key: WebhookKey) async throws(StorageError) -> (waiting: Int, dead: Int)
    /// Sends events to an endpoint again.
    ///
    /// - Returns: The number of given-up deliveries that wait again; `nil` if the endpoint is unknown.
    func replay(_ what: WebhookReplay, to key: WebhookKey, at now: UnixTime) async throws(StorageError) -> Int?
    /// Removes given-up deliveries: these, or all.
    ///
    /// - Returns: The number of removed deliveries; `nil` if the endpoint is unknown.
    func discard(_ dead: [EventNumber]?, of key: WebhookKey) async throws(StorageError) -> Int?
    /// Turns an endpoint on again.
    ///
    /// - Returns: `false` if it was on; `nil` if the endpoint is unknown.
    func enable(_ key: WebhookKey) async throws(StorageError) -> Bool?
}

/// Events to send to an endpoint again.
package enum WebhookReplay: Sendable, Equatable {
    /// All deliveries that were given up, or these of them.
    case dead([EventNumber]?)
    /// Every event after a number that is still stored.
    case everything(after: EventNumber)
}
