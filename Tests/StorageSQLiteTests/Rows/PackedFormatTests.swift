import APNSModel
import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQLite

/// Packed columns say their format: rows from before they did are read, and what a later version wrote is named so.
///
/// A test of this file that fails says that a format has changed: see `PackedFormat` for what that takes.
struct PackedFormatTests {
    /// The last migration of databases whose packed columns say nothing.
    private static let before = "4 activities by app and phase"

    /// Wanted, may be started, sent revision 3 at second 1000 under token 1, made 5 ms later.
    private static let body = "0306d00f020a"
    /// Of one entry: a state was set.
    private static let history: [UInt8] = HistoryCoder.encode([
        HistoryEntry(.stateSet, at: Sample.now, revision: 1, detail: "x")
    ])
    /// A hash of two bytes, made at 1 ms, never used.
    private static let credentials = "02010202" + "00"
    /// Devices 5 and 6.
    private static let devices = "00000000000000050000000000000006"

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// A database as the version before made it, with a row of each packed column.
    private static func makeOld(_ path: String) throws {
        let old = try DatabaseQueue(path: path)
        try Schema.migrator.migrate(old, upTo: before)
        try old.write { db in
            try db.execute(
                sql: """
                    INSERT INTO activity VALUES (1, 'com.acme.pizza', 'a', 'order', 'active', 1, 0, 1,
                        'auto', NULL, NULL,
                        NULL, 'ifPossible', 'all', 'never', NULL, NULL, NULL, 'default', 0, 0, 0, 1, 1, NULL,
                            NULL, NULL,
                        NULL, NULL, NULL);
                    INSERT INTO instance VALUES (1, 5, 1, 4, 1, NULL, NULL, 'card', NULL, NULL, x'\(body)');
                    INSERT INTO history VALUES (1, 1, 1000, 1, 1, x'\(hex(history))');
                    INSERT INTO history VALUES (77, 2, 1000, 1, 1, x'\(hex(history))');
                    UPDATE meta SET value = 2 WHERE name = 'history_seq';
                    UPDATE meta SET value = \(2 * history.count) WHERE name = 'history_bytes';
                    INSERT INTO device (dk, app, id, user, user_id, platform, inventory, created_at,
                        contact_at, credentials)
                        VALUES (5, 'com.acme.pizza', 'd', 1, 'ann', 'ios', 0, 0, 0, x'\(credentials)');
                    INSERT INTO user VALUES (1, 'com.acme.pizza', 'ann');
                    INSERT INTO lane (activity, from_dk, to_dk, pos, stop, wrapped, lap, fence, tries,
                        absent, open, live,
                            over, flight_node, flight_claimed_at, flight_lease_until, flight_from, flight_to,
                            flight_devices, flight_rev, flight_ts, flight_seed)
                        VALUES (1, 0, \(Int64.max), 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 9, 1, 2, 5, 6,
                            x'\(devices)', 1, 1, 7);
                    INSERT INTO event (seq, app, kind, at) VALUES (1, 'com.acme.pizza', 1, 0), (2,
                        'com.acme.taxi', 1, 0);
                    UPDATE meta SET value = 2 WHERE name = 'event_seq';
                    """)
        }
        try old.close()
    }

    private static func bytes(_ store: SQLiteStore, _ query: String) async throws -> String? {
        try await store.pool.read { db in try String.fetchOne(db, sql: "SELECT lower(hex(\(query)") }
    }

    @Test func `a database whose columns say no format is read, and written on with formats`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let store = try SQLiteStore(path: path)
            defer { store.close() }
            let rows = try await AllRows(store)
            let instance = try #require(rows.rows.instances[.init(1, 5)])
            #expect(instance.isWanted && instance.mayStart && instance.state == .live)
            #expect(instance.sentRevision == 3 && instance.timestamp == 1000 && instance.tokenGeneration == 1)
            #expect(instance.createdAt == UnixTime(milliseconds: 1_000_005))
            #expect(rows.history[1]?.first?.entries.map(\.detail) == ["x"])
            let device = try #require(rows.rows.devices[5])
            #expect(device.credentials.map(\.secretHash) == [[1, 2]])
            #expect(device.made == DayCounts(), "counts that came later begin with nothing")
            let lane = try #require(rows.rows.lanes[1]?.first)
            #expect(lane.flight?.devices == [5, 6])
            // Written as they stand, each says its format.
            _ = try await store.write { sql in
                try sql.write([instance])
                try sql.write([device])
                try sql.write([lane])
            }
            #expect(try await Self.bytes(store, "body)) FROM instance") == Self.body)
            #expect(try await Self.bytes(store, "credentials)) FROM device") == "0001" + Self.credentials)
            #expect(try await Self.bytes(store, "flight_devices)) FROM lane") == "01" + Self.devices)
            #expect(try await Self.bytes(store, "substr(body, 1, 1))) FROM history") == "03")
            let again = try await AllRows(store)
            #expect(again.rows == rows.rows && again.history == rows.history)
        }
    }

    @Test func `what apps have of histories and events is counted when an older database is opened`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let store = try SQLiteStore(path: path)
            defer { store.close() }
            let bytes = Int64(Self.history.count)
            let (history, events) = try await store.query { sql in
                (try AppUse(.historyBytes, sql).amounts, try AppUse(.events, sql).amounts)
            }
            // The activity of one row is not there any more.
            #expect(history == ["com.acme.pizza": bytes, "": bytes])
            #expect(events == ["com.acme.pizza": 1, "com.acme.taxi": 1])
        }
    }

    @Test(arguments: [
        ("UPDATE instance SET body = x'83802006d00f020a'", "body", 1),
        ("UPDATE history SET body = x'0400'", "body", 4),
        ("UPDATE device SET credentials = x'0002ff'", "credentials", 2),
        ("UPDATE lane SET flight_devices = x'020000'", "flight_devices", 2),
    ])
    func `a value of a later format is reported as one, and not guessed at`(
        change: String, column: String, format: Int
    ) async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let store = try SQLiteStore(path: path)
            defer { store.close() }
            _ = try await store.write { sql in try sql.execute(change) }
            let error = await #expect(throws: StorageError.self) { _ = try await AllRows(store) }
            #expect(error?.description.contains("`\(column)`") == true)
            #expect(error?.description.contains("its format \(format) is of a newer version of islet") == true)
        }
    }

    @Test func `a version that knows nothing of the formats refuses the database`() async throws {
        try await withStore { store in
            // All that it knows is the migrations of its time.
            var old = DatabaseMigrator()
            let known = Schema.migrator.migrations.prefix { $0 != Self.before } + [Self.before]
            for name in known { old.registerMigration(name) { _ in } }
            let before = old
            let isRefused = try await store.pool.read { db in try before.hasBeenSuperseded(db) }
            #expect(isRefused)
            #expect(known.count == 4)
        }
    }
}
