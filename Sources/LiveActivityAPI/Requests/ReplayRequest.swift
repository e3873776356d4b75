/// The body of `POST /v1/webhooks/{webhook}/replay`: the events to send again.
///
/// Without a body, the server sends again every event that was given up. Either ``events`` or ``since`` may be set.
public struct ReplayRequest: Sendable, Hashable, Codable {
    /// The `id` values of the events that were given up and are sent again, at most 1,000. `nil`: all of them.
    public var events: [String]?
    /// The id of an event. Every later event that is still kept is sent again, delivered or not. `"0"`: every event.
    public var since: String?

    /// Creates a request for these events, or for all events after one.
    public init(events: [String]? = nil, since: String? = nil) {
        self.events = events
        self.since = since
    }
}
