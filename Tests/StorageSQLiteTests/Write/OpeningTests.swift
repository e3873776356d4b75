import APNSModel
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct OpeningTests {
    @Test func `what is committed survives power loss: WAL with a sync for each commit`() async throws {
        try await withStore { store in
            // Settings of the connection that writes. The others write nothing.
            let (mode, synchronous) = try await store.pool.writeWithoutTransaction { db in
                (
                    try String.fetchOne(db, sql: "PRAGMA journal_mode"),
                    try Int.fetchOne(db, sql: "PRAGMA synchronous")
                )
            }
            #expect(mode == "wal" && synchronous == 2)
        }
    }

    @Test func `the log that grew beside a long read shrinks again after it`() async throws {
        try await withStore { store in
            func write(_ mebibytes: Int) async throws {
                for _ in 0..<mebibytes {
                    try await store.pool.write { db in
                        try db.execute(sql: "UPDATE blob SET value = randomblob(1048576)")
                    }
                }
            }
            func logBytes() throws -> Int {
                let attributes = try FileManager.default.attributesOfItem(atPath: store.pool.path + "-wal")
                return try #require(attributes[.size] as? Int)
            }
            try await store.pool.write { db in
                try db.execute(sql: "CREATE TABLE blob (value BLOB); INSERT INTO blob VALUES (NULL)")
            }
            let snapshot = try store.pool.makeSnapshot()
            try await snapshot.read { db in _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM blob") }
            try await write(24)
            #expect(try logBytes() > SQLiteDatabase.logBytes)
            try snapshot.close()
            // One commit copies the log into the database, and the next one begins it anew.
            try await write(3)
            #expect(try logBytes() <= SQLiteDatabase.logBytes)
        }
    }

    @Test func `after a crash everything that was answered is there`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let store = try SQLStore(path: path)
            defer { store.close() }
            for seed in UInt64(1)...5 {
                _ = try await store.commit(
                    PutRows { draft in
                        draft.put(LaneRecord(activity: ActivityNumber(seed)))
                        draft.put(Sample.deviceRecord(DeviceKey(seed)))
                    }
                ).get()
            }
            // Copies the files as a killed process leaves them, without closing the store.
            let copy = directory.appending(path: "copy.sqlite").path
            for suffix in ["", "-wal", ".keys"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
            let reopened = try SQLStore(path: copy)
            defer { reopened.close() }
            let rows = try await AllRows(reopened).rows
            #expect(rows.lanes.keys.sorted() == [1, 2, 3, 4, 5] && rows.devices.keys.sorted() == [1, 2, 3, 4, 5])
        }
    }

    @Test func `a database of before gets what came since when it is opened`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let first = try #require(Schema.migrator.migrations.first)
            let before = try DatabaseQueue(path: path)
            try Schema.migrator.migrate(before, upTo: first)
            try before.close()
            let store = try SQLStore(path: path)
            defer { store.close() }
            let new = try SQLStore(path: directory.appending(path: "new.sqlite").path)
            defer { new.close() }
            func schema(_ store: SQLStore) async throws -> [String] {
                try await store.pool.read { db in
                    try String.fetchAll(db, sql: "SELECT coalesce(sql, name) FROM sqlite_master ORDER BY name")
                }
            }
            #expect(try await schema(store) == schema(new))
            #expect(try await schema(store).contains { $0.contains("activity_announced") })
        }
    }

    @Test(arguments: [SQLiteDatabase.Access.exclusive, .administration])
    func `nobody but its owner reads the database, its log and its index`(access: SQLiteDatabase.Access) async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let store = try SQLStore(path: path, access: access)
            defer { store.close() }
            try await store.insertKey(
                APIKeyRecord(
                    id: "k1", app: Sample.bundleID, scope: .backend, secretHash: [1, 2, 3], createdAt: Sample.now))
            for suffix in ["", "-wal", "-shm", ".lock"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "islet.sqlite\(suffix)")
            }
        }
    }

    @Test func `a second process is refused whatever link leads it there`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let link = directory.appending(path: "link.sqlite").path
            let server = try SQLStore(path: path)
            defer { server.close() }
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            #expect(throws: StorageError.inUse(path: link)) { _ = try SQLStore(path: link, patience: .zero) }
        }
    }

    @Test func `a link that leads to nothing is refused, since its lock would lie elsewhere than the file's`()
        async throws
    {
        try await withDirectory { directory in
            let (path, link) = (directory.appending(path: "a.db").path, directory.appending(path: "link.db").path)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            let error = #expect(throws: StorageError.self) { _ = try SQLStore(path: link, patience: .zero) }
            #expect(error?.description.contains("is a broken link") == true)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a server that starts waits for a command that has the database for a moment, and not for ever`() throws
    {
        let path = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path + ".lock") }
        let command = try #require(try ProcessLock(path: path))
        var slept = Duration.zero
        let refused = try ProcessLock(path: path, patience: .seconds(5)) { slept += $0 }
        #expect(refused == nil && slept == .seconds(5))
        let server = try ProcessLock(path: path, patience: .seconds(5)) { _ in command.unlock() }
        #expect(server != nil)
    }

    @Test func `a second process is refused until the first is done, but may manage keys meanwhile`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let server = try SQLStore(path: path)
            #expect(throws: StorageError.inUse(path: path)) { _ = try SQLStore(path: path, patience: .zero) }
            let keys = try SQLStore(path: path, access: .administration)
            var key = APIKeyRecord(
                id: "k1", app: Sample.bundleID, scope: .backend, secretHash: [1, 2, 3], createdAt: Sample.now)
            key.name = "the shop"
            key.expiresAt = Sample.now + .seconds(60)
            try await keys.insertKey(key)
            #expect(try await server.key("k1") == key)
            // A use is written once, and an older use changes nothing.
            try await server.noteUses(["k1": Sample.now + .seconds(5), "k9": Sample.now])
            try await server.noteUses(["k1": Sample.now + .seconds(4)])
            #expect(try await keys.key("k1")?.usedAt == Sample.now + .seconds(5))
            #expect(try await keys.eraseKeys(overBefore: Sample.now + .seconds(60)) == 0)
            #expect(try await keys.revokeKey("k1", at: Sample.now + .seconds(1)))
            #expect(try await !keys.revokeKey("k1", at: Sample.now + .seconds(2)))
            #expect(try await server.keys().map(\.revokedAt) == [Sample.now + .seconds(1)])
            #expect(try await server.key("k2") == nil)
            keys.close()
            // The store that manages keys did not take the server's lock.
            #expect(throws: StorageError.inUse(path: path)) { _ = try SQLStore(path: path, patience: .zero) }
            server.close()
            try SQLStore(path: path).close()
        }
    }

    @Test func `keys can be made before a server has ever run`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            let keys = try SQLStore(path: path, access: .administration)
            #expect(try await keys.keys().isEmpty)
            let server = try SQLStore(path: path)
            try await server.check()
            server.close()
            keys.close()
        }
    }

    @Test func `a file that is no database is named with what to do`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "notes.txt").path
            try Data(repeating: 0x41, count: 4096).write(to: URL(filePath: path))
            let error = #expect(throws: StorageError.self) { _ = try SQLStore(path: path) }
            #expect(error?.description.contains("is not a SQLite database") == true)
            #expect(error?.description.contains("restore a backup") == true)
        }
    }

    @Test func `a database of a newer version is left alone`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try SQLStore(path: path).close()
            try DatabaseQueue(path: path).write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 of next year')")
            }
            let error = #expect(throws: StorageError.self) { _ = try SQLStore(path: path) }
            #expect(error?.description.contains("newer version") == true)
            // The lock was released.
            #expect(throws: StorageError.self) { _ = try SQLStore(path: path) }
        }
    }

    @Test func `a directory that does not exist is named`() {
        let error = #expect(throws: StorageError.self) { _ = try SQLStore(path: "/nowhere/at/all/islet.sqlite") }
        #expect(error?.description.contains("/nowhere/at/all/islet.sqlite") == true)
    }
}
