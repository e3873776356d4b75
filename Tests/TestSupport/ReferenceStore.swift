package import APNSModel
package import LiveActivityCore
package import LiveActivityStorage
import Synchronization

/// The reference store behind a service's protocol. It fails and crashes as its dice decide.
package final class ReferenceStore: WorkStore {
    /// The frequencies of faults, in percent of all commits.
    package struct Faults: Sendable {
        /// Nothing is changed, and the caller gets an error.
        package var fails = 0
        /// The change is committed, and the caller never learns of it.
        package var crashes = 0
        /// The caller does not learn whether the change was committed. It may or may not be.
        package var isUnknown = 0

        package init(fails: Int = 0, crashes: Int = 0, isUnknown: Int = 0) {
            self.fails = fails
            self.crashes = crashes
            self.isUnknown = isUnknown
        }
    }

    private enum Fate { case fails, unknown }

    private struct State {
        var store = ModelStore()
        var faults = Faults()
        var dice: SeededDice
        var commits = 0
        var faulted = 0
        var wake: AsyncStream<UnixTime>.Continuation?
    }

    private let state: Mutex<State>

    package init(seed: UInt64) {
        state = Mutex(State(dice: SeededDice(seed: seed)))
    }

    /// All rows.
    package var rows: Snapshot { state.withLock(\.store.rows) }
    /// Number of commits, and of those with a fault.
    package var counts: (commits: Int, faulted: Int) { state.withLock { ($0.commits, $0.faulted) } }

    package func set(_ faults: Faults) { state.withLock { $0.faults = faults } }

    /// A new stream for each caller. Only the last one is signaled.
    package var wakeUps: AsyncStream<UnixTime> {
        let (stream, continuation) = AsyncStream.wakeUps()
        state.withLock { $0.wake = continuation }
        return stream
    }

    package func nextWork() async throws(StorageError) -> NextWork {
        let (next, fails) = state.withLock { state in
            let next = NextWork(
                lane: state.store.nextWakeAt, notification: state.store.nextNotificationAt,
                conditions: state.store.laneConditions)
            return (next, state.dice.chance(state.faults.fails))
        }
        if fails { throw .failed("as the dice say") }
        return next
    }

    package func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        typealias Taken = (Result<C.Reply, Refusal>?, Fate?, (() -> Void)?)
        let (result, fate, wake) = state.withLock { state -> Taken in
            state.commits += 1
            let roll = state.dice.roll(100)
            let (failing, crashing) = (state.faults.fails, state.faults.fails + state.faults.crashes)
            let fate: Fate? =
                roll < failing ? .fails : roll < crashing + state.faults.isUnknown ? .unknown : nil
            if fate != nil { state.faulted += 1 }
            if fate == .fails || (roll >= crashing && fate == .unknown && state.dice.chance(50)) {
                return (nil, fate, nil)
            }
            let result = state.store.run(command)
            guard command.rank != .claim, let due = state.store.workDueAt, let wake = state.wake else {
                return (result, fate, nil)
            }
            return (result, fate, { wake.announce(due) })
        }
        wake?()
        switch (result, fate) {
        case (let result?, nil): return result
        case (_, .unknown): throw .commitUnknown("as the dice say")
        case (_, .fails), (nil, nil): throw .failed("as the dice say")
        }
    }
}
