/// An app's bundle id: letters, digits, hyphens and dots, at most 155 characters.
public struct BundleID: Sendable, Hashable, CustomStringConvertible {
    /// The id as it was given, upper and lower case kept.
    public let text: String

    /// `nil` when the text cannot be a bundle id (empty, another character, a dot at an end, over 155 characters).
    public init?(_ text: some StringProtocol) {
        // Bytes in one piece: to walk through any kind of text costs many times as much.
        var text = String(text)
        guard text.withUTF8(Self.isAllowed) else { return nil }
        self.text = text
    }

    private static func isAllowed(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        guard (1...155).contains(bytes.count), bytes.first != dot, bytes.last != dot else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), dot:
                true
            default: false
            }
        }
    }

    /// The id itself.
    public var description: String { text }
}

/// The value of `apns-push-type` (Apple, "Sending notification requests to APNs").
public enum PushType: String, Sendable, Hashable, CaseIterable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// What follows the bundle id in `apns-topic` for this type.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .complication: ".complication"
        case .controls: ".push-type.controls"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .voip: ".voip"
        case .widgets: ".push-type.widgets"
        }
    }

    /// The largest body APNs takes for this type, in bytes.
    public var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }
}

/// The value of `apns-topic`: bundle id and the suffix of the push type, which thereby always fit each other.
public struct Topic: Sendable, Hashable, CustomStringConvertible {
    /// The app.
    public let bundleID: BundleID
    /// The type whose suffix the topic has: the value of `apns-push-type` beside it.
    public let pushType: PushType
    /// The header's value: `com.example.app.push-type.liveactivity`.
    public let text: String

    /// The app's topic for pushes of this type.
    public init(_ bundleID: BundleID, _ pushType: PushType) {
        self.bundleID = bundleID
        self.pushType = pushType
        text = bundleID.text + pushType.topicSuffix
    }

    /// The header's value.
    public var description: String { text }
}

/// Which of Apple's two services a token belongs to.
public enum APNSEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    case sandbox, production

    /// The other one.
    public var other: Self { self == .sandbox ? .production : .sandbox }
}
