/// A generator of reproducible random numbers: SplitMix64, after Steele, Lea and Flood (2014). Not for secrets.
///
/// Two generators with one seed give equal numbers.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    /// Distance between two states: 2⁶⁴ divided by the golden ratio. Seeds that are this far apart begin separate
    /// streams.
    package static let stride: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= Self.stride
        return Self.mix(state)
    }

    /// Returns a number from 0 up to, but not including, 1.
    package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns the number of a state. Different states have different numbers.
    package static func mix(_ state: UInt64) -> UInt64 {
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
