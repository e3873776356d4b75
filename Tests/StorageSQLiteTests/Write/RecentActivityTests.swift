import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageConformance
@testable import StorageSQL
@testable import StorageSQLite

/// Tests of the search for activities with recent changes.
struct RecentActivityTests {
    @Test func `activities are found by what happened in a stretch, the newest first`() async throws {
        try await withStore { store in
            func set(_ id: String, _ step: Int, _ type: String = "order", at seconds: Int) async throws {
                _ = try await store.commit(
                    SetDesiredState(
                        app: Sample.bundleID, id: Sample.activityID(id), type: Sample.type(type),
                        body: .init(state: Sample.state(step)), now: Sample.now + .seconds(seconds))
                ).get()
            }
            func found(_ from: Int, _ before: Int, limit: Int = 10) async throws -> RecentActivities {
                try await store.activities(
                    of: Sample.bundleID, "order", from: Sample.now + .seconds(from),
                    before: Sample.now + .seconds(before), limit: limit)
            }
            try await set("a", 1, at: 0)
            try await set("b", 1, at: 1)
            try await set("other", 1, "lunch", at: 2)
            try await set("a", 2, at: 10)
            #expect(
                try await found(0, 100) == RecentActivities(ids: ["a", "b"].map(Sample.activityID), hasMore: false))
            #expect(try await found(0, 10).ids == ["b", "a"].map(Sample.activityID))
            #expect(try await found(2, 100).ids == [Sample.activityID("a")])
            #expect(try await found(0, 100, limit: 1) == RecentActivities(ids: [Sample.activityID("a")], hasMore: true))
            #expect(try await found(11, 100).ids.isEmpty)
            let elsewhere = try await store.activities(
                of: Sample.bundle("com.acme.bakery"), "order", from: Sample.now, before: Sample.now + .seconds(99),
                limit: 10)
            #expect(elsewhere.ids.isEmpty)
        }
    }

    @Test func `who has which token is told, and a dead one is none`() async throws {
        try await withStore { store in
            for (key, kind, type, isDead) in [
                (1, .pushToStart, "order", false), (1, .device, "", false), (2, .pushToStart, "order", true),
                (3, .pushToStart, "lunch", false), (4, .device, "", false),
            ] as [(DeviceKey, DeviceTokenRecord.Kind, String, Bool)] {
                let value = TokenValue(Sample.token("\(key) \(type)", as: UpdateTokenKind.self))
                _ = try await store.commit(
                    PutRows { draft in
                        var token = DeviceTokenRecord(
                            device: key, kind: kind, type: type, generation: 1, environment: .sandbox, value: value,
                            firstSeenAt: Sample.now)
                        token.deadAt = isDead ? Sample.now : nil
                        draft.put(token)
                    }
                ).get()
            }
            let holders = try await store.tokenHolders(among: [1, 2, 3], starting: "order")
            #expect(holders.pushToStart == [1] && holders.device == [1])
        }
    }

    @Test func `a store for a trial waits for no disk, and any other does`() async throws {
        try await withStore { store in
            let path = store.path + "-trial"
            let trial = try SQLStore(path: path, access: .trial)
            defer { trial.close() }
            func synchronous(_ store: SQLStore) async throws -> Int? {
                try await store.pool.writeWithoutTransaction { db in try Int.fetchOne(db, sql: "PRAGMA synchronous") }
            }
            #expect(try await synchronous(trial) == 0)
            #expect(try await synchronous(store) == 2)
        }
    }
}
