import Dispatch
import Foundation
import LiveActivityCore
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct GroupCommitTests {
    /// Keeps the writer busy in a transaction of its own until the gate opens.
    private struct Hold: Command {
        let hasBegun: Flag
        let gate: DispatchSemaphore
        var rank: CommandRank { .write }
        var keys: [SnapshotKey] { [] }

        func decide(_ draft: inout Draft) throws(Refusal) {
            hasBegun.raise()
            gate.wait()
        }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isRaised: Bool { value.withLock { $0 } }
        func raise() { value.withLock { $0 = true } }
    }

    @Test func `64 writers that wait share their commits`() async throws {
        let writers = 64
        let directory = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try SQLStore(path: directory.appending(path: "islet.sqlite").path)
        defer { store.close() }
        let before = try await store.statistics()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let hold = Hold(hasBegun: Flag(), gate: DispatchSemaphore(value: 0))
            // Releases the writer whatever fails below.
            defer { hold.gate.signal() }
            group.addTask { _ = try await store.commit(hold).get() }
            while !hold.hasBegun.isRaised, !Task.isCancelled { await Task.yield() }
            for writer in 0..<writers {
                let put = SetDesiredState(
                    app: Sample.bundleID, id: Sample.activityID("a\(writer)"), type: Sample.type(),
                    body: SetDesiredState.Body(state: Sample.state(1)), now: Sample.now)
                group.addTask { _ = try await store.commit(put).get() }
            }
            while try await store.statistics().waiting < writers, !Task.isCancelled { await Task.yield() }
            hold.gate.signal()
            try await group.waitForAll()
        }
        let after = try await store.statistics()
        #expect(after.commands[.write, default: 0] - before.commands[.write, default: 0] == writers + 1)
        let commits = after.commits - before.commits - 1
        #expect((1...writers / Ceilings.writesPerCommit).contains(commits), "\(commits) commits")
        #expect(after.groupSizes.total == after.commits)
        #expect(after.commitSeconds.total == after.commits)
        #expect(after.bytesWritten > before.bytesWritten && after.rowsWritten > before.rowsWritten)
        #expect(after.waiting == 0)
    }
}
