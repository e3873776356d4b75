import APNSModel
import Dispatch
import Foundation
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// The single writer thread. Commands that wait when it is free become one transaction (group commit). Many writers
/// therefore share one disk sync and one statement per table.
final class WriterQueue: Sendable {
    /// A write with its completion.
    struct Job: Sendable {
        enum Work: Sendable {
            /// A command that is loaded, run and written together with others.
            case command(keys: [SnapshotKey], run: @Sendable (inout Draft) -> Done)
            /// Statements that run in a transaction of their own.
            case statements(@Sendable (Statements) throws -> Done)
        }

        let rank: CommandRank
        let weight: Int
        let isAlone: Bool
        let work: Work
        let fail: @Sendable (StorageError) -> Void
        /// Number of groups that were taken before the job arrived.
        fileprivate(set) var arrival = 0

        init(
            rank: CommandRank, weight: Int = 1, isAlone: Bool = false, work: Work,
            fail: @escaping @Sendable (StorageError) -> Void
        ) {
            self.rank = rank
            self.weight = weight
            if case .statements = work { self.isAlone = true } else { self.isAlone = isAlone }
            self.work = work
            self.fail = fail
        }
    }

    struct Done: Sendable {
        /// Earliest time at which the transaction has made work due.
        var workDueAt: UnixTime?
        /// `true` if a refresh is due.
        var asks = false
        /// `true` if an operation on a channel is due.
        var broadcasts = false
        /// `true` if events were written.
        var tells = false
        let reply: @Sendable () -> Void
    }

    static let maximumWaiting = 10_000
    /// Time that a transaction may take before changes that come meanwhile are refused. A healthy one takes
    /// milliseconds.
    static let patience = Duration.seconds(5)
    static let maximumGroup = 1000
    /// Maximum sum of weights in one transaction: some milliseconds of writing.
    static let maximumWeight = 2000
    /// Number of groups after which a waiting command moves up one rank. This prevents starvation.
    static let ageing = 2

    private struct State {
        var jobs: [Job] = []
        var groups = 0
        var isClosed = false
        var claims: ClaimAtOnce.Source?
    }

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let database: any SQLDatabase
    private let sealer: TokenSealer?
    private let counters: StoreCounters
    private let faultPoints: FaultPoints
    private let onWorkDue: @Sendable (UnixTime) -> Void
    private let onRefreshDue: @Sendable () -> Void
    private let onChannelDue: @Sendable () -> Void
    private let onEvents: @Sendable () -> Void

    init(
        _ database: any SQLDatabase, _ counters: StoreCounters, _ sealer: TokenSealer?,
        faultPoints: FaultPoints = FaultPoints(),
        onWorkDue: @escaping @Sendable (UnixTime) -> Void, onRefreshDue: @escaping @Sendable () -> Void,
        onChannelDue: @escaping @Sendable () -> Void = {},
        onEvents: @escaping @Sendable () -> Void
    ) {
        self.onEvents = onEvents
        self.onRefreshDue = onRefreshDue
        self.onChannelDue = onChannelDue
        self.faultPoints = faultPoints
        self.database = database
        self.sealer = sealer
        self.counters = counters
        self.onWorkDue = onWorkDue
        let thread = Thread { [self] in
            run()
            ended.signal()
        }
        thread.name = "islet-\(database.name)-writer"
        thread.start()
    }

    func submit(_ job: Job) {
        // Its caller would wait longer than most do, and can repeat it elsewhere.
        if job.rank == .write, let duration = counters.writing, duration > Self.patience {
            return job.fail(.failed("a transaction has taken \(duration.components.seconds) s already"))
        }
        let refusal: StorageError? = state.withLock { state in
            if state.isClosed { return .closed }
            // Settlements and claims are few. Refusing one would lose known results.
            if state.jobs.count >= Self.maximumWaiting, job.rank == .write { return .overloaded }
            var job = job
            job.arrival = state.groups
            state.jobs.append(job)
            return nil
        }
        if let refusal { return job.fail(refusal) }
        signal.signal()
    }

    /// Sets the source of the claims that groups make of their own work; `nil` for none.
    func claimAtOnce(from source: ClaimAtOnce.Source?) { state.withLock { $0.claims = source } }

    var waiting: Int { state.withLock(\.jobs.count) }

    /// Writes the waiting jobs and ends the thread. Blocks until then.
    func close() {
        let wasOpen = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard wasOpen else { return }
        signal.signal()
        ended.wait()
    }

    private func run() {
        while true {
            signal.wait()
            let (group, isClosed) = takeGroup()
            if group.isEmpty {
                if isClosed { return }
                continue
            }
            write(group)
        }
    }

