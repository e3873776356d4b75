import Crypto

/// The secret half of a key or credential: 32 random bytes as 43 characters of base64url (RFC 4648 section 5).
///
/// The store keeps only its SHA-256 hash. A slow hash would add nothing, because the secret has 256 random bits.
struct CallerSecret: Sendable, Equatable {
    static let length = 43

    let text: String

    init?(_ text: Substring) {
        guard text.utf8.count == Self.length, text.utf8.allSatisfy(Base64URL.alphabet.contains) else { return nil }
        self.text = String(text)
    }

    init(using dice: inout some RandomNumberGenerator) {
        text = Base64URL.encode((0..<32).map { _ in UInt8.random(in: 0...255, using: &dice) })
    }

    var hash: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    /// Returns the hash that belongs to this secret, or `nil`.
    ///
    /// Takes the same time for a wrong secret, and the same time for no hash as for one.
    func proven(by hashes: [[UInt8]]) -> [UInt8]? {
        let given = hash
        var proven: [UInt8]?
        for kept in hashes.isEmpty ? [[]] : hashes where isSame(given, kept) { proven = kept }
        return proven
    }

    private func isSame(_ given: [UInt8], _ kept: [UInt8]) -> Bool {
        var difference: UInt8 = kept.count == given.count ? 0 : 1
        for (index, byte) in given.enumerated() {
            difference |= byte ^ (index < kept.count ? kept[index] : 0)
        }
        return difference == 0
    }
}

/// The digits and letters that make up public halves.
enum Base62 {
    static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}
