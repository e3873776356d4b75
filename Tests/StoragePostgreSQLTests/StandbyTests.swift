import LiveActivityStorage
import PostgresCluster
import TestSupport
import Testing

@testable import StoragePostgreSQL
@testable import StorageSQL

/// Tests that a commit counts when the standby has it, and not before.
struct StandbyTests {
    @Test(.timeLimit(.minutes(2)))
    func `a commit whose connection was ended while it waited for the standby is unknown`() async throws {
        try await withCommitThatWaits("pg_terminate_backend")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a commit for which the server stopped waiting for the standby is unknown`() async throws {
        try await withCommitThatWaits("pg_cancel_backend")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a commit that waits for the standby longer than this side does is unknown, and not failed`() async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        try cluster.addStandby()
        var limits = PostgresLimits()
        limits.commit = .seconds(1)
        limits.resolving = .seconds(3)
        let store = try SQLStore(
            postgres: cluster.url("postgres"), needsStandby: true, tokenKeys: nil, limits: limits)
        defer { store.close() }
        try await store.insertKey(Self.key("a"))
        try cluster.stopStandby()
        // The transaction is open on the server, and ends when the standby has it.
        await #expect {
            try await store.insertKey(Self.key("b"))
        } throws: { error in
            if case StorageError.commitUnknown? = error as? StorageError { true } else { false }
        }
        try cluster.startStandby()
        while (try? await store.insertKey(Self.key("c"))) == nil { await Task.yield() }
        #expect(try await store.keys().map(\.id).sorted() == ["a", "b", "c"])
    }

    /// Ends the wait of a commit with a function of the server while the standby is away.
    private func withCommitThatWaits(_ function: String) async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        try cluster.addStandby()
        var limits = PostgresLimits()
        limits.commit = .seconds(20)
        limits.resolving = .seconds(2)
        let url = cluster.url("postgres")
        let store = try SQLStore(postgres: url, needsStandby: true, tokenKeys: nil, limits: limits)
        defer { store.close() }
        try await store.insertKey(Self.key("a"))
        try cluster.stopStandby()
        let watcher = try PostgresServer(url: url).connect(for: .seconds(10))
        let result = try await withThrowingTaskGroup(of: Result<Void, StorageError>.self) { group in
            group.addTask {
                do throws(StorageError) {
                    try await store.insertKey(Self.key("b"))
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try await Self.end(function, watcher)
            return try #require(try await group.next())
        }
        guard case .failure(.commitUnknown) = result else {
            Issue.record("the standby does not have it: \(result)")
            return
        }
        // It was committed, as far as the one server knows.
        try cluster.startStandby()
        try await store.insertKey(Self.key("c"))
        #expect(try await store.keys().map(\.id).sorted() == ["a", "b", "c"])
    }

    /// Calls a function of the server with the session that waits for a standby, once there is one.
    private static func end(_ function: String, _ session: PostgresSession) async throws {
        let transaction = PostgresTransaction(session, PostgresTransaction.Texts())
        var ended: Int64 = 0
        while ended == 0 {
            session.deadline = .now + .seconds(60)
            try transaction.query(
                "SELECT count(\(function)(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", []
            ) { ended = $0.number }
            try session.receive(isEnd: true)
            // The commit needs a thread too.
            await Task.yield()
        }
    }

    static func key(_ id: String) -> APIKeyRecord {
        APIKeyRecord(id: id, app: Sample.bundleID, scope: .read, secretHash: [1], createdAt: Sample.now)
    }
}
