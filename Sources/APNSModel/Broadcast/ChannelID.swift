/// The id of a broadcast channel: base64 text that APNs chooses (`apns-channel-id`).
///
/// An id belongs to one app in one environment. Apple documents no length, so 4 to 256 characters are accepted.
public struct ChannelID: Sendable, Hashable, CustomStringConvertible {
    /// The id as text: the value of the header, and the argument of `PushType.channel` in the app.
    public let text: String

    /// Creates an id. Returns `nil` if the text is empty, has more than 256 characters, or is not base64 (RFC 4648
    /// section 4).
    public init?(_ text: some StringProtocol) {
        let length = text.utf8.count
        guard (1...256).contains(length), length.isMultiple(of: 4) else { return nil }
        let digits = text.utf8.drop { Self.isDigit($0) }
        guard digits.count <= 2, digits.count < length, digits.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return nil
        }
        self.text = String(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// The id as text.
    public var description: String { text }
}

/// The messages of a channel that APNs stores for offline phones. It cannot change after the channel is created.
public enum MessageStoragePolicy: Int, Sendable, Hashable, CaseIterable {
    /// APNs stores nothing, and allows more pushes. For frequent updates. The only allowed expiration is 0.
    case none = 0
    /// APNs stores the most recent message, for at most 8 hours.
    case mostRecent = 1
}

/// A broadcast channel. One push reaches every Live Activity that subscribed to it (iOS 18 and later).
public struct BroadcastChannel: Sendable, Hashable {
    /// The id, for subscriptions and for broadcasts.
    public let id: ChannelID
    /// The bundle id of the channel's app.
    public let bundleID: BundleID
    /// The environment of the channel.
    public let environment: APNSEnvironment
    /// The messages that APNs stores for offline phones.
    public let policy: MessageStoragePolicy

    /// Creates a value for an existing channel, from an answer of APNs or from your own store.
    public init(id: ChannelID, bundleID: BundleID, environment: APNSEnvironment, policy: MessageStoragePolicy) {
        self.id = id
        self.bundleID = bundleID
        self.environment = environment
        self.policy = policy
    }
}
