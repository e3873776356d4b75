/// Ceilings of the cost of one push or one call: the gate. Beside each ceiling is the cost today, in a debug build.
///
/// A change that makes something cheaper lowers its ceiling. A change that needs more says why.
enum Ceilings {
    struct Cost: Sendable {
        var statements: Double
        var rows: Double
        var commits: Double
        /// Bytes of the database's log.
        var bytes: Double
        var allocations: Double
    }

    static let table: [String: Cost] = [
        // One activity, 2,000 phones: the cost of a push, including the call that changed the state.
        "fan-out": Cost(
            statements: 0.1,  // 0.056
            rows: 1.05,  // 1.01
            commits: 0.01,  // 0.003
            bytes: 190,  // 146
            allocations: 350  // 248
        ),
        // 1,000 activities of one phone each: the cost of a call.
        "calls": Cost(
            statements: 0.2,  // 0.10
            rows: 3.1,  // 3.0
            commits: 0.0625,  // 0.003
            bytes: 1_000,  // 803
            allocations: 650  // 484
        ),
        // These activities' pushes: the cost of one, after the calls. Thread scheduling decides how many settlements
        // share a commit, so commits and bytes need room.
        "singles": Cost(
            statements: 0.6,  // 0.33
            rows: 5.5,  // 5.02
            commits: 0.125,  // 0.013
            bytes: 3_000,  // 1_545
            allocations: 1_050  // 788
        ),
    ]

    /// Number of calls for which at most one commit is allowed, because calls that wait together share a commit.
    static let writesPerCommit = 16
}
