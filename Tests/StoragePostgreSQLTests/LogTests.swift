import LiveActivityStorage
import PostgresCluster
import Testing

@testable import StoragePostgreSQL
@testable import StorageSQL

struct LogTests {
    @Test func `the bytes that are counted are those by which the server's log grows`() async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let url = cluster.url("postgres")
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        let watcher = try PostgresServer(url: url).connect(for: .seconds(10))
        let begin = try Self.position(watcher)
        for number in 0..<20 { try await store.insertKey(StandbyTests.key("key-\(number)")) }
        let counted = Int64(try await store.statistics().bytesWritten)
        let grown = try Self.position(watcher) - begin
        // A commit and its row take more than 100 bytes. What follows the last begin is counted by the next.
        #expect((19 * 100...grown).contains(counted), "\(counted) of \(grown) bytes")
    }

    private static func position(_ session: PostgresSession) throws -> Int64 {
        var position: Int64?
        session.deadline = .now + .seconds(10)
        try session.send("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint", PostgresParameters()) {
            position = $0.int(column: 0)
        }
        try session.receive(isEnd: true)
        return try #require(position)
    }
}
