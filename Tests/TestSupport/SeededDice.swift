import IsletBasics

/// Dice with a seed that a failing test prints.
package struct SeededDice: RandomNumberGenerator, Sendable {
    private var numbers: SplitMix64

    package init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    package mutating func next() -> UInt64 { numbers.next() }

    /// Returns a number from 0 up to, not including, `sides`.
    package mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self) }

    /// Returns `true` with this probability, in percent.
    package mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }

    /// Returns a number from 0 up to, not including, 1: the dice of a backoff.
    package mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self) }

    package mutating func pick<C: RandomAccessCollection>(_ choices: C) -> C.Element {
        choices[choices.index(choices.startIndex, offsetBy: roll(choices.count))]
    }
}
