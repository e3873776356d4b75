package import APNSModel
import Crypto
package import LiveActivityStorage

/// An API key in the clear: `islet_`, 12 characters by which it is found, `_`, 43 characters that prove it.
///
/// It is shown once, when it is made. The store keeps the SHA-256 of the secret half only: with 256 random bits there
/// is nothing that a slow hash would add. Printing a key shows its public half.
package struct APIKey: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package static let prefix = "islet_"
    static let idLength = 12
    /// 32 bytes in base64url (RFC 4648 section 5) without padding.
    static let secretLength = 43

    /// The public half.
    package let id: String
    private let secret: String

    /// The key as its holder sends it. Never log it.
    package var text: String { "\(Self.prefix)\(id)_\(secret)" }

    /// A key from a text; `nil` when it does not have the form.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let start = Self.prefix.utf8.count
        guard bytes.count == start + Self.idLength + 1 + Self.secretLength, text.hasPrefix(Self.prefix) else {
            return nil
        }
        let id = bytes[start..<(start + Self.idLength)]
        let secret = bytes[(start + Self.idLength + 1)...]
        guard bytes[start + Self.idLength] == UInt8(ascii: "_"), id.allSatisfy(Self.base62.contains),
            secret.allSatisfy(Self.base64.contains)
        else { return nil }
        self.id = String(decoding: id, as: UTF8.self)
        self.secret = String(decoding: secret, as: UTF8.self)
    }

    /// A new key from these dice; give `SystemRandomNumberGenerator` outside tests.
    package init(using dice: inout some RandomNumberGenerator) {
        id = String(
            decoding: (0..<Self.idLength).map { _ in Self.base62[Int.random(in: 0..<62, using: &dice)] }, as: UTF8.self)
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &dice) }
        secret = Self.base64URL(bytes)
    }

    /// A new key and the record to keep of it; `key.text` is to be shown once and not kept.
    package static func make(
        app: BundleID, scope: APIKeyRecord.Scope, at now: UnixTime, using dice: inout some RandomNumberGenerator
    ) -> (key: APIKey, record: APIKeyRecord) {
        let key = APIKey(using: &dice)
        return (key, APIKeyRecord(id: key.id, app: app, scope: scope, secretHash: key.secretHash, createdAt: now))
    }

    /// The SHA-256 of the secret half.
    package var secretHash: [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// Whether the secret is the one that the record was made of; takes as long for a wrong one, and for no record.
    package func isProven(by record: APIKeyRecord?) -> Bool {
        let given = secretHash
        let kept = record?.secretHash ?? []
        var difference: UInt8 = kept.count == given.count ? 0 : 1
        for (index, byte) in given.enumerated() {
            difference |= byte ^ (index < kept.count ? kept[index] : 0)
        }
        return difference == 0
    }

    package var description: String { "\(Self.prefix)\(id)_…" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }

    private static let base62 = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func base64URL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var (buffer, bits) = (UInt32(0), 0)
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(base64[Int(buffer >> UInt32(bits)) & 63])
            }
        }
        if bits > 0 { text.append(base64[Int(buffer << UInt32(6 - bits)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }
}

extension APIKeyRecord.Scope {
    /// Whether a key of this scope may make a call that needs `needed`: `backend` covers `device` and `read`.
    package func covers(_ needed: Self) -> Bool {
        switch self {
        case .backend: needed == .backend || needed == .device || needed == .read
        case .device: needed == .device
        case .read: needed == .read
        case .admin: needed == .admin
        }
    }
}
