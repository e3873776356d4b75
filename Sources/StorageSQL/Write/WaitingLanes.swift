import LiveActivityCore

// Lanes that wait for a condition.
extension Statements {
    /// Returns each condition that a lane waits for. The cost is that of the conditions, however many lanes wait.
    ///
    /// A damaged one is left out: the time of its lanes comes within 75 minutes.
    func laneConditions() throws -> [LaneCondition] {
        var conditions: [LaneCondition] = []
        var next = try first("SELECT min(waits_for) FROM lane WHERE waits_for IS NOT NULL", [])
        while let text = next {
            if let condition = LaneCondition(stored: text) { conditions.append(condition) }
            next = try first("SELECT min(waits_for) FROM lane WHERE waits_for > ?", [.text(text)])
        }
        return conditions
    }

    /// Returns the lanes whose condition is met, those of each condition in their order.
    ///
    /// - Parameter others: Number of lanes and activities that are due.
    func readyLanes(_ due: DueLanes, besides others: Int = 0) throws -> [LaneKey] {
        var lanes: [LaneKey] = []
        for (condition, room) in due.rooms(for: try laneConditions(), besides: others) {
            try query(
                "SELECT activity, from_dk FROM lane WHERE waits_for = ? ORDER BY activity, from_dk LIMIT ?",
                [.text(condition.stored), .int(Int64(room))]
            ) { row in lanes.append(LaneKey(row.int(), row.int())) }
        }
        return lanes
    }

    private func first(_ text: String, _ arguments: [Argument]) throws -> String? {
        var found: String?
        try query(text, arguments) { found = $0.textOrNil() }
        return found
    }
}
