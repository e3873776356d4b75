/// A token that APNs knows a destination by; `Kind` says which, and the three kinds are three types.
///
/// An update token in an alert push does not compile. Apple gives no length ("don't assume"), tokens of 64, 108 and 160
/// hexadecimal characters have been seen: any even number from 32 to 512 is taken.
/// Printing one, in any way, shows its first 8 characters at most; `hex` is the only way to the value.
public struct PushToken<Kind: PushTokenKind>: Sendable, Hashable {
    /// The token as lower-case hexadecimal text. Never log it.
    public let hex: String

    /// - Throws: `PushTokenError` when the text is not even-length hexadecimal of 32 to 512 characters.
    public init(hex text: some StringProtocol) throws(PushTokenError) {
        let length = text.utf8.count
        guard PushTokenError.lengths.contains(length) else {
            throw PushTokenError(code: .length(length), kind: Kind.name)
        }
        guard length.isMultiple(of: 2) else { throw PushTokenError(code: .oddLength(length), kind: Kind.name) }
        // Bytes in one piece: to walk through any kind of text costs several times as much.
        var text = String(text)
        var hasCapitals = false
        let wrong = text.withUTF8 { bytes in
            bytes.firstIndex { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): return false
                case UInt8(ascii: "A")...UInt8(ascii: "F"):
                    hasCapitals = true
                    return false
                default: return true
                }
            }
        }
        if let wrong { throw PushTokenError(code: .notHexadecimal(offset: wrong), kind: Kind.name) }
        hex = hasCapitals ? text.lowercased() : text
    }

    /// The token from the bytes that ActivityKit and UIKit hand out as `Data`.
    public init(bytes: some Collection<UInt8>) throws(PushTokenError) {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        try self.init(hex: String(decoding: text, as: UTF8.self))
    }

    /// The first 8 characters and an ellipsis: enough to recognise a token, too little to use it.
    public var masked: String { "\(hex.prefix(8))…" }
}

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The masked form, so that interpolating a token into a log line cannot leak it.
    public var description: String { masked }
    /// The masked form, as in `description`.
    public var debugDescription: String { masked }
    /// `dump` and test failure messages print mirrors: they must not print the token either.
    public var customMirror: Mirror { Mirror(self, children: ["masked": masked]) }
}

/// What a token is for.
public protocol PushTokenKind: Sendable {
    /// How messages call it: "update token".
    static var name: String { get }
}

/// The kind of `DeviceToken`.
public enum DeviceTokenKind: PushTokenKind {
    /// As error messages call a `DeviceToken`.
    public static let name = "device token"
}

/// The kind of `PushToStartToken`.
public enum PushToStartTokenKind: PushTokenKind {
    /// As error messages call a `PushToStartToken`.
    public static let name = "push-to-start token"
}

/// The kind of `UpdateToken`.
public enum UpdateTokenKind: PushTokenKind {
    /// As error messages call an `UpdateToken`.
    public static let name = "update token"
}

/// The ordinary notification token of an app on a device: alert and background pushes only.
public typealias DeviceToken = PushToken<DeviceTokenKind>
/// Starts a Live Activity on a device whose app is not running (iOS 17.2 and later).
public typealias PushToStartToken = PushToken<PushToStartTokenKind>
/// Updates and ends one running Live Activity on one device; it may rotate while the activity runs.
public typealias UpdateToken = PushToken<UpdateTokenKind>

/// Why a text is not a token. Holds nothing of the text.
public struct PushTokenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Code: Sendable, Hashable {
        /// Fewer than 32 or more than 512 characters; how many UTF-8 bytes there were.
        case length(Int)
        /// Half a byte is left over; how many characters there were.
        case oddLength(Int)
        /// Something else than `0-9`, `a-f` and `A-F`; the UTF-8 offset of the first such byte, from 0.
        case notHexadecimal(offset: Int)
    }

    static let lengths = 32...512

    /// The rule that the text breaks, for programs to switch over.
    public let code: Code
    /// Which of the three tokens was wanted: its `PushTokenKind.name`.
    public let kind: String

    /// A sentence for an API's user: the rule and how the text breaks it, without the text.
    public var description: String {
        let subject = kind.hasPrefix("u") ? "an \(kind)" : "a \(kind)"
        return switch code {
        case .length(let length): "\(subject) has 32 to 512 hexadecimal characters; this one has \(length)"
        case .oddLength(let length): "\(subject) has an even number of hexadecimal characters; this one has \(length)"
        case .notHexadecimal(let offset): "\(subject) is hexadecimal text; character \(offset + 1) is not"
        }
    }
}
