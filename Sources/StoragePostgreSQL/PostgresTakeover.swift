import APNSModel
import StorageSQL

/// Takes the database over, and recognises changes that it has lost.
///
/// A failover to an asynchronous standby loses the last changes, and a restore those since the backup. Among them may
/// be starts and alerts that phones have got. So such a database is made safe as `BackupSafety` says.
struct PostgresTakeover {
    let session: PostgresSession
    let server: PostgresServer

    /// The row of `writer`.
    struct Row {
        var last: PostgresMemory.Commit
        /// Text of the line of changes that the last process wrote on; `nil` if none has served these tables yet.
        var lineage: String?
        /// `true` if a standby had each transaction of the last epoch before it was answered.
        var isOnStandby = false
        /// Server's time of the last transaction, in milliseconds since 1970.
        var committedAt: Int64 = 0
        /// Server's time.
        var now: Int64 = 0
    }

    /// Number of random bits at the end of an epoch, below the server's time. So epochs grow, and two processes never
    /// begin the same one, although a failover has lost the first one's.
    private static let randomBits = 20
    /// Time for which a sighting says that the rows are not those of an earlier time. A failover takes less, and a
    /// restore more. Without `twoSafe`, the server's names of standbys may be taken back for a while meanwhile.
    private static let freshness = (twoSafe: Duration.seconds(300), other: Duration.seconds(30))
    /// Least step between the numbers of events before and after a loss, and its part for each second of it. Both are
    /// more than a server can tell.
    private static let eventsLost: (least: Int64, perSecond: Int64) = (1 << 20, 10_000)

    /// Begins a new epoch, after which no transaction of an earlier one is committed.
    ///
    /// The process before may still send what it has claimed, for some seconds. That does no harm: its open flights are
    /// rescued like those of a process that was lost.
    ///
    /// - Parameter startsAreKnown: The word of an operator who has restored the rows: `true` if nothing was started
    ///   since the backup. `nil` if there is no such word.
    /// - Returns: The epoch, and the restore that was assumed.
    func run(startsAreKnown: Bool? = nil) throws -> (epoch: Int64, restore: AssumedRestore?) {
        try session.send("BEGIN", PostgresParameters())
        guard let row = try read() else {
            throw PostgresError.refused("the table `writer` has no row: restore a backup")
        }
        let here = session.lineage
        let reason =
            startsAreKnown == nil
            ? Self.loss(row, here: here, server.memory, isTwoSafe: server.needsStandby) : "`islet restore` was run"
        let restore = try reason.map { reason in
            try assumeRestore(row, reason, startsAreKnown: startsAreKnown ?? false)
        }
        let least = max(row.last.epoch, server.memory.commit?.epoch ?? 0, row.now << Self.randomBits)
        let epoch = least + .random(in: 1...1 << Self.randomBits)
        // Clears the mark of a loss, which this takeover has handled.
        let lineage = here?.text ?? (restore == nil ? row.lineage : nil)
        try transaction.run(
            """
            UPDATE writer SET epoch = ?, last_group = 0, committed_at = ?, lineage = ?,
                on_standby = current_setting('synchronous_standby_names') <> ''
            WHERE app = '*'
            """, [.int(epoch), .int(row.now), lineage.map(SQLArgument.text) ?? .null])
        try commit()
        server.memory.begin(epoch)
        return (epoch, restore)
    }

    /// Goes on in an epoch on a new connection, which may lead to another server than the one before.
    ///
    /// - Returns: Number of the last transaction that was committed, and that a standby has if it must. `nil` if the
    ///   epoch has ended, or if it is not known whether a standby has the transaction.
    /// - Throws: `SQLError` if the server lacks changes that were committed. The database is then marked, and counts as
    ///   restored when it is opened again.
    @discardableResult
    func goOn(in epoch: Int64) throws -> Int64? {
        try session.send("BEGIN", PostgresParameters())
        guard let row = try read() else {
            try commit()
            return nil
        }
        let isOther = row.last.epoch != epoch
        // A process that has taken the rows over here has judged them.
        let isJudged = isOther && row.lineage != nil && row.lineage == session.lineage?.text
        let isLost = !isJudged && server.memory.commit.map { row.last < $0 } ?? false
        guard isLost || !isOther else {
            try commit()
            return nil
        }
        let lineage = isLost ? PostgresLineage.broken : session.lineage?.text ?? row.lineage
        if lineage != row.lineage {
            try transaction.run(
                "UPDATE writer SET lineage = ? WHERE app = '*'", [lineage.map(SQLArgument.text) ?? .null])
        }
        _ = session.takeWarnings()
        // The answer counts only after a commit of its own, which waits for a standby as the transaction's had to.
        try commit()
        guard isLost else { return session.takeWarnings().isEmpty ? row.last.group : nil }
        server.onLoss(.changesLost)
        throw SQLError(
            .rolledBack, "the database lacks changes that were committed: a failover or a restore has lost them")
    }

