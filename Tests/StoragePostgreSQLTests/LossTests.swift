import Foundation
import LiveActivityStorage
import PostgresCluster
import TestSupport
import Testing

@testable import StorageConformance
@testable import StoragePostgreSQL
@testable import StorageSQL

/// Tests that changes that a failover or a restore has lost are noticed, and that nothing else is taken for a loss.
struct LossTests {
    // MARK: - Failovers

    @Test(.timeLimit(.minutes(2)))
    func `a process writes no more once a failover has lost its changes, and the next one knows`() async throws {
        try await withPair { pair in
            let store = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { store.close() }
            try pair.waitForStandby(false)
            try await store.insertKey(Self.key("kept"))
            try await pair.failOver { try await store.insertKey(Self.key("lost")) }
            await #expect(throws: StorageError.self) { try await store.insertKey(Self.key("after")) }
            for await loss in store.database.losses {
                #expect(loss == .changesLost)
                break
            }
            // It has not seen what was lost.
            let next = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore?.reason.contains("found that changes were lost") == true)
            try await next.insertKey(Self.key("next"))
            await #expect(throws: StorageError.self) { try await store.insertKey(Self.key("never")) }
            #expect(try await next.keys().map(\.id).sorted() == ["kept", "next"])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a process goes on after a failover that has lost nothing, and the next one assumes no loss`() async throws {
        try await withPair { pair in
            let store = try SQLStore(postgres: pair.url, tokenKeys: nil)
            try await store.insertKey(Self.key("before"))
            try await pair.failOver()
            // What began on the lost connection fails.
            var isWritten = false
            while !isWritten { isWritten = (try? await store.insertKey(Self.key("after"))) != nil }
            store.close()
            let next = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore == nil)
            #expect(try await next.keys().map(\.id).sorted() == ["after", "before"])
        }
    }

    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func `a node that takes over after a failover assumes a loss unless a standby had each change`(
        waits: Bool
    ) async throws {
        try await withPair { pair in
            try pair.waitForStandby(waits)
            let door = PostgresNode(number: 2)
            let owner = try SQLStore(postgres: pair.url, node: PostgresNode(number: 1), tokenKeys: nil)
            try await owner.insertKey(Self.key("a"))
            _ = try PostgresNodes(of: pair.url, memory: door.memory).look(as: nil)
            owner.close()
            try await pair.failOver()
            let next = try SQLStore(postgres: pair.url, node: door, tokenKeys: nil)
            defer { next.close() }
            #expect((next.database.assumedRestore == nil) == waits)
            #expect(try await next.keys().map(\.id) == ["a"])
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a node that has started after a failover assumes a loss, although it looks before it takes over`()
        async throws
    {
        try await withPair { pair in
            let owner = try SQLStore(postgres: pair.url, node: PostgresNode(number: 1), tokenKeys: nil)
            try await owner.insertKey(Self.key("a"))
            owner.close()
            try await pair.failOver()
            let door = PostgresNode(number: 2)
            _ = try PostgresNodes(of: pair.url, memory: door.memory).look(as: nil)
            let next = try SQLStore(postgres: pair.url, node: door, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore?.reason.contains("was promoted or recovered") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a process that has written nothing since a failover tells the next that nothing is missing`() async throws {
        try await withPair { pair in
            let store = try SQLStore(postgres: pair.url, tokenKeys: nil)
            try await store.insertKey(Self.key("before"))
            try await pair.failOver()
            store.close()
            let next = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore == nil)
        }
    }

    @Test func `a sighting says nothing of the rows after its time`() {
        let memory = PostgresMemory()
        let lineage = PostgresLineage(database: "db", timeline: 1)
        let now = ContinuousClock.now
        memory.saw(.init(epoch: 1, group: 1), on: lineage, isOwn: false, at: now)
        let time = Duration.seconds(300)
        #expect(memory.hasSeen(lineage, within: time, at: now + .seconds(299)))
        #expect(!memory.hasSeen(lineage, within: time, at: now + .seconds(300)))
        #expect(!memory.hasSeen(Self.promoted, within: time, at: now))
    }

    @Test(.timeLimit(.minutes(1)))
    func `a host that does not answer costs a second, and the next one is used`() throws {
        let silent = try SilentServer()
        defer { silent.stop() }
        let folder = try TemporaryDatabase.server().directory.path
        let url = "postgres://islet@/postgres?host=\(silent.folder),\(folder)&port=5432"
        let server = PostgresServer(url: url)
        let start = ContinuousClock.now
        let session = try server.connect(for: .seconds(30), comparing: true)
        // Once for all, and once more because it may be the newer one.
        #expect(session.lineage != nil && ContinuousClock.now - start < .seconds(20))
        let asked = silent.connections
        _ = try server.connect(for: .seconds(10))
        #expect(silent.connections == asked, "the one that has answered is asked first")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a node that has seen what a failover lost assumes a loss, whatever was promised`() async throws {
        try await withPair { pair in
            let door = PostgresNode(number: 2)
            let owner = try SQLStore(postgres: pair.url, node: PostgresNode(number: 1), tokenKeys: nil)
            try await pair.failOver {
                try await owner.insertKey(Self.key("lost"))
                _ = try PostgresNodes(of: pair.url, memory: door.memory).look(as: nil)
            }
            owner.close()
            let next = try SQLStore(postgres: pair.url, node: door, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore?.reason.contains("lacks changes that were committed") == true)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a process whose takeover was lost writes nothing, though the next one begins at the epoch before`()
        async throws
    {
        try await withPair { pair in
            try SQLStore(postgres: pair.url, tokenKeys: nil).close()
            var lost: SQLStore?
            try await pair.failOver { lost = try SQLStore(postgres: pair.url, tokenKeys: nil) }
            let next = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { next.close() }
            #expect(next.database.assumedRestore != nil)
            let old = try #require(lost)
            defer { old.close() }
            for _ in 0..<3 {
                await #expect(throws: StorageError.self) { try await old.insertKey(Self.key("never")) }
            }
            #expect(try await next.keys().isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a primary that comes back beside its successor is not used, whichever is named first`() async throws {
        try await withPair { pair in
            let store = try SQLStore(postgres: pair.url, tokenKeys: nil)
            try await store.insertKey(Self.key("before"))
            try await pair.failOver()
            try pair.cluster.startFirst()
            // It takes writes, and is the first of the URL.
            let alone = try PostgresServer(url: pair.cluster.url("postgres")).connect(for: .seconds(10))
            #expect(alone.lineage?.timeline == 1)
            var isWritten = false
            while !isWritten { isWritten = (try? await store.insertKey(Self.key("after"))) != nil }
            store.close()
            // A process that knows of no failover looks at all hosts.
            let next = try SQLStore(postgres: pair.url, tokenKeys: nil)
            defer { next.close() }
            #expect(try await next.keys().map(\.id).sorted() == ["after", "before"])
            // One that knows the successor uses the old primary never more, also where no other is there.
            let memory = PostgresMemory()
            _ = try PostgresServer(url: pair.url, memory: memory).connect(for: .seconds(10))
            let error = #expect(throws: PostgresError.self) {
                try PostgresServer(url: pair.cluster.url("postgres"), memory: memory).connect(for: .seconds(10))
            }
            #expect(error?.words.contains("was replaced by a standby") == true)
        }
    }

    // MARK: - What counts as a loss

    /// What is known when a database is taken over.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isLoss: Bool
        var row = PostgresTakeover.Row(last: .init(epoch: 4, group: 10), lineage: "db 1", isOnStandby: true)
        var here: PostgresLineage? = PostgresLineage(database: "db", timeline: 1)
        /// The last transaction that was seen, whether this process has written it, and where it was seen.
        var seen: (PostgresMemory.Commit, isOwn: Bool)?
        var seenOn: PostgresLineage? = PostgresLineage(database: "db", timeline: 1)

        init(_ description: String, isLoss: Bool, _ change: (inout Self) -> Void) {
            testDescription = description
            self.isLoss = isLoss
            change(&self)
        }
    }

    static let promoted = PostgresLineage(database: "db", timeline: 2)

    @Test(arguments: [
        Case("nothing has changed", isLoss: false) { _ in },
        Case("the tables were never served", isLoss: false) { $0.row.lineage = nil },
        Case("the server does not say where it is", isLoss: false) { $0.here = nil },
        Case("a promotion that this process has seen nothing before", isLoss: true) { $0.here = promoted },
        Case("a promotion, and this process wrote last", isLoss: false) {
            $0.here = promoted
            $0.row.isOnStandby = false
            $0.seen = (.init(epoch: 4, group: 10), isOwn: true)
        },
        Case("a promotion, and another process wrote after this one", isLoss: true) {
            $0.here = promoted
            $0.row.isOnStandby = false
            $0.seen = (.init(epoch: 3, group: 99), isOwn: true)
        },
        Case("a promotion of a standby that had each change", isLoss: false) {
            $0.here = promoted
            $0.seen = (.init(epoch: 4, group: 9), isOwn: false)
        },
        Case("a promotion that this process has looked only after", isLoss: true) {
            $0.here = promoted
            $0.seen = (.init(epoch: 4, group: 10), isOwn: false)
            $0.seenOn = promoted
        },
        Case("a promotion of a standby that may lack changes", isLoss: true) {
            $0.here = promoted
            $0.row.isOnStandby = false
            $0.seen = (.init(epoch: 4, group: 9), isOwn: false)
        },
        Case("a transaction is missing", isLoss: true) { $0.seen = (.init(epoch: 4, group: 11), isOwn: true) },
        Case("a takeover is missing", isLoss: true) { $0.seen = (.init(epoch: 5, group: 0), isOwn: false) },
        Case("the rows are in another database", isLoss: true) {
            $0.here = PostgresLineage(database: "copy", timeline: 1)
            $0.seen = (.init(epoch: 4, group: 10), isOwn: true)
        },
        Case("the process before found a loss", isLoss: true) { $0.row.lineage = PostgresLineage.broken },
        Case("the process before found a loss, and the server does not say where it is", isLoss: true) {
            $0.row.lineage = PostgresLineage.broken
            $0.here = nil
        },
    ])
    func `a loss is assumed exactly where changes may be missing`(_ given: Case) {
        let server = PostgresServer(url: "postgres://db/islet")
        if let (commit, isOwn) = given.seen { server.memory.saw(commit, on: given.seenOn, isOwn: isOwn) }
        #expect(
            (PostgresTakeover.loss(given.row, here: given.here, server.memory, isTwoSafe: true) != nil) == given.isLoss)
    }

    // MARK: - Support

    /// A primary with a standby.
    private struct PairOfServers {
        let cluster: PostgresCluster
        var url: String { cluster.pairURL("postgres") }

        /// Says whether a commit waits for the standby.
        func waitForStandby(_ waits: Bool) throws {
            try cluster.run("ALTER SYSTEM SET synchronous_standby_names = '\(waits ? "*" : "")'")
            try cluster.run("SELECT pg_reload_conf()")
        }

        /// Kills the primary and promotes the standby.
        ///
        /// - Parameter lost: Changes that the standby does not get.
        func failOver(losing lost: (() async throws -> Void)? = nil) async throws {
            if let lost {
                try waitForStandby(false)
                try cluster.stopStandby()
                try await lost()
            }
            try cluster.crash()
            if lost != nil { try cluster.startStandby() }
            try cluster.promoteStandby()
        }
    }

    private func withPair(_ body: (PairOfServers) async throws -> Void) async throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        try cluster.addStandby()
        try await body(PairOfServers(cluster: cluster))
    }

    private static func key(_ id: String) -> APIKeyRecord {
        APIKeyRecord(id: id, app: Sample.bundleID, scope: .read, secretHash: [1], createdAt: Sample.now)
    }
}
