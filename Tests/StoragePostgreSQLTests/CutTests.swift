import LiveActivityCore
import LiveActivityStorage
import PostgresCluster
import TestSupport
import Testing

@testable import StorageConformance
@testable import StoragePostgreSQL
@testable import StorageSQL

/// Tests that a commit says what became of it, wherever the connection to the server ends.
struct CutTests {
    @Test func `a change is there if its commit said so, and absent if it failed, wherever its connection was cut`()
        async throws
    {
        let proxy = try MessageProxy(to: TemporaryDatabase.server())
        defer { proxy.stop() }
        let url = try TemporaryDatabase.make(through: proxy.directory)
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        // The first transaction prepares the statements of the others.
        var revision: Revision = 1
        try await Self.put(revision, in: store)
        proxy.arm(nil)
        revision += 1
        try await Self.put(revision, in: store)
        let messages = proxy.disarm().messages
        #expect(messages > 8, "the messages of a transaction pass the proxy")
        var outcomes: [String: Int] = [:]
        for number in 1...messages {
            for arrives in [false, true] {
                revision += 1
                let cut = MessageProxy.Cut(message: number, arrives: arrives)
                proxy.arm(cut)
                let result = await Result { () async throws in try await Self.put(revision, in: store) }
                #expect(proxy.disarm().hasCut, "\(cut)")
                let stored = try await Self.revision(in: store)
                switch result {
                case .success:
                    #expect(stored == revision, "\(cut): a commit said that it is there")
                    outcomes["committed", default: 0] += 1
                case .failure(StorageError.commitUnknown(let words)):
                    Issue.record("\(cut): the server can be asked, but the commit is unknown: \(words)")
                case .failure:
                    #expect(stored < revision, "\(cut): a commit failed, and is there")
                    outcomes["failed", default: 0] += 1
                }
                // Statements are prepared anew on a new connection.
                try await Self.put(revision, in: store)
            }
        }
        // The answer to the commit and what follows it were cut, and before that the rest.
        #expect(outcomes["committed", default: 0] >= 2 && outcomes["failed", default: 0] >= 2, "\(outcomes)")
    }

    private static func put(_ revision: Revision, in store: SQLStore) async throws {
        let command = PutRows { draft in
            var lane = LaneRecord(activity: 1)
            lane.lap = revision
            draft.put(lane)
        }
        _ = try await store.commit(command).get()
    }

    private static func revision(in store: SQLStore) async throws -> Revision {
        let lanes = try await AllRows(store).rows.lanes[1] ?? []
        return lanes.first?.lap ?? 0
    }

    @Test func `a process whose database was taken over writes nothing more`() async throws {
        let url = try TemporaryDatabase.make()
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        try await Self.put(1, in: store)
        let server = PostgresServer(url: url)
        let other = try server.connect(for: .seconds(10))
        _ = try PostgresTakeover(session: other, server: server).run()
        do {
            try await Self.put(2, in: store)
            Issue.record("a commit of an ended epoch succeeded")
        } catch StorageError.failed(let words) {
            #expect(words.contains("another process has taken the database over"))
        }
        #expect(try await Self.revision(in: store) == 1)
    }

    @Test func `a transaction whose server process is ended fails, and the next succeeds`() async throws {
        let url = try TemporaryDatabase.make()
        let store = try SQLStore(postgres: url, tokenKeys: nil)
        defer { store.close() }
        for revision in Revision(1)...3 {
            do {
                _ = try await store.write { sql in
                    try sql.run("UPDATE meta SET value = 7 WHERE name = 'device_walk'")
                    try sql.query("SELECT pg_terminate_backend(pg_backend_pid())") { _ in }
                }
                Issue.record("a transaction without a server process succeeded")
            } catch StorageError.failed {}
            try await Self.put(revision, in: store)
            #expect(try await Self.revision(in: store) == revision)
        }
        let walk = try await store.query { sql in
            try sql.number("SELECT value FROM meta WHERE name = 'device_walk'")
        }
        #expect(walk == -1)
    }

    @Test func `a conflict fails the command that caused it alone`() async throws {
        let store = try SQLStore(postgres: TemporaryDatabase.make(), tokenKeys: nil)
        defer { store.close() }
        try await store.write { sql in try sql.run("ALTER TABLE lane ADD CHECK (lap <> 13)") }
        let failed = Noted<Int64>()
        try await store.whileBlocked(until: 20) { group in
            for number in Int64(1)...20 {
                group.addTask {
                    do {
                        let command = PutRows { draft in
                            var lane = LaneRecord(activity: number)
                            lane.lap = number
                            draft.put(lane)
                        }
                        _ = try await store.commit(command).get()
                    } catch { failed.note(number) }
                }
            }
        }
        #expect(failed.all == [13])
        #expect(try await AllRows(store).rows.lanes.count == 19)
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