    /// Takes at most one group of waiting jobs. More urgent ranks go first, except that jobs which have waited long
    /// move up. If a claim waits, it is the last of the group.
    private func takeGroup() -> ([Job], Bool) {
        state.withLock { state in
            let groups = state.groups
            func urgency(_ job: Job) -> Int { job.rank.rawValue * Self.ageing - (groups - job.arrival) }
            let order = state.jobs.indices.map { (urgency: urgency(state.jobs[$0]), index: $0) }.sorted { $0 < $1 }
            var taken: [Int] = []
            var claim: Int?
            var weight = 0
            for (_, index) in order {
                let job = state.jobs[index]
                if taken.isEmpty {
                    taken = [index]
                    weight = job.weight
                    if job.isAlone { break }
                    continue
                }
                guard !job.isAlone else {
                    if job.rank == .claim { claim = claim ?? index }
                    continue
                }
                guard taken.count < Self.maximumGroup, weight + job.weight <= Self.maximumWeight else { break }
                taken.append(index)
                weight += job.weight
            }
            if let claim { taken.append(claim) }
            guard !taken.isEmpty else { return ([], state.isClosed) }
            state.groups += 1
            let group = taken.map { state.jobs[$0] }
            if taken.count == state.jobs.count {
                state.jobs.removeAll(keepingCapacity: true)
            } else {
                let isTaken = Set(taken)
                state.jobs = state.jobs.indices.filter { !isTaken.contains($0) }.map { state.jobs[$0] }
                signal.signal()
            }
            return (group, state.isClosed)
        }
    }

    // MARK: - Writing

    private func write(_ group: [Job]) {
        var rest = group[...]
        do throws(Failure) {
            while !rest.isEmpty { rest = rest.dropFirst(try commit(Array(rest))) }
        } catch  where rest.count > 1 && (error.isOneJobs || rest.last?.isAlone == true && !error.isUnknown) {
            // A fault of one job must not fail the others. Halving finds that job with a few transactions, whereas
            // single commits would cost every other job its own disk sync. A claim reads rows that no call asked for,
            // so whatever goes wrong with it must not fail the calls: it is split off first.
            let half = rest.last?.isAlone == true ? rest.count - 1 : rest.count / 2
            write(Array(rest.prefix(half)))
            write(Array(rest.dropFirst(half)))
        } catch  where error.isDamage && (rest.first?.rank == .claim || rest.first?.rank == .prune) {
            pass(Array(rest))
        } catch {
            if !error.isOneJobs { counters.failedToWrite() }
            for job in rest { job.fail(error.storageError) }
            // Wake the readers, because the commit may have succeeded, and a repeated command would then change
            // nothing.
            if error.isUnknown {
                onWorkDue(.distantPast)
                onRefreshDue()
                onChannelDue()
                onEvents()
            }
        }
    }

    /// Commits claims and pruning without the rows that cannot be read. Otherwise one such row would stop all delivery,
    /// or keep all rows that should be erased.
    private func pass(_ group: [Job]) {
        do throws(Failure) {
            _ = try commit(group, DamageNotes())
        } catch {
            for job in group { job.fail(error.storageError) }
        }
    }

    private enum Failure: Error {
        case damaged(DamagedRow)
        /// A constraint was violated, such as uniqueness.
        case conflict(String)
        case failed(String)
        case commitUnknown(String)

        var isOneJobs: Bool {
            switch self {
            case .damaged, .conflict: true
            case .failed, .commitUnknown: false
            }
        }

        var isDamage: Bool { if case .damaged = self { true } else { false } }
        var isUnknown: Bool { if case .commitUnknown = self { true } else { false } }

        var storageError: StorageError {
            switch self {
            case .damaged(let row): .failed(row.description)
            case .conflict(let detail), .failed(let detail): .failed(detail)
            case .commitUnknown(let detail): .commitUnknown(detail)
            }
        }
    }

    /// Commits a group in one transaction.
    ///
    /// - Returns: Number of jobs in the transaction, from the first on.
    private func commit(_ group: [Job], _ damage: DamageNotes? = nil) throws(Failure) -> Int {
        // Rows that cannot be read are passed over by ordinary claims alone.
        let own = OwnClaim(source: damage == nil ? state.withLock(\.claims) : nil)
        do throws(Failure) {
            return try commit(group, damage, own)
        } catch  where own.isBegun && !error.isUnknown {
            // No call has asked for the claim, so whatever goes wrong with it must not fail the calls.
            return try commit(group, damage, OwnClaim(source: nil))
        }
    }

