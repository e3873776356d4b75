/// What a history consists of. One plan gives one history, whatever the process, the machine's load, or what was played
/// before.
///
/// Each step has dice of its own, made from the seed and its number. So a step can be left out, and the others stay
/// what they are as far as the world lets them: that is how a failing history is made short.
package struct Plan: Sendable, Hashable {
    package static let length = 46

    package var seed: UInt64
    /// The numbers of the steps that are played, in order.
    package var steps: [Int]
    /// The steps in which nothing goes wrong by itself: no fault of network, store or process.
    package var calm: Set<Int> = []

    package init(seed: UInt64) {
        self.seed = seed
        steps = Array(0..<Self.length)
    }

    func dice(ofStep step: Int) -> UInt64 {
        var mixed = seed &+ UInt64(truncatingIfNeeded: step &+ 1) &* 0xD1B5_4A32_D192_ED03
        mixed = (mixed ^ (mixed >> 32)) &* 0xDABA_0B6E_B093_22E3
        return mixed ^ (mixed >> 29)
    }

    /// As `script/simulate` takes it.
    package var command: String {
        var words = ["script/simulate", "--seed", String(seed)]
        if steps != Array(0..<Self.length) { words += ["--steps", Self.text(steps)] }
        if !calm.isEmpty { words += ["--calm", Self.text(calm.sorted())] }
        return words.joined(separator: " ")
    }

    private static func text(_ steps: [Int]) -> String {
        steps.isEmpty ? "none" : steps.map(String.init).joined(separator: ",")
    }
}
