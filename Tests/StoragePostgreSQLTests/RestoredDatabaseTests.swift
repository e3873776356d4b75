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

/// Tests that a database that was restored with the tools of PostgreSQL is safe.
struct RestoredDatabaseTests {
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
            #expect(made[0].0 == made[1].0, "seed \(seed)")
            #expect(!startsAreKnown || made[0].0.starts == 0, "seed \(seed)")
            #expect(made[0].1.rows.differences(from: made[1].1.rows).isEmpty, "seed \(seed)")
        }
    }

    // MARK: - Support

    private static let keys = TokenKeySource.given(.fresh(), name: "RING")

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
