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

/// Tests of the format number in packed columns. Older rows without it are read, and rows of a later version are
/// named in the error.
///
/// If a test of this file fails, a format has changed. `PackedFormat` says what that requires.
struct PackedFormatTests {
    /// Last migration of databases whose packed columns have no format number.
    private static let before = "4 activities by app and phase"

    /// Card that is wanted, may be started, and was sent revision 3 at second 1000 under token 1, made 5 ms later.
    private static let body = "0306d00f020a"
    /// History with one entry: a state was set.
    private static let history: [UInt8] = HistoryCoder.encode([
        HistoryEntry(.stateSet, at: Sample.now, revision: 1, detail: "x")
    ])
    /// A hash of two bytes, made at 1 ms and never used.
    private static let credentials = "02010202" + "00"
    /// Devices 5 and 6.
    private static let devices = "00000000000000050000000000000006"

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Creates a database of the earlier version, with a row for each packed column.
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

    private static func bytes(_ store: SQLStore, _ query: String) async throws -> String? {
        try await store.pool.read { db in try String.fetchOne(db, sql: "SELECT lower(hex(\(query)") }
    }

    @Test func `a database whose columns say no format is read, and written on with formats`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let store = try SQLStore(path: path)
            defer { store.close() }
            let rows = try await AllRows(store)
            let instance = try #require(rows.rows.cards[.init(1, 5)])
            #expect(instance.isWanted && instance.mayStart && instance.state == .live)
            #expect(instance.sentRevision == 3 && instance.timestamp == 1000 && instance.tokenGeneration == 1)
            #expect(instance.createdAt == UnixTime(milliseconds: 1_000_005))
            #expect(rows.history[1]?.first?.entries.map(\.detail) == ["x"])
            let device = try #require(rows.rows.devices[5])
            #expect(device.credentials.map(\.secretHash) == [[1, 2]])
            #expect(device.made == DayCounts(), "counts that came later begin with nothing")
            let lane = try #require(rows.rows.lanes[1]?.first)
            #expect(lane.flight?.devices == [5, 6])
            // Rows that are written unchanged get the format number.
            _ = try await store.write { sql in
                try sql.write([instance])
                try sql.write([device])
                try sql.write([lane])
            }
            #expect(try await Self.bytes(store, "body)) FROM instance") == "838060" + Self.body.dropFirst(2))
            #expect(try await Self.bytes(store, "credentials)) FROM device") == "0001" + Self.credentials)
            #expect(try await Self.bytes(store, "flight_devices)) FROM lane") == "01" + Self.devices)
            #expect(try await Self.bytes(store, "substr(body, 1, 1))) FROM history") == "03")
            let again = try await AllRows(store)
            #expect(again.rows == rows.rows && again.history == rows.history)
        }
    }

    @Test func `what format 0 said with one instant and one flag is told apart`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let old = try DatabaseQueue(path: path)
            try await old.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO instance VALUES (1, 6, 1, 1, 1, 5000, NULL, NULL, NULL, NULL, x'0306d00f020a');
                        INSERT INTO instance VALUES (1, 7, 1, 4, 1, 6000, NULL, 'c', NULL, NULL, x'830806d00f020a');
                        INSERT INTO instance VALUES
                            (1, 8, 1, 4, 1, 7000, NULL, 'd', -25110000, NULL, x'831006d00f020a');
                        INSERT INTO instance VALUES (1, 9, 1, 2, 1, NULL, NULL, NULL, 0, 0, x'c30306d00f020a');
                        INSERT INTO instance VALUES (1, 10, 1, 0, 4, NULL, NULL, NULL, NULL, NULL, x'83c02006d00f020a');
                        """)
            }
            try old.close()
            let store = try SQLStore(path: path)
            defer { store.close() }
            let rows = try await AllRows(store).rows.cards
            // The app's request and its own state hold until then. A phone that renews its card waits until then.
            let lease = UnixTime(milliseconds: 6000)
            #expect(rows[.init(1, 6)]?.columns.leaseUntil == UnixTime(milliseconds: 5000))
            #expect(rows[.init(1, 6)]?.attempts.dueAt == nil)
            #expect(rows[.init(1, 7)]?.lead?.until == lease && rows[.init(1, 7)]?.attempts.dueAt == nil)
            let renewing = try #require(rows[.init(1, 8)])
            // The state before an earlier request is not the state after a refused start.
            #expect(rows[.init(1, 9)]?.state == .starting && rows[.init(1, 9)]?.life.before == nil)
            // Up to format 1, every given alert counted as told by a notification.
            #expect(rows[.init(1, 10)]?.alerts.told == 4 && rows[.init(1, 10)]?.alerts.given == 4)
            #expect(renewing.attempts.dueAt == UnixTime(milliseconds: 7000))
            #expect(renewing.successor?.at == UnixTime(milliseconds: -25_110_000) + Reconciler.renewalAge)
        }
    }

    // MARK: - Rows with every value set

    /// Body of a card with nearly every flag set. In order:
    ///
    /// 1. the flags, and the values that every row has
    /// 2. the instants, the report number and the alert's timestamp
    /// 3. the end of the app's request, and the end of the earlier card
    /// 4. the second start
    /// 5. the alert that was told
    /// 6. the rare numbers
    /// 7. the last delivery with its reason
    /// 8. the channel, and the number of opens
    private static let fullBody =
        "bef8fff007" + "06d00f020a" + "14130e28e0d40313" + "d804900304" + "a006d8040c" + "0405" + "0408d80402"
        + "03b406c80101" + "0c70686f6e652d626568696e64" + "0464484e30" + "0c"
    /// The format. Two bytes, made at 1 ms and used at 5000 ms. One byte, made at 300 ms and never used.
    private static let fullCredentials = "0001" + "0201020201904e" + "01ff01d80400"
    /// The format, the seed and three entries. Three texts. A push with its own id, the same push to the next device
    /// with the following id, and an entry with only a state.
    private static let fullHistory =
        "03ac0203" + "03" + "096e65772d7374617465" + "086163636570746564" + "0178"
        + "070a80897a1506d00f0ac801010203" + "00000000000000010000000000000002" + "1e020a" + "00010101cf0f0000000000"

    private static var fullInstance: CardMachine {
        var row = CardColumns(activity: 1, device: 5, run: 2, at: UnixTime(milliseconds: 1_000_005))
        row.state = .live
        row.sentRevision = 3
        row.timestamp = 1000
        row.tokenGeneration = 1
        row.lastHighAt = UnixTime(milliseconds: 1_000_010)
        row.awaitsUntil = UnixTime(milliseconds: 999_990)
        row.reportSequence = 7
        row.reportedAt = UnixTime(milliseconds: 1_000_020)
        row.awaitedUntil = UnixTime(milliseconds: 1_030_000)
        row.awaitedAlert = 990
        row.shownRevision = 2
        row.tries = 4
        row.parkedRevision = 300
        row.contradictions = 1
        row.isWanted = true
        row.mayStart = true
        row.pushedAlert = 2
        row.toldRevision = 5
        row.isLocalAhead = true
        row.endsOther = true
        row.successorAt = UnixTime(milliseconds: 1_000_400)
        row.successorExpiresAt = UnixTime(milliseconds: 1_000_700)
        row.successorSequence = 6
        row.isEvicted = true
        row.predecessorTries = 2
        row.predecessorDueAt = UnixTime(milliseconds: 1_000_200)
        row.leaseUntil = UnixTime(milliseconds: 1_000_300)
        row.localID = Sample.local("card")
        row.channel = ChannelID("dHN0")
        row.opens = 6
        row.last = LastDelivery(
            kind: .end, at: UnixTime(milliseconds: 1_000_100), revision: 2, status: 410, reason: Reason(.phoneBehind))
        return CardMachine(row)
    }

    @Test func `an instance with all that it may have is packed into these bytes, and read as it was`() async throws {
        try await withStore { store in
            let row = Self.fullInstance
            _ = try await store.write { sql in try sql.write([row]) }
            let bytes = try await Self.bytes(store, "body)) FROM instance")
            #expect(bytes == Self.fullBody)
            #expect(try await AllRows(store).rows.cards == [.init(1, 5): row])
            // A restored backup counts every alert as given that the card may have got since.
            _ = try await store.write { sql in try sql.execute("UPDATE instance SET alerted_rev = 9") }
            let alerts = try await AllRows(store).rows.cards[.init(1, 5)]?.alerts
            #expect(alerts?.given == 9 && alerts?.told == 5)
        }
    }

    @Test func `credentials, used and unused, are packed into these bytes, and read as they were`() async throws {
        try await withStore { store in
            var device = Sample.deviceRecord(5)
            device.credentials = [
                PhoneCredentialRecord(
                    secretHash: [1, 2], createdAt: UnixTime(milliseconds: 1), usedAt: UnixTime(milliseconds: 5000)),
                PhoneCredentialRecord(secretHash: [255], createdAt: UnixTime(milliseconds: 300)),
            ]
            let row = device
            _ = try await store.write { sql in try sql.write([row]) }
            #expect(try await Self.bytes(store, "credentials)) FROM device") == Self.fullCredentials)
            #expect(try await AllRows(store).rows.devices == [5: row])
        }
    }

    @Test(
        arguments: [(nil, nil), ([], "01"), ([5, DeviceKey.max - 1], "0100000000000000057ffffffffffffffe")]
            as [([DeviceKey]?, String?)])
    func `the devices of a flight are packed into these bytes, and read as they were`(
        devices: [DeviceKey]?, bytes: String?
    ) async throws {
        try await withStore { store in
            var lane = LaneRecord(activity: 1)
            lane.flight = FlightRecord(
                node: 9, claimedAt: UnixTime(milliseconds: 1), leaseUntil: UnixTime(milliseconds: 2), fromDevice: 0,
                toDevice: .max, devices: devices, revision: 1, timestamp: 1, seed: .max)
            let row = lane
            _ = try await store.write { sql in try sql.write([row]) }
            // `hex` returns a text for a column without a value.
            let written = try await Self.bytes(store, "flight_devices)) FROM lane WHERE flight_devices IS NOT NULL")
            #expect(written == bytes)
            #expect(try await AllRows(store).rows.lanes == [1: [row]])
        }
    }

    @Test func `a timeline's row with all that it may have is packed into these bytes, and read as it was`()
        async throws
    {
        try await withStore { store in
            let seed: UInt64 = 300
            var push = HistoryEntry(
                .update, device: 5, at: UnixTime(milliseconds: 1_000_000), revision: 3, timestamp: 1000, priority: 10,
                carriesAlert: true, status: 200, reason: Reason(.newState), outcome: Reason(.accepted), detail: "x",
                pushID: PushID(high: 1, low: 2))
            var entries = [push]
            push.device = 6
            push.at = UnixTime(milliseconds: 1_000_005)
            push.carriesAlert = false
            push.pushID = .of(6, seed: seed)
            entries.append(push)
            entries.append(HistoryEntry(.stateSet, at: UnixTime(milliseconds: 1_000_004), revision: 2))
            let record = HistoryRecord(
                activity: 1, at: UnixTime(milliseconds: 1_000_000), revision: 3, entries: entries, seed: seed)
            _ = try await store.write { sql in try sql.write([HistoryRow(sequence: 1, record: record)]) }
            #expect(try await Self.bytes(store, "body)) FROM history") == Self.fullHistory)
            #expect(try await AllRows(store).history == [1: [record]])
        }
    }

    // MARK: - Older databases

    @Test func `what apps have of histories and events is counted when an older database is opened`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            try Self.makeOld(path)
            let store = try SQLStore(path: path)
            defer { store.close() }
            let bytes = Int64(Self.history.count)
            let (history, events) = try await store.query { sql in
                (try AppUse(.historyBytes, sql).amounts, try AppUse(.events, sql).amounts)
            }
            // The activity of one row no longer exists.
            #expect(history == ["com.acme.pizza": bytes, "": bytes])
            #expect(events == ["com.acme.pizza": 1, "com.acme.taxi": 1])
        }
    }

    @Test(arguments: [
        ("UPDATE instance SET body = x'8380800106d00f020a'", "body", 4),
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
            let store = try SQLStore(path: path)
            defer { store.close() }
            _ = try await store.write { sql in try sql.execute(change) }
            let error = await #expect(throws: StorageError.self) { _ = try await AllRows(store) }
            #expect(error?.description.contains("`\(column)`") == true)
            #expect(error?.description.contains("its format \(format) comes from a newer version of islet") == true)
        }
    }

    @Test func `a version that knows nothing of the formats refuses the database`() async throws {
        try await withStore { store in
            // The older migrator knows only the migrations of its time.
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
