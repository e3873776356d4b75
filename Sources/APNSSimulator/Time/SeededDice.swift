internal import APNSModel

/// Dice that fall the same way for the same seed (SplitMix64), so that a run can be repeated to the token.
struct SeededDice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// Lower-case hexadecimal text of this many characters.
    mutating func hex(_ length: Int) -> String {
        var text = ""
        text.reserveCapacity(length)
        while text.utf8.count < length {
            let word = String(next(), radix: 16)
            text += String(repeating: "0", count: 16 - word.utf8.count) + word
        }
        return String(text.prefix(length))
    }

    /// A random UUID (RFC 9562 section 5.4).
    mutating func uuid() -> PushID {
        PushID(random: next(), next())
    }

    /// A number from 0 up to but without 1.
    mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}
