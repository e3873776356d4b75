internal import APNSModel
internal import IsletBasics

extension SplitMix64 {
    /// Returns lowercase hexadecimal text of this many characters.
    mutating func hex(_ length: Int) -> String {
        var text = ""
        text.reserveCapacity(length)
        while text.utf8.count < length {
            let word = String(next(), radix: 16)
            text += String(repeating: "0", count: 16 - word.utf8.count) + word
        }
        return String(text.prefix(length))
    }

    /// Returns a random UUID (RFC 9562 section 5.4).
    mutating func uuid() -> PushID {
        PushID(random: next(), next())
    }
}
