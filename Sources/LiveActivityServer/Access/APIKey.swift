package import APNSModel
package import LiveActivityStorage

/// An API key in clear text: `islet_`, an id of 12 characters, `_`, and a secret of 43 characters that proves the key.
///
/// It is shown once, when it is created. Its description shows only the id.
package struct APIKey: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package static let prefix = "islet_"
    static let idLength = 12

    /// The public half.
    package let id: String
    private let secret: CallerSecret

    /// The key as its holder sends it. Never log it.
    package var text: String { "\(Self.prefix)\(id)_\(secret.text)" }

    /// Creates a key from its text. Returns `nil` if the text has another form.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let rest = text.dropFirst(Self.prefix.count)
        let id = rest.prefix(Self.idLength)
        let after = rest.dropFirst(Self.idLength)
        guard id.utf8.count == Self.idLength, id.utf8.allSatisfy(Base62.alphabet.contains), after.hasPrefix("_"),
            let secret = CallerSecret(after.dropFirst())
        else { return nil }
        self.id = String(id)
        self.secret = secret
    }

    /// Creates a new random key. Use `SystemRandomNumberGenerator` outside tests.
    package init(using dice: inout some RandomNumberGenerator) {
        id = String(
            decoding: (0..<Self.idLength).map { _ in Base62.alphabet[Int.random(in: 0..<62, using: &dice)] },
            as: UTF8.self)
        secret = CallerSecret(using: &dice)
    }

    /// Creates a new key and the record to store. Show `key.text` once and do not store it.
    package static func make(
        app: BundleID, scope: APIKeyRecord.Scope, at now: UnixTime, using dice: inout some RandomNumberGenerator
    ) -> (key: APIKey, record: APIKeyRecord) {
        let key = APIKey(using: &dice)
        return (key, APIKeyRecord(id: key.id, app: app, scope: scope, secretHash: key.secretHash, createdAt: now))
    }

    /// The SHA-256 hash of the secret half.
    package var secretHash: [UInt8] { secret.hash }

    /// Returns `true` if the record was made from this secret. Takes the same time for a wrong secret and without a
    /// record.
    package func isProven(by record: APIKeyRecord?) -> Bool {
        secret.proven(by: [record?.secretHash ?? []]) != nil
    }

    package var description: String { "\(Self.prefix)\(id)_…" }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

extension APIKeyRecord.Scope {
    /// Returns `true` if a key of this scope may make a call that needs `needed`. `backend` covers `device` and `read`.
    package func covers(_ needed: Self) -> Bool {
        switch self {
        case .backend: needed == .backend || needed == .device || needed == .read
        case .device: needed == .device
        case .read: needed == .read
        case .admin: needed == .admin
        }
    }
}