    private func commit(_ group: [Job], _ damage: DamageNotes?, _ own: OwnClaim) throws(Failure) -> Int {
        defer { own.end() }
        var done: [Done] = []
        var tally = Tally()
        var isCommitting = false
        // Empty if nothing is written: a claim that finds no work is not a fault point.
        var ranks: Set<CommandRank> = []
        do {
            // The commands are answered later, so whoever has an answer finds the measurement ended.
            try counters.whileWriting {
                let beganAt = ContinuousClock.now
                var damaged = 0
                let written = try database.write { transaction in
                    let sealing = TokenSealing(transaction, sealer)
                    let sql = Statements(transaction: transaction, sealing: sealing, damage: damage)
                    for part in Self.parts(of: group) {
                        let before = transaction.written.rows
                        let (ran, counted) = try Self.run(part, own, sql)
                        done += ran
                        tally.add(counted)
                        if transaction.written.rows != before { ranks.formUnion(part.prefix(ran.count).map(\.rank)) }
                        if own.reply != nil { ranks.insert(.claim) }
                        guard ran.count == part.count else { break }
                    }
                    for rank in ranks.sorted() { faultPoints.reach(.beforeCommit(of: rank)) }
                    damaged = sealing.damaged
                    isCommitting = true
                }
                own.isCommitted = true
                let commands = group.prefix(done.count).map(\.rank) + (own.reply == nil ? [] : [.claim])
                counters.committed(written, since: beganAt, ranks: commands, tally)
                damaged += damage?.rows.count ?? 0
                if damaged > 0 { counters.met(damagedRows: damaged) }
            }
        } catch let row as DamagedRow {
            throw .damaged(row)
        } catch let error as SQLError where error.kind == .conflict {
            throw .conflict(error.description)
        } catch let error as SQLError where error.kind == .rolledBack {
            throw .failed(error.description)
        } catch {
            throw isCommitting ? .commitUnknown(Self.words(error)) : .failed(Self.words(error))
        }
        for rank in ranks.sorted() { faultPoints.reach(.afterCommit(of: rank)) }
        if let time = done.lazy.compactMap(\.workDueAt).min() { onWorkDue(time) }
        if done.contains(where: \.asks) { onRefreshDue() }
        if done.contains(where: \.broadcasts) { onChannelDue() }
        if done.contains(where: \.tells) { onEvents() }
        for item in done { item.reply() }
        return done.count
    }

    /// Returns the parts of a group that run one after the other: the claim that shares its transaction comes last. It
    /// finds its rows by queries, so the changes of the others are written before. One sync of the disk serves a change
    /// and its claim.
    private static func parts(of group: [Job]) -> [[Job]] {
        let others = group.prefix { !$0.isAlone }
        guard !others.isEmpty, others.count < group.count else { return [group] }
        return [Array(others), Array(group[others.count...])]
    }

    /// Loads the data of all commands, runs them in order on the results of those before, and writes the changes.
    ///
    /// Stops before a command that would now need other data. It and those after it remain for the next transaction.
    private static func run(_ group: [Job], _ own: OwnClaim, _ sql: Statements) throws -> ([Done], Tally) {
        if case .statements(let perform)? = group.first?.work { return ([try perform(sql)], Tally()) }
        var keys: [SnapshotKey] = []
        for case .command(let own, _) in group.lazy.map(\.work) { keys += own }
        var snapshot = try SnapshotLoader.snapshot(forCommandsWith: keys, sql)
        if let notes = sql.damage {
            for case .due(let due) in keys { try DamagedWork(due: due, sql: sql).putOff(&snapshot, notes) }
            snapshot.unreadable = notes.rows
        }
        var draft = Draft(snapshot)
        var done: [Done] = []
        for case .command(let keys, let run) in group.lazy.map(\.work) {
            guard draft.stillHolds(keys) else { break }
            done.append(run(&draft))
        }
        if group.contains(where: { $0.rank == .write }) { try own.claim(in: &draft, sql) }
        try draft.write(sql)
        // A claim knows by itself what is due next.
        if group.contains(where: { $0.rank != .claim }), !done.isEmpty { done[0].workDueAt = draft.workDueAt }
        if draft.makesRefreshDue, !done.isEmpty { done[0].asks = true }
        if draft.makesChannelDue, !done.isEmpty { done[0].broadcasts = true }
        if !draft.changes.events.isEmpty, !done.isEmpty { done[0].tells = true }
        return (done, draft.changes.tally)
    }

    static func words(_ error: any Error) -> String { String(describing: error) }
}
