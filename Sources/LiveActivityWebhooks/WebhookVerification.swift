import Crypto
import JSONText
public import LiveActivityAPI

/// Tells whether a webhook was sent by who has the secret, just now, and as it arrived.
///
/// ```swift
/// guard let verification = WebhookVerification(secret: secret) else { … }
/// let event = try verification.event(headers: headers, body: body, now: now)
/// ```
///
/// The signature is that of Standard Webhooks: HMAC-SHA256 of id, timestamp and body. The body has to be the bytes as
/// they came: JSON that was read and written again is another text.
public struct WebhookVerification: Sendable {
    /// Why a call is not to be believed. To its sender all of them are one answer: 401.
    public enum Failure: Error, Sendable, Hashable {
        /// A header is missing: its name.
        case missingHeader(String)
        /// The timestamp is no number of seconds.
        case unreadableTimestamp
        /// It was sent longer ago than is tolerated, or in the future: it may be a recording.
        case wrongTime
        /// No signature of the kind `v1` is the secret's.
        case wrongSignature
        /// It is genuine, and not an event.
        case notAnEvent
    }

    /// The greatest difference between the sender's clock and the receiver's.
    public static let tolerance = Duration.seconds(300)
    private static let prefix = "whsec_"
    private static let sizes = 24...64

    private let keys: [SymmetricKey]
    private let tolerance: Duration

    /// For a secret as the server's configuration has it, `whsec_` and 24 to 64 bytes in base64, or several while one
    /// replaces another. Nil when there is none, or one has another form.
    public init?(secrets: [String], tolerance: Duration = Self.tolerance) {
        var keys: [SymmetricKey] = []
        for secret in secrets {
            let text = secret.trimmed
            guard text.hasPrefix(Self.prefix), let bytes = Base64.bytes(of: text.dropFirst(Self.prefix.count)),
                Self.sizes.contains(bytes.count)
            else { return nil }
            keys.append(SymmetricKey(data: bytes))
        }
        guard !keys.isEmpty else { return nil }
        self.keys = keys
        self.tolerance = tolerance
    }

    /// The same for one secret.
    public init?(secret: String, tolerance: Duration = Self.tolerance) {
        self.init(secrets: [secret], tolerance: tolerance)
    }

    /// Checks a call's headers against its body.
    ///
    /// - Parameters:
    ///   - headers: By name; the case of names does not matter.
    ///   - body: The bytes as they came.
    ///   - now: The receiver's time.
    /// - Returns: The value of `webhook-id`, by which repeats are known: an event is sent at least once.
    /// - Throws: ``Failure``.
    @discardableResult
    public func verify(headers: [String: String], body: [UInt8], now: Instant) throws(Failure) -> String {
        func header(_ name: String) throws(Failure) -> String {
            guard let value = headers[name] ?? headers.first(where: { $0.key.lowercased() == name })?.value else {
                throw .missingHeader(name)
            }
            return value
        }
        let (id, sentAt, signatures) = (
            try header("webhook-id"), try header("webhook-timestamp"), try header("webhook-signature")
        )
        guard let seconds = Int(sentAt), (0..<253_402_300_800).contains(seconds) else { throw .unreadableTimestamp }
        let difference = Duration.milliseconds(now.milliseconds - seconds * 1000)
        // A timestamp is cut to whole seconds.
        guard .zero - tolerance <= difference, difference <= tolerance + .seconds(1) else { throw .wrongTime }
        let signed = Array("\(id).\(sentAt).".utf8) + body
        for signature in signatures.split(separator: " ") where signature.hasPrefix("v1,") {
            guard let code = Base64.bytes(of: signature.dropFirst(3)) else { continue }
            // Compared in a time that does not depend on where they differ.
            for key in keys where HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key) {
                return id
            }
        }
        throw .wrongSignature
    }

    /// The event of a genuine call.
    ///
    /// - Throws: ``Failure``.
    public func event(headers: [String: String], body: [UInt8], now: Instant) throws(Failure) -> Event {
        try verify(headers: headers, body: body, now: now)
        guard let value = try? JSONValue(parsing: body), let event = try? value.decode(Event.self) else {
            throw .notAnEvent
        }
        return event
    }
}

extension String {
    fileprivate var trimmed: Substring {
        var text = self[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        while text.first?.isWhitespace == true { text.removeFirst() }
        return text
    }
}

/// Base64 (RFC 4648 section 4), with its padding and nothing else.
enum Base64 {
    static func bytes(of text: Substring) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard !characters.isEmpty, characters.count.isMultiple(of: 4) else { return nil }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var bytes: [UInt8] = []
        var (word, bits) = (0, 0)
        for character in characters.dropLast(padding) {
            guard let value = value(of: character) else { return nil }
            word = (word << 6 | value) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(word >> bits & 0xFF))
            }
        }
        // What is left over of the last character says nothing.
        guard word & ((1 << bits) - 1) == 0 else { return nil }
        return bytes
    }

    private static func value(of character: UInt8) -> Int? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
