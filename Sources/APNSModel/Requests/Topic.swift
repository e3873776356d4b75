/// An app's bundle id: letters, digits, hyphens and dots, at most 155 characters.
public struct BundleID: Sendable, Hashable, CustomStringConvertible {
    /// The id as it was given, with its upper and lower case.
    public let text: String

    /// Creates an id. Returns `nil` if the text is empty, has more than 155 characters, has a character that is not
    /// allowed, or begins or ends with a dot.
    public init?(_ text: some StringProtocol) {
        // Contiguous bytes, because iteration over any kind of text costs many times as much.
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

    /// The id as text.
    public var description: String { text }
}

/// The value of `apns-push-type`. Source: Apple, "Sending notification requests to APNs".
public enum PushType: String, Sendable, Hashable, CaseIterable {
    case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

    /// The suffix after the bundle id in `apns-topic`.
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

    /// Maximum size of the body in bytes.
    public var maximumPayloadBytes: Int { self == .voip ? 5120 : 4096 }
}

/// The value of `apns-topic`: the bundle id with the suffix of the push type, so that both always fit.
public struct Topic: Sendable, Hashable, CustomStringConvertible {
    /// The bundle id of the app.
    public let bundleID: BundleID
    /// The push type of the suffix, which is the value of `apns-push-type`.
    public let pushType: PushType
    /// The value of the header, such as `com.example.app.push-type.liveactivity`.
    public let text: String

    /// Creates an app's topic for a push type.
    public init(_ bundleID: BundleID, _ pushType: PushType) {
        self.bundleID = bundleID
        self.pushType = pushType
        text = bundleID.text + pushType.topicSuffix
    }

    /// The value of the header.
    public var description: String { text }
}

/// The APNs environment that a token belongs to.
public enum APNSEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    case sandbox, production

    /// The other environment.
    public var other: Self { self == .sandbox ? .production : .sandbox }
}
