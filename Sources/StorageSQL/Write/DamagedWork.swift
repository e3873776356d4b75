import APNSModel
import LiveActivityCore

/// Rows that could not be read while a claim was loaded.
///
/// Only the writer's thread uses it, within one transaction.
final class DamageNotes {
    private(set) var rows: [String] = []

    func note(_ row: DamagedRow) { note(row.description) }
    func note(_ text: String) { rows.append(text) }
}

/// Postpones due work that cannot be read, so that one damaged row does not stop all delivery.
///
/// A phone's damaged row is skipped. An activity is postponed as a whole if its own row, its content or its lanes
/// cannot be read. It is examined again later, because a person may repair it. Only its next time is changed.
struct DamagedWork {
    /// Time by which damaged work is postponed.
    static let pause = ClaimNotifications.unreadablePause

    let due: DueLanes
    let sql: Statements

    /// Removes damaged work from the snapshot, and postpones it in the database.
    func putOff(_ snapshot: inout Snapshot, _ notes: DamageNotes) throws {
        let unreadable = try dueActivities().filter { !isWhole($0, snapshot) }
        for number in unreadable {
            notes.note("activity number \(number) is put off for \(Self.pause.components.seconds) s")
            snapshot.activities[number] = nil
            try putOff(number)
        }
    }

    private func isWhole(_ number: ActivityNumber, _ snapshot: Snapshot) -> Bool {
        guard snapshot.activities[number] != nil, snapshot.contents[number] != nil else { return false }
        let lanes = snapshot.lanes[number] ?? []
        guard lanes.first?.fromDevice == 0, lanes.last?.toDevice == .max else { return false }
        return zip(lanes, lanes.dropFirst()).allSatisfy { $0.toDevice == $1.fromDevice }
    }

    /// Returns the due activities by number, because numbers can always be read.
    private func dueActivities() throws -> [ActivityNumber] {
        var found: Set<ActivityNumber> = []
        let at = Statements.Argument.int(due.at.milliseconds)
        let limit = Statements.Argument.int(Int64(due.lanes))
        try sql.query(
            """
            SELECT activity FROM lane INDEXED BY lane_in_flight
            WHERE flight_node IS NOT NULL AND flight_node <> ? ORDER BY activity, from_dk LIMIT ?
            """, [.int(due.node), limit]
        ) { found.insert($0.int()) }
        try sql.query(
            "SELECT activity FROM lane WHERE next_at <= ? ORDER BY next_at, activity, from_dk LIMIT ?", [at, limit]
        ) { found.insert($0.int()) }
        found.formUnion(try sql.readyLanes(due).map(\.activity))
        try sql.query("SELECT no FROM activity WHERE wake_at <= ? ORDER BY wake_at, no LIMIT ?", [at, limit]) {
            found.insert($0.int())
        }
        return found.sorted()
    }

    private func putOff(_ number: ActivityNumber) throws {
        let (now, later) = (due.at.milliseconds, (due.at + Self.pause).milliseconds)
        try sql.run(
            "UPDATE activity SET wake_at = ? WHERE no = ? AND wake_at <= ?", [.int(later), .int(number), .int(now)])
        // The flight of a lost process belongs to this one until it can be read.
        try sql.run(
            """
            UPDATE lane SET next_at = ?, flight_node = CASE WHEN flight_node IS NULL THEN NULL ELSE ? END,
                waits_for = NULL
            WHERE activity = ? AND (next_at <= ? OR flight_node <> ? OR waits_for IS NOT NULL)
            """, [.int(later), .int(due.node), .int(number), .int(now), .int(due.node)])
    }
}
