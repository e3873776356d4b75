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

struct SealingTests {
    /// Returns forms of a token to search for: text in either case, bytes and base64. Each is longer than the 8
    /// characters that may be shown.
    static func forms(of token: TokenValue) -> [Data] {
        let bytes = Data(Hexadecimal.bytes(of: token.hex) ?? [])
        return [
            Data(token.hex.prefix(10).utf8), Data(token.hex.prefix(10).uppercased().utf8), bytes.prefix(8),
            Data(bytes.base64EncodedString().prefix(12).utf8), Data(token.hex.suffix(10).utf8), bytes.suffix(8),
        ]
    }

    @Test func `Invariant 8: no token is in the database, its log or a backup of it, those of before included`()
        async throws
    {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.db").path
            let store = try SQLStore(path: path)
            defer { store.close() }
            for round in 0...1 {
                for phone in 1...5 { try await SealedPhones.tell(store, phone, round: round) }
            }
            try await SealedPhones.put(store, "a", step: 1, phones: [1, 2, 3, 4, 5])
            _ = try BackupCopy(of: path, to: directory.appending(path: "copy.db").path)
                .make(overwrites: false, at: Sample.now)
            try FileManager.default.removeItem(atPath: path + ".keys")
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(Set(files) == ["islet.db", "islet.db-wal", "islet.db-shm", "islet.db.lock", "copy.db"])
            for file in files {
                let content = try Data(contentsOf: directory.appending(path: file))
                for (phone, round) in [(1, 0), (1, 1), (5, 0), (5, 1)] {
                    for token in SealedPhones.Tokens(phone, round: round).values {
                        for form in Self.forms(of: token) {
                            #expect(content.range(of: form) == nil, "\(token) is in \(file)")
                        }
                    }
                }
            }
            // Checks that the tokens are there to be found.
            let rows = try await AllRows(store).rows
            #expect(rows.updateTokens.values.map(\.value).contains(TokenValue(SealedPhones.Tokens(5, round: 1).update)))
            // Each phone has two device tokens, two push-to-start tokens and two update tokens.
            #expect(rows.owners.count == 5 * 3 * 2)
        }
    }

    @Test func `a token that another app names too stays its phone's`() async throws {
        try await withStore { store in
            try await SealedPhones.tell(store, 1)
            try await SealedPhones.put(store, "a", step: 1, phones: [1])
            let tokens = SealedPhones.Tokens(1, round: 0)
            let before = try await AllRows(store).rows
            // A holder of the other app's key who knows all tokens of the phone reports them as another person's.
            var other = SealedPhones.app
            other.bundleID = Sample.bundle("com.acme.taxi")
            var body = RegisterDevice.Body(user: Sample.user("mallory"))
            body.environment = .production
            body.deviceToken = tokens.device
            let device = Sample.device("d1")
            _ = try await store.commit(
                RegisterDevice(app: other, id: device, body: body, now: Sample.now, freshKey: 9)
            ).get()
            _ = try await store.commit(
                RegisterPushToStartToken(app: other, id: device, type: "order", token: tokens.start, now: Sample.now)
            ).get()
            var report = CardReport(localID: Sample.local("a-1"), type: Sample.type(), state: .active)
            report.activity = Sample.activityID("a")
            report.token = tokens.update
            _ = try await store.commit(ReportCard(app: other, device: device, report: report, now: Sample.now)).get()

            let rows = try await AllRows(store).rows
            #expect(rows.devices[1] == before.devices[1] && rows.devices[1]?.signedOutAt == nil)
            #expect(rows.deviceTokens.filter { $0.key.device == 1 } == before.deviceTokens)
            #expect(rows.updateTokens[.init(1, 1)] == before.updateTokens[.init(1, 1)])
            for token in tokens.values {
                #expect(rows.owners[.init(Sample.bundleID, token)]?.device == 1)
                #expect(rows.owners[.init(other.bundleID, token)]?.device == 9)
            }
        }
    }

    @Test func `one token sealed twice is not the same twice`() async throws {
        try await withStore { store in
            let token = Sample.updateToken()
            let values = try await store.write { sql in
                try (1...2).map { _ in try UpdateTokenRow(sealing: token, app: "a", sql.sealing).value }
            }
            #expect(values[0] != values[1] && values[0].count == 12 + 32 + 16)
        }
    }

    struct Move: Sendable, CustomTestStringConvertible {
        let change: String
        let table: String
        var testDescription: String { change }

        init(_ table: String, _ change: String) {
            self.table = table
            self.change = "UPDATE \(table) SET \(change)"
        }
    }

    static let moves: [Move] = {
        let first = "WHERE dk = 1"
        return [
            // Values of another phone, activity, generation, kind, type and app.
            Move("update_token", "value = (SELECT value FROM update_token WHERE dk = 2) \(first) AND activity = 1"),
            Move(
                "update_token",
                "value = (SELECT value FROM update_token WHERE dk = 1 AND activity = 2) \(first) AND activity = 1"),
            Move("update_token", "gen = gen + 1 \(first) AND activity = 1"),
            Move("update_token", "predecessor = value \(first) AND activity = 1"),
            Move(
                "device_token",
                "value = (SELECT value FROM device_token WHERE dk = 1 AND kind = 1) \(first) AND kind = 2"),
            Move(
                "device_token",
                "value = (SELECT value FROM device_token WHERE dk = 2 AND kind = 1) \(first) AND kind = 1"),
            Move("device_token", "type = 'other' \(first) AND kind = 2"),
            Move("device_token", "gen = 7 \(first) AND kind = 1"),
            Move("device_token", "value = (SELECT value FROM update_token WHERE dk = 1) \(first) AND kind = 1"),
            Move("device", "app = 'com.acme.other' \(first)"),
            // Damaged values.
            Move("update_token", "value = substr(value, 1, 27) \(first) AND activity = 1"),
            Move("update_token", "value = x'' \(first) AND activity = 1"),
            Move("update_token", "key = 99 \(first) AND activity = 1"),
            Move("update_token", "key = (SELECT no FROM token_key WHERE use = 2) \(first) AND activity = 1"),
        ]
    }()

    @Test(arguments: moves) func `a sealed token that was moved or damaged does not open, and all others do`(
        move: Move
    ) async throws {
        try await withStore { store in
            for phone in [1, 2] { try await SealedPhones.tell(store, phone) }
            try await SealedPhones.tell(store, 1, round: 1, activity: "b")
            #expect(try await Self.unopened(store) == [:])
            _ = try await store.write { sql in try sql.execute(move.change) }
            // A device's app is part of all its sealed values.
            let expected =
                move.table == "device" ? ["update_token": 2, "device_token": 2] : [move.table: 1]
            #expect(try await Self.unopened(store) == expected)
        }
    }

    @Test func `an owner's row is of its own hash alone`() async throws {
        try await withStore { store in
            for phone in [1, 2] { try await SealedPhones.tell(store, phone) }
            _ = try await store.write { sql in
                try sql.execute(
                    """
                    UPDATE token_owner SET value = (SELECT value FROM token_owner WHERE dk = 2 AND kind = 3)
                    WHERE dk = 1 AND kind = 3
                    """)
            }
            #expect(try await Self.unopened(store) == ["token_owner": 1])
        }
    }

    /// Returns the number of rows that do not open, by table.
    private static func unopened(_ store: SQLStore) async throws -> [String: Int] {
        try await store.query { sql in
            var counts: [String: Int] = [:]
            func count<Row: StoredRow>(_ type: Row.Type) throws {
                try sql.query("SELECT \(Row.list) FROM \(Row.table)") { row in
                    do {
                        _ = try Row(&row)
                    } catch let error as DamagedRow where error.isSealed {
                        counts[Row.table, default: 0] += 1
                    }
                }
            }
            try count(UpdateTokenRow.self)
            try count(DeviceTokenRow.self)
            try count(TokenOwnerRow.self)
            return counts
        }
    }

    // MARK: - Effects of a value that does not open

    @Test func `a phone with another's token is passed over and told of, and the others get what is due`()
        async throws
    {
        try await withStore { store in
            for phone in [1, 2, 3] { try await SealedPhones.tell(store, phone) }
            try await SealedPhones.put(store, "a", step: 1, phones: [1, 2, 3])
            _ = try await store.write { sql in
                try sql.execute(
                    "UPDATE update_token SET value = (SELECT value FROM update_token WHERE dk = 2) WHERE dk = 1")
            }
            func claim(_ seconds: Int) async throws -> ClaimWork.Reply {
                let apps = [SealedPhones.app.bundleID: SealedPhones.app]
                let now = Sample.now + .seconds(seconds)
                return try await store.commit(ClaimWork(now: now, node: 1, apps: apps, seed: 1)).get()
            }
            let reply = try await claim(10)
            #expect(reply.flights.flatMap(\.seats).map(\.phone.device.key).sorted() == [2, 3])
            #expect(reply.unreadable == ["a row of `update_token` holds a value in `value` that cannot be read"])
            #expect(try await store.statistics().damagedRows == 1)
            // The backend's next call is accepted, and so is the phone's. Its next token replaces the damaged one.
            try await SealedPhones.put(store, "a", step: 2, phones: [1, 2, 3])
            try await SealedPhones.tell(store, 1, round: 1)
            #expect(try await store.statistics().damagedRows > 1)
            #expect(try await Self.unopened(store) == [:])
            let rows = try await AllRows(store).rows
            let token = TokenValue(SealedPhones.Tokens(1, round: 1).update)
            #expect(rows.updateTokens[.init(1, 1)]?.value == token && rows.cards[.init(1, 1)]?.tokenGeneration == 2)
        }
    }

    @Test func `who has nothing to do with tokens cannot open them, nor write any`() async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.db").path
            let server = try SQLStore(path: path)
            defer { server.close() }
            try await SealedPhones.tell(server, 1)
            let keys = try SQLStore(path: path, access: .administration)
            defer { keys.close() }
            await #expect(throws: StorageError.self) { _ = try await AllRows(keys) }
            await #expect(throws: StorageError.failed(TokenKeyProblem.notLoaded.description)) {
                _ = try await keys.commit(PutRows { $0.put(Sample.updateToken(9, 9)) })
            }
        }
    }
}
