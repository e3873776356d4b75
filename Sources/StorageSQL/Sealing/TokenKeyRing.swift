import Crypto
import Foundation
import JSONText
package import LiveActivityStorage

/// A secret of 256 random bits. All operations use keys that are derived from it, one for each purpose.
package struct TokenKey: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Use: Int, Sendable, CaseIterable {
        /// Seals tokens (AES-GCM).
        case sealing = 1
        /// Finds tokens by a hash (HMAC-SHA256).
        case lookUp = 2
    }

    static let bytes = 32

    package let id: String
    package let use: Use
    private let secret: SymmetricKey

    /// Returns a new random key. Its id is derived from the secret.
    static func fresh(_ use: Use) -> Self {
        let secret = SymmetricKey(size: .bits256)
        let number = derived(secret, "islet token key id", bytes: 4).hexadecimal
        return Self(id: (use == .sealing ? "s-" : "l-") + number, use: use, secret: secret)
    }

    init(id: String, use: Use, secret: SymmetricKey) {
        self.id = id
        self.use = use
        self.secret = secret
    }

    /// The derived key that seals tokens or looks them up.
    var working: SymmetricKey {
        Self.derived(secret, use == .sealing ? "islet token sealing" : "islet token look-up", bytes: Self.bytes)
    }

    /// A value in the database that identifies the key, so that a different key with the same id is detected.
    var proof: [UInt8] {
        let key = Self.derived(secret, "islet token key proof", bytes: Self.bytes)
        return Array(HMAC<SHA256>.authenticationCode(for: Array("\(use.rawValue) \(id)".utf8), using: key).prefix(16))
    }

    var text: String { secret.withUnsafeBytes { Data($0) }.base64EncodedString() }

    private static func derived(_ secret: SymmetricKey, _ purpose: String, bytes: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Array(purpose.utf8), outputByteCount: bytes)
    }

    package var description: String { id }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// The keys that seal and look up push tokens. For each use, the first key is in use, and the others serve older rows.
///
/// ```json
/// {
///   "sealing": [{"id": "s-1b2c3d4e", "secret": "32 random bytes in base64"}],
///   "lookUp": [{"id": "l-5f6a7b8c", "secret": "…"}]
/// }
/// ```
package struct TokenKeyRing: Sendable, CustomStringConvertible, CustomReflectable {
    /// Maximum number of keys for each use.
    package static let maximumKeys = 32
    package static let maximumBytes = 64 << 10
    static let maximumID = 64

    private(set) var keys: [TokenKey]

    package static func fresh() -> Self { Self(keys: TokenKey.Use.allCases.map(TokenKey.fresh)) }

    /// Returns a ring with new keys in use, followed by the existing keys.
    ///
    /// - Throws: `TokenKeyProblem.full` if the ring has the maximum number of keys. A larger ring could not be read.
    package func renewed() throws(TokenKeyProblem) -> Self {
        let isFull = TokenKey.Use.allCases.contains { use in keys.count { $0.use == use } >= Self.maximumKeys }
        if isFull { throw .full }
        return Self(keys: Self.fresh().keys + keys)
    }

    func without(_ ids: Set<String>) -> Self { Self(keys: keys.filter { !ids.contains($0.id) }) }

    private init(keys: [TokenKey]) {
        self.keys = keys
    }

    subscript(id: String, use: TokenKey.Use) -> TokenKey? { keys.first { $0.id == id && $0.use == use } }

    /// Returns the key in use.
    func first(_ use: TokenKey.Use) -> TokenKey? { keys.first { $0.use == use } }

    package var description: String { keys.map(\.id).joined(separator: ", ") }
    package var customMirror: Mirror { Mirror(self, children: ["keys": description]) }

    // MARK: - Text form

    private static let names: [(name: String, use: TokenKey.Use)] = [("sealing", .sealing), ("lookUp", .lookUp)]

    /// Parses a ring.
    ///
    /// - Parameter place: The place of the ring, for messages.
    /// - Throws: `TokenKeyProblem.malformed`.
    package init(parsing text: String, place: String) throws(TokenKeyProblem) {
        func problem(_ detail: String) -> TokenKeyProblem { .malformed(place: place, detail: detail) }
        guard text.utf8.count <= Self.maximumBytes else { throw problem("more than \(Self.maximumBytes) bytes") }
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: text)
        } catch {
            // The parser's own message could quote a key.
            throw problem("not JSON")
        }
        guard let object = value.object, Set(object.keys).isSubset(of: Self.names.map(\.name)) else {
            throw problem("an object of `sealing` and `lookUp` is expected")
        }
        keys = []
        for (name, use) in Self.names {
            guard let list = object[name]?.array, (1...Self.maximumKeys).contains(list.count) else {
                throw problem("/\(name): a list of 1 to \(Self.maximumKeys) keys is expected")
            }
            for (index, entry) in list.enumerated() {
                let key = try Self.key(entry, use, at: "/\(name)/\(index)", problem)
                guard !keys.contains(where: { $0.id == key.id }) else {
                    throw problem("/\(name)/\(index)/id: `\(key.id)` appears twice")
                }
                keys.append(key)
            }
        }
    }

    private static func key(
        _ value: JSONValue, _ use: TokenKey.Use, at pointer: String, _ problem: (String) -> TokenKeyProblem
    ) throws(TokenKeyProblem) -> TokenKey {
        guard let object = value.object, Set(object.keys) == ["id", "secret"] else {
            throw problem("\(pointer): an object of `id` and `secret` is expected")
        }
        guard let id = object["id"]?.string, (1...maximumID).contains(id.utf8.count),
            id.utf8.allSatisfy({ isPlain($0) })
        else { throw problem("\(pointer)/id: 1 to \(maximumID) letters, digits, `.`, `_` and `-` are expected") }
        guard let secret = object["secret"]?.string.flatMap({ Data(base64Encoded: $0) }), secret.count == TokenKey.bytes
        else { throw problem("\(pointer)/secret: \(TokenKey.bytes) bytes in base64 are expected") }
        return TokenKey(id: id, use: use, secret: SymmetricKey(data: secret))
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The ring as it is stored, with its secrets.
    package var text: String {
        let lists = Self.names.map { name, use in
            let lines = keys.filter { $0.use == use }.map { key in
                "    " + JSONValue.object(["id": .string(key.id), "secret": .string(key.text)]).text
            }
            return "  \"\(name)\": [\n\(lines.joined(separator: ",\n"))\n  ]"
        }
        return "{\n\(lists.joined(separator: ",\n"))\n}\n"
    }
}

extension SymmetricKey {
    fileprivate var hexadecimal: String {
        withUnsafeBytes { bytes in
            bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
        }
    }
}
