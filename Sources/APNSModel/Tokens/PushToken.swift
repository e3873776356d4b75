/// A token that identifies a destination to APNs. `Kind` makes each kind of token its own type.
///
/// An update token in an alert push does not compile, for example. Apple documents no length ("don't assume"). Tokens
/// of 64, 108 and 160 hexadecimal characters have been seen, and any even number from 32 to 512 is accepted.
///
/// The token's descriptions, its mirror included, show only the first 8 characters. Only `hex` gives the value.
public struct PushToken<Kind: PushTokenKind>: Sendable, Hashable {
    /// The token as lowercase hexadecimal text. Never log it.
    public let hex: String

    /// Creates a token from hexadecimal text.
    ///
    /// - Throws: `PushTokenError` if the text is not hexadecimal, has an odd length, or does not have 32 to 512
    ///   characters.
    public init(hex text: some StringProtocol) throws(PushTokenError) {
        let length = text.utf8.count
        guard PushTokenError.lengths.contains(length) else {
            throw PushTokenError(code: .length(length), kind: Kind.name)
        }
        guard length.isMultiple(of: 2) else { throw PushTokenError(code: .oddLength(length), kind: Kind.name) }
        // Contiguous bytes, because iteration over any kind of text costs several times as much.
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

    /// Creates a token from the bytes that ActivityKit and UIKit provide as `Data`.
    ///
    /// - Throws: `PushTokenError` if there are fewer than 16 or more than 256 bytes.
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

    /// The first 8 characters and an ellipsis: enough to recognize a token, but not to use it.
    public var masked: String { "\(hex.prefix(8))…" }
}

extension PushToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The masked token, so that string interpolation into a log line does not leak it.
    public var description: String { masked }
    /// The masked token.
    public var debugDescription: String { masked }
    /// A mirror with the masked token, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["masked": masked]) }
}

/// The purpose of a token.
public protocol PushTokenKind: Sendable {
    /// The name of the kind in error messages, such as "update token".
    static var name: String { get }
}

/// The kind of `DeviceToken`.
public enum DeviceTokenKind: PushTokenKind {
    /// The name of a `DeviceToken` in error messages.
    public static let name = "device token"
}

/// The kind of `PushToStartToken`.
public enum PushToStartTokenKind: PushTokenKind {
    /// The name of a `PushToStartToken` in error messages.
    public static let name = "push-to-start token"
}

/// The kind of `UpdateToken`.
public enum UpdateTokenKind: PushTokenKind {
    /// The name of an `UpdateToken` in error messages.
    public static let name = "update token"
}

/// A token for ordinary notifications to an app on a device: alert and background pushes only.
public typealias DeviceToken = PushToken<DeviceTokenKind>
/// A token that starts a Live Activity on a device whose app is not running (iOS 17.2 and later).
public typealias PushToStartToken = PushToken<PushToStartTokenKind>
/// A token that updates and ends one running Live Activity on one device. It may change while the activity runs.
public typealias UpdateToken = PushToken<UpdateTokenKind>

/// The reason why a text is not a token. It contains nothing of the text.
public struct PushTokenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Hashable {
        /// The text has fewer than 32 or more than 512 characters. The number is its length in UTF-8 bytes.
        case length(Int)
        /// The text has an odd number of characters, which is given.
        case oddLength(Int)
        /// The text has a character other than `0-9`, `a-f` and `A-F`. The offset of the first one is in UTF-8 bytes
        /// from 0.
        case notHexadecimal(offset: Int)
    }

    static let lengths = 32...512

    /// The kind of error, for programs.
    public let code: Code
    /// The name of the expected kind of token, from `PushTokenKind.name`.
    public let kind: String

    /// A description for people: the rule and the violation, without the text.
    public var description: String {
        let subject = kind.hasPrefix("u") ? "an \(kind)" : "a \(kind)"
        return switch code {
        case .length(let length): "\(subject) has 32 to 512 hexadecimal characters; this one has \(length)"
        case .oddLength(let length): "\(subject) has an even number of hexadecimal characters; this one has \(length)"
        case .notHexadecimal(let offset): "\(subject) is hexadecimal text; character \(offset + 1) is not"
        }
    }
}
