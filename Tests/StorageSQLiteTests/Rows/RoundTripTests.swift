import Foundation
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

struct RoundTripTests {
    @Test(arguments: UInt64(1)...100)
    func `every row of every table is read as it was written, after reopening as well`(seed: UInt64) async throws {
        try await withDirectory { directory in
            let path = directory.appending(path: "islet.sqlite").path
            var model = ModelStore()
            let put = PutRows { draft in
                var rows = RandomRows(seed: seed)
                rows.fill(&draft)
            }
            _ = model.run(put)
            let first = try SQLStore(path: path)
            _ = try await first.commit(put).get()
            first.close()
            let second = try SQLStore(path: path)
            defer { second.close() }
            let stored = try await AllRows(second)
            #expect(model.rows.differences(from: stored.rows).isEmpty, "seed \(seed)")
            #expect(Dictionary(grouping: model.history, by: \.activity) == stored.history, "seed \(seed)")
        }
    }

    /// Changes that `sed` or a damaged disk may cause, with the word that the error must contain.
    static let damages: [(change: String, word: String)] = [
        ("UPDATE instance SET state = 99", "`state`"),
        ("UPDATE instance SET body = x''", "`body`"),
        ("UPDATE instance SET body = CAST(body || x'00' AS BLOB)", "`body`"),
        // A reason without a last delivery, an unknown kind, and a truncated reason.
        ("UPDATE instance SET body = x'0800000000'", "`body`"),
        ("UPDATE instance SET body = x'040000000009000000'", "`body`"),
        ("UPDATE instance SET body = x'0C00000000010000000561'", "`body`"),
        ("UPDATE device SET env = 'moon'", "`env`"), ("UPDATE device SET os_version = 'new'", "`os_version`"),
        ("UPDATE activity SET app = '*'", "`app`"), ("UPDATE activity SET phase = 'later'", "`phase`"),
        ("UPDATE activity SET alert = '{}'", "`alert`"), ("UPDATE activity SET devices = '{'", "`devices`"),
        ("UPDATE activity SET fallback = '[]'", "`fallback`"),
        ("UPDATE activity SET dismissal = 'soon'", "`dismissal`"), ("UPDATE content SET state = x'7B'", "`state`"),
        ("UPDATE lane SET reason = '?'", "`reason`"), ("UPDATE lane SET flight_node = 1, flight_ts = NULL", "`flight`"),
        ("UPDATE update_token SET env = ''", "`env`"), ("UPDATE device_token SET env = ''", "`env`"),
    ]

    @Test(arguments: damages)
    func `a damaged row fails the command that needs it, and is not guessed at`(
        change: String, word: String
    ) async throws {
        try await withStore { store in
            _ = try await store.commit(PutRows { draft in Self.scene(&draft) }).get()
            _ = try await store.write { sql in try sql.execute(change) }
            var command = PutRows { _ in }
            command.keys = [.phones(1, devices: [7])]
            let error = await #expect(throws: StorageError.self) { _ = try await store.commit(command) }
            #expect(error?.description.contains(word) == true)
        }
    }

    @Test func `damaged credentials let nobody in`() async throws {
        try await withStore { store in
            _ = try await store.commit(PutRows { draft in Self.scene(&draft) }).get()
            _ = try await store.write { sql in try sql.execute("UPDATE device SET credentials = x'20'") }
            let error = await #expect(throws: StorageError.self) { _ = try await store.device(7) }
            #expect(error?.description.contains("`credentials`") == true)
        }
    }

    @Test func `a damaged timeline is reported by its reader`() async throws {
        try await withStore { store in
            let record = HistoryRecord(
                activity: 1, at: Sample.now, revision: 1,
                entries: [HistoryEntry(.stateSet, at: Sample.now, revision: 1)])
            _ = try await store.commit(PutRows { draft in draft.record(record) }).get()
            #expect(try await store.history(of: 1, after: 0, limit: 9).map(\.record) == [record])
            _ = try await store.write { sql in try sql.execute("UPDATE history SET body = x'00'") }
            await #expect(throws: StorageError.self) { _ = try await store.history(of: 1, after: 0, limit: 9) }
        }
    }

    @Test func `a row that waits for its person still waits where the device is signed out`() async throws {
        try await withStore { store in
            let scene = PutRows { draft in
                Self.scene(&draft)
                var device = Sample.deviceRecord()
                device.signedOutAt = Sample.now
                draft.put(device)
                draft.put(
                    CardMachine(
                        activity: 1, device: device.key, run: 1, at: Sample.now,
                        membership: .waiting(until: Sample.now)))
            }
            try await store.commit(scene).get()
            let read = try await store.activities(on: Sample.deviceRecord().id, of: Sample.bundleID)
            #expect(read.map(\.card.awaitsUntil) == [Sample.now], "nobody is told that there is such an activity")
        }
    }

    private static func scene(_ draft: inout Draft) {
        var rows = RandomRows(seed: 5)
        draft.put(
            ActivityRecord(number: 1, app: Sample.bundleID, id: Sample.activityID("a"), type: "order", at: Sample.now))
        draft.put(rows.content(1))
        draft.put(LaneRecord(activity: 1))
        draft.put(Sample.deviceRecord())
        draft.put(CardMachine(activity: 1, device: 7, run: 1, at: Sample.now))
        draft.put(Sample.updateToken())
        draft.put(Sample.startToken())
    }
}
