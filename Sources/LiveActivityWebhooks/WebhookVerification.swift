import Crypto
import JSONText
public import LiveActivityAPI

/// Verifies that a webhook comes from a sender with the secret, is recent, and is unchanged.
///
/// ```swift
/// guard let verification = WebhookVerification(secret: secret) else { … }
/// let event = try verification.event(headers: headers, body: body, now: now)
/// ```
///
/// The signature is that of Standard Webhooks: HMAC-SHA256 of id, timestamp and body. Pass the body's bytes exactly as
/// they arrived. JSON that was parsed and written again has another signature.
public struct WebhookVerification: Sendable {
    /// Reason why a call must not be trusted. Answer all of them with the same status, 401.
    public enum Failure: Error, Sendable, Hashable {
        /// A header is missing. The value is its name.
        case missingHeader(String)
        /// The timestamp is not a number of seconds.
        case unreadableTimestamp
        /// The call was sent longer ago than the tolerance, or in the future. It may be a replay.
        case wrongTime
        /// No signature of the kind `v1` matches a secret.
        case wrongSignature
        /// The call is genuine, but it is not an event.
        case notAnEvent
    }

    /// Default for the greatest accepted difference between the sender's and the receiver's clocks.
    public static let tolerance = Duration.seconds(300)
    private static let prefix = "whsec_"
    private static let sizes = 24...64

    private let keys: [SymmetricKey]
    private let tolerance: Duration

    /// Creates a verification with the secrets of the server's configuration. Pass several secrets while one replaces
    /// another.
    ///
    /// A secret is `whsec_` followed by 24 to 64 bytes in base64. Returns `nil` if `secrets` is empty or a secret has
    /// another form.
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

    /// Creates a verification with one secret. Returns `nil` if it is not `whsec_` followed by 24 to 64 bytes in
    /// base64.
    public init?(secret: String, tolerance: Duration = Self.tolerance) {
        self.init(secrets: [secret], tolerance: tolerance)
    }

    /// Verifies a call's headers against its body.
    ///
    /// - Parameters:
    ///   - headers: Headers by name. The case of names does not matter.
    ///   - body: The bytes as they arrived.
    ///   - now: The receiver's time.
    /// - Returns: The value of `webhook-id`. Use it to deduplicate, because an event is sent at least once.
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
        // The timestamp is truncated to whole seconds.
        guard .zero - tolerance <= difference, difference <= tolerance + .seconds(1) else { throw .wrongTime }
        let signed = Array("\(id).\(sentAt).".utf8) + body
        for signature in signatures.split(separator: " ") where signature.hasPrefix("v1,") {
            guard let code = Base64.bytes(of: signature.dropFirst(3)) else { continue }
            // The comparison takes constant time.
            for key in keys where HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key) {
                return id
            }
        }
        throw .wrongSignature
    }

    /// Verifies a call and returns its event.
    ///
    /// - Parameters:
    ///   - headers: Headers by name. The case of names does not matter.
    ///   - body: The bytes as they arrived.
    ///   - now: The receiver's time.
    /// - Returns: The event.
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

/// Decoder of base64 (RFC 4648 section 4). Padding is required, and no other characters are accepted.
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
        // The unused bits of the last character must be zero.
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
