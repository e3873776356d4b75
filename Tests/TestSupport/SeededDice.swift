/// Dice with a seed that a failing test prints (SplitMix64).
package struct SeededDice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, `sides`.
    package mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self) }

    /// True `percent` times in a hundred.
    package mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }

    /// 0 up to, not including, 1: the dice of a backoff.
    package mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self) }

    package mutating func pick<C: RandomAccessCollection>(_ choices: C) -> C.Element {
        choices[choices.index(choices.startIndex, offsetBy: roll(choices.count))]
    }
}
