/// The body of `POST /v1/webhooks/{webhook}/discard`: the events to remove from the list of events that were given up.
///
/// Exactly one of ``events`` and ``all`` is set.
public struct DiscardRequest: Sendable, Hashable, Codable {
    /// The `id` values of the events, at most 1,000.
    public var events: [String]?
    /// `true` to discard all events that were given up.
    public var all: Bool?

    /// Creates a request that discards these events.
    public init(events: [String]) {
        self.events = events
    }

    /// A request that discards all events that were given up.
    public static var everything: DiscardRequest {
        var request = DiscardRequest(events: [])
        request.events = nil
        request.all = true
        return request
    }
}