    private var transaction: PostgresTransaction { PostgresTransaction(session, PostgresTransaction.Texts()) }

    /// Waits until no other transaction is open, and reads the row.
    private func read() throws -> Row? {
        var row: Row?
        try transaction.query(
            """
            UPDATE writer SET looks = looks + 1 WHERE app = '*'
            RETURNING epoch, last_group, committed_at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, lineage,
                on_standby
            """, []
        ) { cursor in
            row = Row(
                last: PostgresMemory.Commit(epoch: cursor.number(0), group: cursor.number(1)),
                lineage: cursor.isNull(4) ? nil : cursor.text(4), isOnStandby: cursor.number(5) == 1,
                committedAt: cursor.number(2), now: cursor.number(3))
        }
        return row
    }

    private func commit() throws {
        try session.send("COMMIT", PostgresParameters())
        try session.receive(isEnd: true)
    }

    // MARK: - Losses

    /// Returns why the rows may lack changes, or `nil` if they are known to be complete.
    ///
    /// - Parameter here: The line of changes of the server; `nil` if it does not say.
    static func loss(_ row: Row, here: PostgresLineage?, _ memory: PostgresMemory, isTwoSafe: Bool) -> String? {
        if let known = memory.commit, row.last < known {
            return "the database lacks changes that were committed: a failover or a restore has lost them"
        }
        if row.lineage == PostgresLineage.broken { return "the process before found that changes were lost" }
        guard let here, let before = row.lineage.flatMap(PostgresLineage.init), before != here else { return nil }
        guard before.database == here.database else {
            return "the rows were written to another server or database, and then copied"
        }
        // This process wrote last, as far as it knows, and its last transaction is there.
        if let own = memory.ownCommit, own.epoch == row.last.epoch { return nil }
        // This process has seen the rows shortly before the promotion, so they are no older ones that were restored.
        // And the standby had every later transaction.
        let freshness = isTwoSafe ? Self.freshness.twoSafe : Self.freshness.other
        if row.isOnStandby, memory.hasSeen(before, within: freshness) { return nil }
        return "the server was promoted or recovered, and nobody knows whether the last changes are there"
    }

    private func assumeRestore(_ row: Row, _ reason: String, startsAreKnown: Bool) throws -> AssumedRestore {
        // Rows of the first version have no time. The clocks of two servers may differ.
        let committedAt = row.committedAt == 0 ? row.now : min(row.committedAt, row.now)
        let (madeAt, now) = (UnixTime(milliseconds: committedAt), UnixTime(milliseconds: row.now))
        session.deadline = .now + server.limits.restoring
        try transaction.run("SET LOCAL statement_timeout = 0", [])
        let changes = try BackupSafety.apply(transaction, madeAt: madeAt, now: now, startsAreKnown: startsAreKnown)
        // No number is used twice. A reader of events is told of the gap.
        let step = Self.eventsLost.least + (row.now - committedAt) / 1000 * Self.eventsLost.perSecond
        try transaction.run("UPDATE meta SET value = value + ? WHERE name = 'event_seq'", [.int(step)])
        try transaction.run(
            """
            INSERT INTO meta SELECT 'event_gap', value FROM meta WHERE name = 'event_seq'
            ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value
            """, [])
        try transaction.run(
            """
            INSERT INTO meta VALUES ('\(Self.mark)', ?) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value
            """, [.int(row.now)])
        return AssumedRestore(reason: reason, madeAt: madeAt, changes: changes)
    }

    /// Name of the row of `meta` with the time of the last assumed restore, in milliseconds since 1970.
    static let mark = "restore_assumed"
}
