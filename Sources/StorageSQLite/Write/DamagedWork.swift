import APNSModel
import LiveActivityCore

/// Rows that could not be read while a claim was loaded.
///
/// Used by the writer's thread alone, within one transaction.
final class DamageNotes {
    private(set) var rows: [String] = []

    func note(_ row: DamagedRow) { note(row.description) }
    func note(_ text: String) { rows.append(text) }
}

/// What a claim does with due work that cannot be read: one damaged row must not stop all delivery.
///
/// A phone's row is passed over. An activity whose own row, content or lanes cannot be read is put off as a whole and
/// looked at again later, for a person may mend it; nothing of it is changed but when to look.
struct DamagedWork {
    /// How long it is put off.
    static let pause = ClaimNotifications.unreadablePause

    let due: DueLanes
    let sql: Statements

    /// Takes what cannot be worked on out of the snapshot, and puts it off in the database.
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

    /// By numbers alone: these can always be read.
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
        try sql.query("SELECT no FROM activity WHERE wake_at <= ? ORDER BY wake_at, no LIMIT ?", [at, limit]) {
            found.insert($0.int())
        }
        return found.sorted()
    }

    private func putOff(_ number: ActivityNumber) throws {
        let (now, later) = (due.at.milliseconds, (due.at + Self.pause).milliseconds)
        try sql.execute(
            "UPDATE activity SET wake_at = ? WHERE no = ? AND wake_at <= ?", [.int(later), .int(number), .int(now)])
        // A flight of a process that is gone counts as this one's until it can be read.
        try sql.execute(
            """
            UPDATE lane SET next_at = ?, flight_node = CASE WHEN flight_node IS NULL THEN NULL ELSE ? END
            WHERE activity = ? AND (next_at <= ? OR flight_node <> ?)
            """, [.int(later), .int(due.node), .int(number), .int(now), .int(due.node)])
    }
}
