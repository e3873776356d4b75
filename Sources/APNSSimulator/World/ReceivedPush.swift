public import APNSModel

/// A line of the record of what came in and what was answered; no token in full, no payload.
public struct ReceivedPush: Sendable, Hashable {
    /// Counts all that ever came in, from 1.
    public let number: Int
    /// On the simulator's clock.
    public let at: UnixTime
    /// The service it was sent to.
    public let environment: APNSEnvironment
    /// The first 8 characters of the token and an ellipsis.
    public let token: String
    /// `apns-push-type`, as sent.
    public let pushType: String?
    /// `apns-topic`, as sent.
    public let topic: String?
    /// `event` of a Live Activity push.
    public let event: String?
    /// `apns-priority`, as sent.
    public let priority: String?
    /// `apns-expiration`, as sent.
    public let expiration: String?
    /// `apns-collapse-id`, as sent.
    public let collapseID: String?
    /// `timestamp` of the payload, in seconds.
    public let timestamp: Int?
    /// The size of the body.
    public let payloadBytes: Int
    /// `apns-channel-id` of a broadcast, as sent.
    public let channel: String?
    /// The `apns-id`, of a broadcast the `apns-request-id`, that was echoed or made.
    public let id: PushID
    /// Whose token it is, if it is anybody's.
    public let phone: PhoneID?
    /// What was answered, or would have been but for a fault that lost the answer; `nil` when a fault kept the push
    /// from being judged.
    public let status: Int?
    /// Why it was refused.
    public let reason: String?
    /// Whether a fault rule met it.
    public let hadFault: Bool
    /// Whether the sender writes the claim `iat` as a string: APNs takes it, other readers of JWTs do not.
    public let hasTextualIssueDate: Bool
}

/// The latest of a growing number of things.
struct Ring<Element: Sendable>: Sendable {
    private(set) var elements: [Element] = []
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    mutating func append(_ element: Element) {
        elements.append(element)
        // Removing from the front moves everything: done for many at once.
        if elements.count >= capacity * 2 { elements.removeFirst(elements.count - capacity) }
    }

    var latest: ArraySlice<Element> { elements.suffix(capacity) }
}
