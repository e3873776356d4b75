import Dispatch
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import Synchronization

/// One thread that writes: whatever waits when it is free becomes one transaction, so that many writers share one sync
/// of the disk.
final class WriterQueue: Sendable {
    /// One command, and what to tell its caller.
    struct Job: Sendable {
        let rank: CommandRank
        /// Loads, decides and writes inside the transaction. Gives what to say once the commit stands.
        let perform: @Sendable (Database) throws -> Done
        let fail: @Sendable (StorageError) -> Void
    }

    struct Done {
        let makesWorkDue: Bool
        let reply: @Sendable () -> Void
    }

    static let maximumWaiting = 10_000
    static let maximumGroup = 1000

    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let pool: DatabasePool
    private let onWorkDue: @Sendable () -> Void

    init(_ pool: DatabasePool, onWorkDue: @escaping @Sendable () -> Void) {
        self.pool = pool
        self.onWorkDue = onWorkDue
        let thread = Thread { [self] in
            run()
            ended.signal()
        }
        thread.name = "islet-sqlite-writer"
        thread.start()
    }

    func submit(_ job: Job) {
        let refusal: StorageError? = state.withLock { state in
            if state.isClosed { return .closed }
            if state.jobs.count >= Self.maximumWaiting { return .overloaded }
            state.jobs.append(job)
            return nil
        }
        if let refusal { return job.fail(refusal) }
        signal.signal()
    }

    var waiting: Int { state.withLock(\.jobs.count) }

    /// Writes what waits, then ends the thread. Blocks until it has.
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
            commit(group)
        }
    }

    /// What waits, at most a group's worth, what callers wait for before what they do not.
    private func takeGroup() -> ([Job], Bool) {
        state.withLock { state in
            let order = state.jobs.indices.sorted { (state.jobs[$0].rank, $0) < (state.jobs[$1].rank, $1) }
            let taken = Set(order.prefix(Self.maximumGroup))
            let group = order.prefix(Self.maximumGroup).map { state.jobs[$0] }
            let rest = state.jobs.indices.filter { !taken.contains($0) }.map { state.jobs[$0] }
            state.jobs = rest
            if !rest.isEmpty { signal.signal() }
            return (group, state.isClosed)
        }
    }

    private func commit(_ group: [Job]) {
        var done: [Done] = []
        var isCommitting = false
        do {
            try pool.writeWithoutTransaction { db in
                try db.inTransaction(.immediate) {
                    for job in group { done.append(try job.perform(db)) }
                    isCommitting = true
                    return .commit
                }
            }
        } catch {
            let detail = Self.words(error)
            let failure: StorageError = isCommitting ? .commitUnknown(detail) : .failed(detail)
            for job in group { job.fail(failure) }
            return
        }
        for item in done { item.reply() }
        if done.contains(where: \.makesWorkDue) { onWorkDue() }
    }

    /// Without the statement's arguments: they may hold tokens.
    static func words(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return String(describing: error) }
        return "SQLite error \(error.resultCode.rawValue): \(error.message ?? "no message")"
    }
}
