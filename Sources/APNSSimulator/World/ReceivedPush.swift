public import APNSModel

/// A record of a received push and its answer, without the full token and the payload.
public struct ReceivedPush: Sendable, Hashable {
    /// Number of the push among all that were received, from 1.
    public let number: Int
    /// Time of receipt, on the simulator's clock.
    public let at: UnixTime
    /// APNs environment to which it was sent.
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
    /// Size of the body.
    public let payloadBytes: Int
    /// `apns-channel-id` of a broadcast, as sent.
    public let channel: String?
    /// The `apns-id` of a push, or the `apns-request-id` of a broadcast, as sent or generated.
    public let id: PushID
    /// The phone that has the token, if any.
    public let phone: PhoneID?
    /// Status of the answer, also if a fault lost the answer. `nil` if a fault kept the push from being checked.
    public let status: Int?
    /// The reason of a refusal.
    public let reason: String?
    /// `true` if a fault rule affected the push.
    public let hadFault: Bool
    /// `true` if the provider token has the claim `iat` as a string. APNs accepts that; other JWT readers do not.
    public let hasTextualIssueDate: Bool
}

/// The latest elements of a growing sequence.
struct Ring<Element: Sendable>: Sendable {
    private(set) var elements: [Element] = []
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    mutating func append(_ element: Element) {
        elements.append(element)
        // Removing from the front moves all elements, so many are removed at once.
        if elements.count >= capacity * 2 { elements.removeFirst(elements.count - capacity) }
    }

    var latest: ArraySlice<Element> { elements.suffix(capacity) }
}
