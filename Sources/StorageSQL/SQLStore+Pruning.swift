package import APNSModel
import LiveActivityCore
package import LiveActivityStorage
import Synchronization

extension SQLStore {
    package func prune(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool {
        let counters = self.counters
        // Separate transactions, so that none takes long.
        try await pullBack(at: now)
        let hasMoreRecords = try await pruneRecords(limits, at: now)
        let (erased, hasMore) = try await write(rank: .prune) { sql in
            var erasure = Erasure(sql: sql, limits: limits, now: now)
            try erasure.run()
            return (erasure.erased, erasure.room <= 0)
        }
        counters.erased(erased)
        return hasMoreRecords || hasMore
    }

    /// Makes work due that was scheduled by a clock that was ahead and has been set back since.
    ///
    /// Such work would otherwise wait for as long as the clock was ahead. Every phone is examined again, and every
    /// retry becomes due. This happens once per clock error, which is identified by the newest change in the history.
    private func pullBack(at now: UnixTime) async throws(StorageError) {
        let newest = try await query { sql in try sql.number("SELECT coalesce(max(at), 0) FROM history") ?? 0 }
        guard newest > (now + Self.clockTolerance).milliseconds, newest > timesAhead.withLock(\.self) else { return }
        let (present, late) = (Statements.Argument.int(now.milliseconds), Self.longestRetry)
        try await write(rank: .prune) { sql in
            let later = Statements.Argument.int((now + late).milliseconds)
            try sql.run(
                "UPDATE refresh SET due_at = ?, tries = 0 WHERE due_at > ? AND node IS NULL AND tries > 0",
                [present, later])
            try sql.run("UPDATE addressee SET due_at = ? WHERE due_at > ?", [present, later])
            try sql.run("UPDATE notification SET next_at = ? WHERE next_at > ?", [present, later])
            try sql.run("UPDATE webhook_delivery SET due_at = ? WHERE due_at > ?", [present, later])
            // The new version makes readers reload the queues that they keep in memory.
            try sql.run("UPDATE webhook SET version = version + 1")
        }
        var after: Int64? = 0
        while let begin = after {
            after = try await write(rank: .prune) { sql in try Self.pullBack(activitiesAfter: begin, at: now, sql) }
        }
        timesAhead.withLock { $0 = newest }
        workSubscribers.wake { $0.announce(.distantPast) }
        refreshSubscribers.wake()
    }

    /// Processes up to 1,000 activities. An ended activity without a later wake-up has nothing that was postponed.
    ///
    /// - Returns: The last activity, or `nil` if there are no more.
    private static func pullBack(
        activitiesAfter begin: Int64, at now: UnixTime, _ sql: Statements
    ) throws -> Int64? {
        let last = try sql.number(
            "SELECT max(no) FROM (SELECT no FROM activity WHERE no > ? ORDER BY no LIMIT 1000) AS page", [.int(begin)])
        guard let last else { return nil }
        let (time, first, end) = (Statements.Argument.int(now.milliseconds), Statements.Argument.int(begin + 1), last)
        try sql.run(
            """
            UPDATE activity SET lap = lap + 1, wake_at = ?1,
                hold_until = CASE WHEN hold_until > ?1 THEN ?1 ELSE hold_until END
            WHERE no BETWEEN ?2 AND ?3 AND EXISTS (
                SELECT 1 FROM lane WHERE lane.activity = activity.no AND (phase <> 'ended' OR next_at > ?1))
            """, [time, first, .int(end)])
        try sql.run(
            """
            UPDATE lane SET next_at = ?1, reason = NULL, tries = 0
            WHERE activity BETWEEN ?2 AND ?3 AND next_at > ?1 AND flight_node IS NULL
            """, [time, first, .int(end)])
        return last
    }

    /// Maximum wait of any retry, except for webhooks, where one more call does no harm.
    private static let longestRetry = Duration.seconds(20 * 60)
    /// Maximum step back of a normal clock correction.
    private static let clockTolerance = Duration.seconds(60)

    package func running(
        since time: UnixTime, after: RunningActivity?, limit: Int
    ) async throws(StorageError) -> [RunningActivity] {
        try await query { sql in
            var found: [RunningActivity] = []
            try sql.query(
                """
                SELECT no, app, id, type, run_started_at, accepted_at FROM activity INDEXED BY activity_running
                WHERE phase <> 'ended' AND run_started_at < ? AND (run_started_at, no) > (?, ?) AND phase = 'active'
                ORDER BY run_started_at, no LIMIT ?
                """,
                [
                    .int(time.milliseconds), .int(after?.runStartedAt.milliseconds ?? -1), .int(after?.number ?? -1),
                    .int(Int64(limit)),
                ]
            ) { row in
                found.append(
                    RunningActivity(
                        number: row.int(), app: try decodeBundleID(row.text(), "activity"),
                        id: ActivityID(stored: row.text()), type: row.text(), runStartedAt: row.time(),
                        acceptedAt: row.time()))
            }
            return found
        }
    }

    private func pruneRecords(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool {
        let walks = walks.withLock(\.self)
        let (hasMore, next) = try await write(rank: .prune) { sql in
            var pruning = Pruning(sql: sql, limits: limits, now: now, walks: walks)
            try pruning.pruneHistory()
            try pruning.pruneEvents()
            let tombstones = try sql.execute(
                """
                DELETE FROM tombstone WHERE (dk, local_id) IN
                    (SELECT dk, local_id FROM tombstone WHERE at < ? ORDER BY at LIMIT ?)
                """, [.int((now - limits.tombstones).milliseconds), .int(Int64(limits.rows))])
            let keys = try sql.execute(
                """
                DELETE FROM idempotency WHERE (app, key_hash) IN
                    (SELECT app, key_hash FROM idempotency WHERE at < ? ORDER BY at LIMIT ?)
                """, [.int((now - limits.idempotencyKeys).milliseconds), .int(Int64(limits.rows))])
            return (pruning.hasMore || max(tombstones, keys) >= limits.rows, pruning.walks)
        }
        self.walks.withLock { $0 = next }
        return hasMore
    }
}
