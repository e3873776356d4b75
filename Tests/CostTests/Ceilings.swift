/// What one push, or one call, may cost at most: the gate. Beside each ceiling what it costs today, in a debug build.
///
/// A change that makes something cheaper brings its ceiling down; one that needs more says why.
enum Ceilings {
    struct Cost: Sendable {
        var statements: Double
        var rows: Double
        var commits: Double
        /// Of the database's log.
        var bytes: Double
        var allocations: Double
    }

    static let table: [String: Cost] = [
        // One activity, 2,000 phones: per push, the call that changed the state included.
        "fan-out": Cost(
            statements: 0.1,  // 0.056
            rows: 1.05,  // 1.01
            commits: 0.01,  // 0.003
            bytes: 190,  // 146
            allocations: 350  // 248
        ),
        // 1,000 activities of one phone each: per call.
        "calls": Cost(
            statements: 0.2,  // 0.10
            rows: 3.1,  // 3.0
            commits: 0.0625,  // 0.003
            bytes: 1_000,  // 803
            allocations: 650  // 484
        ),
        // The same: per push, after the calls. How many settlements share a commit depends on how the threads run, so
        // that commits and bytes need room.
        "singles": Cost(
            statements: 0.6,  // 0.33
            rows: 5.5,  // 5.02
            commits: 0.125,  // 0.013
            bytes: 3_000,  // 1_545
            allocations: 1_050  // 788
        ),
    ]

    /// Calls that wait together share a commit: at most one commit for so many of them.
    static let writesPerCommit = 16
}
