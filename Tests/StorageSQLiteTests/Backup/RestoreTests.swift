import APNSModel
import Foundation
import GRDB
import JSONText
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct RestoreTests {
    private static let later = Sample.now + .seconds(3600)

    // MARK: - Safety

    /// Registers a phone that can be started, and sets an activity for it.
    private func prepare(_ store: SQLStore, restart: ActivityRecord.Restart? = nil) async throws {
        let app = Sample.app()
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        let device = Sample.device("phone")
        let before = Sample.now - .seconds(600)
        _ = try await store.commit(RegisterDevice(app: app, id: device, body: body, now: before, freshKey: 7)).get()
        _ = try await store.commit(
            RegisterPushToStartToken(
                app: app, id: device, type: "order", token: Sample.token("start"), now: before)
        ).get()
        try await put(store, alert: nil, restart: restart)
    }

    private func put(
        _ store: SQLStore, step: Int = 1, alert: AlertRecord.OnUnknown?, restart: ActivityRecord.Restart? = nil
    ) async throws {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = [Sample.user("ann")]
        body.attributes = ["name": "a"]
        body.restart = restart ?? .never
        if let alert {
            var wish = SetDesiredState.AlertWish(Sample.alert)
            wish.onUnknown = alert
            body.alert = wish
        }
        _ = try await store.commit(
            SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(), body: body, now: Sample.now)
        ).get()
    }

    /// Returns the pushes that a server would claim at that time.
    private func claims(_ store: SQLStore, at now: UnixTime, node: Int64 = 2) async throws -> [PushPlan] {
        let apps = [Sample.bundleID: Sample.app()]
        return try await store.commit(ClaimWork(now: now, node: node, apps: apps, seed: 1)).get()
            .flights.flatMap(\.seats).map(\.plan)
    }

    private func inventory(_ store: SQLStore, _ sequence: Int64, at now: UnixTime) async throws {
        _ = try await store.commit(
            ReportInventory(
                app: Sample.app(), device: Sample.device("phone"), sequence: sequence, reports: [], now: now)
        ).get()
    }

    /// Backs up the database before its first start, restores it an hour later, and runs the body.
    private func afterRestore(
        startsAreKnown: Bool = false, prepare: (SQLStore) async throws -> Void,
        _ body: (SQLStore, BackupRestore.Summary) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let first = try SQLStore(path: path)
            try await prepare(first)
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            // The backup does not contain the start of this card.
            #expect(try await claims(first, at: Sample.now, node: 1).map(\.kind) == [.start])
            first.close()
            let summary = try BackupRestore(from: copy, to: path).run(startsAreKnown: startsAreKnown, at: Self.later)
            let second = try SQLStore(path: path)
            defer { second.close() }
            try await body(second, summary)
        }
    }

    @Test func `a phone that was started after the backup is not started again`() async throws {
        try await afterRestore {
            try await prepare($0)
        } _: { store, summary in
            #expect(summary.madeAt == Sample.now && summary.heldStarts == 1)
            let instance = try #require(try await store.phones(of: 1, after: 0, limit: 10).first?.card)
            #expect(instance.state == .unconfirmed && instance.hasOpenStart)
            #expect(instance.startedAt == Sample.now && instance.startExpiresAt == Self.later + .seconds(300))
            for hours in [0, 1, 11] {
                #expect(try await claims(store, at: Self.later + .seconds(hours * 3600)).isEmpty)
            }
            #expect(try await claims(store, at: Self.later + .seconds(12 * 3600 + 301)).map(\.kind) == [.start])
        }
    }

    @Test func `an inventory without the card lets it be started at once`() async throws {
        try await afterRestore {
            try await prepare($0)
        } _: { store, _ in
            // The inventory was sent while a start from before the restore may still arrive, so it proves nothing.
            try await inventory(store, 1, at: Self.later + .seconds(330))
            #expect(try await claims(store, at: Self.later + .seconds(331)).isEmpty)
            try await inventory(store, 2, at: Self.later + .seconds(490))
            #expect(try await claims(store, at: Self.later + .seconds(540)).map(\.kind) == [.start])
        }
    }

    @Test func `an operator who knows that nothing was started may have it started at once`() async throws {
        try await afterRestore(startsAreKnown: true) {
            try await prepare($0)
        } _: { store, summary async throws in
            #expect(summary.heldStarts == 0)
            #expect(try await claims(store, at: Self.later).map(\.kind) == [.start])
        }
    }

    @Test func `a start that was open in the backup may have failed and been made again: it stays open`() async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "a.db").path, directory.appending(path: "b.db").path)
            let store = try SQLStore(path: path)
            try await prepare(store)
            // This is the oldest start for which the start rule allowed no other start before the backup.
            let expired = Sample.now - .seconds(11 * 3600)
            try await store.pool.write { db in
                try db.execute(
                    sql: "UPDATE instance SET state = 3, started_at = ?1, start_expires_at = ?1",
                    arguments: [expired.milliseconds])
            }
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            store.close()
            let now = Sample.now + .seconds(2 * 3600)
            let summary = try BackupRestore(from: copy, to: path).run(startsAreKnown: false, at: now)
            #expect(summary.heldStarts == 1)
            let restored = try SQLStore(path: path)
            defer { restored.close() }
            #expect(try await claims(restored, at: now + .seconds(11 * 3600)).isEmpty)
        }
    }

    @Test(
        arguments: [(CardState.gone, 1), (.dismissed, 1), (.ended, 1), (.live, 0), (.requesting, 1)]
            as [(CardState, Int)])
    func `a phone whose card may come back counts as started too`(
        _ state: CardState, _ held: Int
    ) async throws {
        for restart in [ActivityRecord.Restart.always, .never] {
            try await withDirectory { directory in
                let (path, copy) = (directory.appending(path: "a.db").path, directory.appending(path: "b.db").path)
                let store = try SQLStore(path: path)
                try await prepare(store, restart: restart)
                try await store.pool.write { db in
                    try db.execute(sql: "UPDATE instance SET state = ?", arguments: [state.rawValue])
                }
                _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
                store.close()
                let summary = try BackupRestore(from: copy, to: path).run(startsAreKnown: false, at: Self.later)
                #expect(summary.heldStarts == (restart == .always || state == .requesting ? held : 0))
            }
        }
    }

    @Test func `a phone that has not begun the present run counts as started, whatever it shows of the one before`()
        async throws
    {
        try await afterRestore { store in
            try await prepare(store)
            try await store.pool.write { db in
                try db.execute(sql: "UPDATE activity SET run = 2; UPDATE instance SET state = 6, local_id = 'old'")
            }
        } _: { store, _ in
            let instance = try #require(try await store.phones(of: 1, after: 0, limit: 10).first?.card)
            #expect(instance.run == 2 && instance.hasOpenStart)
            #expect(try await claims(store, at: Self.later).isEmpty)
        }
    }

    @Test(arguments: [(AlertRecord.OnUnknown.drop, 1), (.repeat, 0)])
    func `an alert is not given again, unless its writer prefers twice to never`(
        _ onUnknown: AlertRecord.OnUnknown, _ spent: Int
    ) async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "a.db").path, directory.appending(path: "b.db").path)
            let store = try SQLStore(path: path)
            try await prepare(store)
            try await put(store, step: 2, alert: onUnknown)
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            store.close()
            let now = Sample.now + .seconds(60)
            let summary = try BackupRestore(from: copy, to: path).run(startsAreKnown: true, at: now)
            #expect(summary.spentAlerts == spent)
            let restored = try SQLStore(path: path)
            defer { restored.close() }
            #expect(try await claims(restored, at: now).map { $0.alertRevision > 0 } == [spent == 0])
        }
    }

    // MARK: - The swap

    @Test func `what was there is kept whole under another name, and no log of it stays`() async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let store = try SQLStore(path: path)
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord(1)) }).get()
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            _ = try await store.commit(PutRows { $0.put(Sample.deviceRecord(2)) }).get()
            // Copies the files as a killed process leaves them: only the log has the newest row.
            let killed = directory.appending(path: "killed.db").path
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: killed + suffix)
            }
            store.close()
            let summary = try BackupRestore(from: copy, to: killed).run(startsAreKnown: false, at: Sample.now)
            let kept = try #require(summary.kept)
            #expect(kept == killed + ".before-restore-20261121T143200Z")
            for name in [killed + "-wal", killed + "-shm", kept + "-wal"] {
                #expect(!FileManager.default.fileExists(atPath: name))
            }
            func devices(_ path: String) async throws -> [Int64] {
                try await DatabaseQueue(path: path).read { db in
                    try Int64.fetchAll(db, sql: "SELECT dk FROM device ORDER BY dk")
                }
            }
            #expect(try await devices(kept) == [1, 2])
            #expect(try await devices(killed) == [1])
            let restored = try SQLStore(path: killed, tokenKeys: .beside(path))
            restored.close()
            // The kept database is a backup as well, and can be restored.
            let again = try BackupRestore(from: kept, to: killed).run(startsAreKnown: false, at: Sample.now)
            #expect(again.kept == kept + "-2" && again.devices == 2)
        }
    }

    @Test func `it takes the place of a damaged database, and of none`() async throws {
        try await withDirectory { directory in
            func at(_ name: String) -> String { directory.appending(path: name).path }
            let store = try SQLStore(path: at("islet.db"))
            _ = try BackupCopy(of: at("islet.db"), to: at("copy.db")).make(overwrites: false, at: Sample.now)
            store.close()
            try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: at("damaged.db")))
            for name in ["damaged.db", "none.db"] {
                let summary = try BackupRestore(from: at("copy.db"), to: at(name))
                    .run(startsAreKnown: false, at: Sample.now)
                #expect((summary.kept != nil) == (name == "damaged.db"))
                try SQLStore(path: at(name), tokenKeys: .beside(at("islet.db"))).close()
            }
            let kept = at("damaged.db.before-restore-20261121T143200Z")
            #expect(FileManager.default.contents(atPath: kept)?.first == 0x41)
        }
    }

    @Test func `what is no backup, and a database in use, are refused, and nothing changes`() async throws {
        try await withDirectory { directory in
            func at(_ name: String) -> String { directory.appending(path: name).path }
            let path = at("islet.db")
            let store = try SQLStore(path: path)
            for name in ["copy", "newer", "torn"] {
                _ = try BackupCopy(of: path, to: at(name)).make(overwrites: false, at: Sample.now)
            }
            try await DatabaseQueue(path: at("newer")).write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 of next year')")
            }
            let torn = try #require(FileManager.default.contents(atPath: at("torn")))
            try torn.prefix(torn.count / 2).write(to: URL(filePath: at("torn")))
            try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: at("text")))
            try await DatabaseQueue(path: at("other")).write { db in try db.execute(sql: "CREATE TABLE t (a)") }
            func refusal(_ source: String) -> BackupError? {
                do throws(BackupError) {
                    _ = try BackupRestore(from: source, to: path).run(startsAreKnown: false, at: Sample.now)
                    return nil
                } catch {
                    return error
                }
            }
            #expect(refusal(at("copy")) == .inUse(path: path))
            store.close()
            // Another process has the database open without serving it.
            let keys = try DatabaseQueue(path: path)
            try await keys.read { db in _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM device") }
            #expect(refusal(at("copy")) == .inUse(path: path))
            try keys.close()
            let before = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            let content = FileManager.default.contents(atPath: path)
            #expect(refusal(at("none")) == .missing(path: at("none")))
            #expect(refusal(path) == .same(path: path))
            #expect(refusal(at("newer")) == .newer(path: at("newer")))
            #expect(refusal(at("text")) == .notIslet(path: at("text")))
            #expect(refusal(at("other")) == .notIslet(path: at("other")))
            guard case .damaged = refusal(at("torn")) else {
                Issue.record("a torn file was taken")
                return
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == before)
            #expect(FileManager.default.contents(atPath: path) == content)
            #expect(refusal(at("copy")) == nil)
        }
    }
}
