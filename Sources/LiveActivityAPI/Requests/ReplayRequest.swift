/// The body of `POST /v1/webhooks/{webhook}/replay`; without one, everything that was given up is told again.
public struct ReplayRequest: Sendable, Hashable, Codable {
    /// Only these of the events that were given up, by their `id`; at most 1,000.
    public var events: [String]?
    /// Everything that happened after this event and is kept, whether it was taken or not; `"0"`: all.
    public var since: String?

    /// Asks for these, or for everything after one event.
    public init(events: [String]? = nil, since: String? = nil) {
        self.events = events
        self.since = since
    }
}
