/// Plan of a history. One plan always gives the same history, regardless of process, machine load or earlier
/// histories.
///
/// Each step has its own dice, made from the seed and the step's number. Removing a step therefore changes the others
/// only through the world. This makes it possible to shorten a failing history.
package struct Plan: Sendable, Hashable {
    package static let length = 46

    package var seed: UInt64
    /// Numbers of the steps that are played, in order.
    package var steps: [Int]
    /// Steps without random faults of network, store or process.
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

    /// Arguments that make `script/simulate` play this plan.
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
