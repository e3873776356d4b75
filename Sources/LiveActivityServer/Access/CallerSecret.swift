import Crypto

/// The half of a key or credential that proves it: 32 random bytes as 43 characters of base64url (RFC 4648 section 5).
///
/// The store keeps its SHA-256 only: with 256 random bits there is nothing that a slow hash would add.
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

    /// The one of these hashes that is this secret's. Takes as long for a wrong one, and as long for none as for one.
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

/// Digits and letters, of which the public halves consist.
enum Base62 {
    static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}
