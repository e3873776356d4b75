internal import Crypto
public import JSONText

/// A content state in eight bytes: the first of the SHA-256 of its canonical JSON (compact, members sorted by the UTF-8
/// of their keys). Equal states have equal digests; of a million states, two share one in 1 of 37 million cases.
public struct ContentDigest: Sendable, Hashable, CustomStringConvertible {
    let word: UInt64

    init(word: UInt64) {
        self.word = word
    }

    /// The digest of a content state.
    public init(_ contentState: JSONObject) {
        var word: UInt64 = 0
        for byte in SHA256.hash(data: JSONValue.object(contentState).canonicalBytes).prefix(8) {
            word = word << 8 | UInt64(byte)
        }
        // Zero is "nothing shown" in a crowd's arrays.
        self.word = max(1, word)
    }

    /// 16 hexadecimal digits.
    public var description: String {
        let text = String(word, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}
