/// The body of `POST /v1/webhooks/{webhook}/discard`: what was given up and is not to be told any more.
public struct DiscardRequest: Sendable, Hashable, Codable {
    /// These of the events that were given up, by their `id`; at most 1,000.
    public var events: [String]?
    /// `true`: all of them.
    public var all: Bool?

    /// Discards these.
    public init(events: [String]) {
        self.events = events
    }

    /// Discards all that were given up.
    public static var everything: DiscardRequest {
        var request = DiscardRequest(events: [])
        request.events = nil
        request.all = true
        return request
    }
}
