import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityStorage
import PostgresCluster
import StorageSQLite
import TestSupport
import Testing

@testable import EmbeddedIslet
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

    // MARK: - Restores

    @Test func `a copy of a database is safe: what it may have started since is started once`() async throws {
        let url = try TemporaryDatabase.make()
        let first = try SQLStore(postgres: url, tokenKeys: Self.keys)
        try await Self.prepare(first)
        first.close()
        let copy = try TemporaryDatabase.copy(url)
        // The backup does not contain the start of this card.
        let second = try SQLStore(postgres: url, tokenKeys: Self.keys)
        #expect(second.database.assumedRestore == nil)
        #expect(try await Self.claims(second, at: Sample.now) == [.start])
        second.close()
        let restored = try SQLStore(postgres: copy, tokenKeys: Self.keys)
        let restore = try #require(restored.database.assumedRestore)
        #expect(restore.reason.contains("then copied") && restore.changes.starts == 1)
        let now = Date().timeIntervalSince1970
        #expect(abs(Double(restore.madeAt.milliseconds) / 1000 - now) < 60)
        let card = try #require(try await restored.phones(of: 1, after: 0, limit: 10).first?.card)
        #expect(card.state == .unconfirmed && card.startedAt == restore.madeAt)
        for hours in [0, 1, 11] {
            #expect(try await Self.claims(restored, at: restore.madeAt + .seconds(hours * 3600)).isEmpty)
        }
        // A reader that was told of events since is told that it has missed some, and no number comes again.
        let span = try await restored.eventSpan(of: nil)
        #expect(span.lostThrough == span.newest && span.newest >= 1 << 20)
        restored.close()
        // It is restored once.
        let again = try SQLStore(postgres: copy, tokenKeys: Self.keys)
        defer { again.close() }
        #expect(again.database.assumedRestore == nil)
    }

    @Test func `an operator may say that a database was restored, and that nothing was started since`() async throws {
        let url = try TemporaryDatabase.make()
        let first = try SQLStore(postgres: url, tokenKeys: Self.keys)
        try await Self.prepare(first)
        #expect(throws: StorageError.self) { try PostgresRestore(of: url).run(startsAreKnown: true) }
        first.close()
        let copy = try TemporaryDatabase.copy(url)
        #expect(try PostgresRestore(of: copy).run(startsAreKnown: true).changes.starts == 0)
        let restored = try SQLStore(postgres: copy, tokenKeys: Self.keys)
        #expect(restored.database.assumedRestore == nil)
        restored.close()
        #expect(try PostgresRestore(of: copy).run(startsAreKnown: false).changes.starts == 1)
        #expect(PostgresInspection(of: copy, tokenKeys: Self.keys) { 0 }.restoreAssumed != nil)
        #expect(PostgresInspection(of: url, tokenKeys: Self.keys) { 0 }.restoreAssumed == nil)
    }

    @Test(arguments: FreshSeeds.take(6))
    func `both databases are made safe in the same way`(seed: UInt64) async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let keys = TokenKeySource.file(directory.appending(path: "keys").path, isMade: true)
            let file = try SQLStore(path: path, tokenKeys: keys)
            var life = RandomLife(seed: seed &* 32_452_843, Pair(file))
            try await life.live(steps: 100)
            file.close()
            let url = try TemporaryDatabase.makeEmpty()
            _ = try DatabaseMove(from: path, to: url, needsStandby: false, tokenKeys: keys, again: false)
                .run(at: Sample.now)
            let export = try DatabaseExport(path: path)
            try export.set(nil)
            export.close()
            let (madeAt, now) = (life.now, life.now + .seconds(3600))
            let startsAreKnown = seed.isMultiple(of: 3)
            var made: [(BackupSafety.Changes, AllRows)] = []
            for store in [
                try SQLStore(path: path, tokenKeys: keys), try SQLStore(postgres: url, tokenKeys: keys),
            ] {
                defer { store.close() }
                let changes = try await store.write { sql in
                    try BackupSafety.apply(
                        sql.transaction, madeAt: madeAt, now: now, startsAreKnown: startsAreKnown)
                }
                made.append((changes, try await AllRows(store)))
            }
            #expect(made[0].0 == made[1].0 && (startsAreKnown || made[0].0.starts > 0), "seed \(seed)")
            #expect(made[0].1.rows.differences(from: made[1].1.rows).isEmpty, "seed \(seed)")
        }
    }

    // MARK: - What counts as a loss

    /// What is known when a database is taken over.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isLoss: Bool
        var row = PostgresTakeover.Row(last: .init(epoch: 4, group: 10), lineage: "db 1", isOnStandby: true)
        var here: PostgresLineage? = PostgresLineage(database: "db", timeline: 1)
        /// The last transaction that was seen, and whether this process has written it.
        var seen: (PostgresMemory.Commit, isOwn: Bool)?

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
    ])
    func `a loss is assumed exactly where changes may be missing`(_ given: Case) {
        let server = PostgresServer(url: "postgres://db/islet")
        if let (commit, isOwn) = given.seen { server.memory.saw(commit, isOwn: isOwn) }
        #expect((PostgresTakeover.loss(given.row, here: given.here, server.memory) != nil) == given.isLoss)
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

    private static let keys = TokenKeySource.given(.fresh(), name: "RING")

    private static func key(_ id: String) -> APIKeyRecord {
        APIKeyRecord(id: id, app: Sample.bundleID, scope: .read, secretHash: [1], createdAt: Sample.now)
    }

    /// Registers a phone that can be started, and sets an activity for it.
    private static func prepare(_ store: SQLStore) async throws {
        let app = Sample.app()
        let device = Sample.device("phone")
        let before = Sample.now - .seconds(600)
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        _ = try await store.commit(RegisterDevice(app: app, id: device, body: body, now: before, freshKey: 7)).get()
        _ = try await store.commit(
            RegisterPushToStartToken(
                app: app, id: device, type: "order", token: Sample.token("start"), now: before)
        ).get()
        var state = SetDesiredState.Body(state: Sample.state(1))
        state.users = [Sample.user("ann")]
        state.attributes = ["name": "a"]
        _ = try await store.commit(
            SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(), body: state, now: Sample.now)
        ).get()
    }

    /// Returns the pushes that a server would claim at that time.
    private static func claims(_ store: SQLStore, at now: UnixTime) async throws -> [PushKind] {
        let apps = [Sample.bundleID: Sample.app()]
        return try await store.commit(ClaimWork(now: now, node: 2, apps: apps, seed: 1)).get()
            .flights.flatMap(\.seats).map(\.plan.kind)
    }
}
