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
            statements: 1.3,  // 1.05
            rows: 1.05,  // 1.01
            commits: 0.01,  // 0.003
            bytes: 300,  // 212
            allocations: 2_200  // 1_780
        ),
        // 1,000 activities of one phone each: per call.
        "calls": Cost(
            statements: 10,  // 9.0
            rows: 3.1,  // 3.0
            commits: 0.0625,  // 0.003
            bytes: 1_200,  // 775
            allocations: 1_700  // 1_330
        ),
        // The same: per push, after the calls. How many settlements share a commit depends on how the threads run, so
        // that commits and bytes need room.
        "singles": Cost(
            statements: 26,  // 21
            rows: 6.5,  // 6.0
            commits: 0.125,  // 0.029
            bytes: 6_000,  // 3_080
            allocations: 5_800  // 4_690
        ),
    ]

    /// Calls that wait together share a commit: at most one commit for so many of them.
    static let writesPerCommit = 16
}
