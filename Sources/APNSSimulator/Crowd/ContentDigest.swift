internal import Crypto
public import JSONText

/// A digest of a content state: the first eight bytes of the SHA-256 of its canonical JSON (compact, members sorted by
/// the UTF-8 of their keys).
///
/// Equal states have equal digests. Among a million states, the probability that two share a digest is 1 in 37 million.
public struct ContentDigest: Sendable, Hashable, CustomStringConvertible {
    let word: UInt64

    init(word: UInt64) {
        self.word = word
    }

    /// Creates the digest of a content state.
    public init(_ contentState: JSONObject) {
        var word: UInt64 = 0
        for byte in SHA256.hash(data: JSONValue.object(contentState).canonicalBytes).prefix(8) {
            word = word << 8 | UInt64(byte)
        }
        // Zero means "nothing shown" in a crowd's arrays.
        self.word = max(1, word)
    }

    /// The digest as 16 hexadecimal digits.
    public var description: String {
        let text = String(word, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}
