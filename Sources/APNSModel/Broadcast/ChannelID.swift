/// The id of a broadcast channel: base64 text that APNs chose (`apns-channel-id`).
///
/// Apple gives no length: 1 to 256 characters are taken. It belongs to one app in one environment.
public struct ChannelID: Sendable, Hashable, CustomStringConvertible {
    /// The header's value, and what `PushType.channel` takes in the app.
    public let text: String

    /// `nil` when the text cannot be one: empty, over 256 characters, or not base64 (RFC 4648 section 4).
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

    /// The header's value.
    public var description: String { text }
}

/// What APNs keeps of a channel's messages for phones that are away; fixed when the channel is made.
public enum MessageStoragePolicy: Int, Sendable, Hashable, CaseIterable {
    /// Nothing, which allows more pushes: for frequent updates. Such a channel takes no expiration but 0.
    case none = 0
    /// The most recent message, for at most 8 hours.
    case mostRecent = 1
}

/// A broadcast channel: one push reaches every Live Activity that subscribed to it (iOS 18 and later).
public struct BroadcastChannel: Sendable, Hashable {
    /// Its id, to subscribe phones with and to send to.
    public let id: ChannelID
    /// The app it belongs to.
    public let bundleID: BundleID
    /// The environment it belongs to.
    public let environment: APNSEnvironment
    /// What APNs keeps for phones that are away.
    public let policy: MessageStoragePolicy

    /// A channel as APNs described it, or as it was kept since.
    public init(id: ChannelID, bundleID: BundleID, environment: APNSEnvironment, policy: MessageStoragePolicy) {
        self.id = id
        self.bundleID = bundleID
        self.environment = environment
        self.policy = policy
    }
}
