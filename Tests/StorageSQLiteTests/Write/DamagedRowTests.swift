import APNSModel
import GRDB
import LiveActivityCore
import LiveActivityStorage
import TestSupport
import Testing

@testable import StorageSQLite

/// One row that cannot be read stops neither notifications nor erasing.
struct DamagedRowTests {
    /// Two people with a phone each, and a notification to each of them.
    private static func notify(_ store: SQLiteStore) async throws {
        for (index, name) in ["ann", "bob"].enumerated() {
            var body = RegisterDevice.Body(user: Sample.user(name))
            body.deviceToken = Sample.token(name)
            _ = try await store.commit(
                RegisterDevice(
                    app: Sample.app(), id: Sample.device(name), body: body, now: Sample.now,
                    freshKey: DeviceKey(index + 1))
            ).get()
            let payload = try AlertPayload(Sample.alert).bytes
            _ = try await store.commit(
                NotifyUser(
                    app: Sample.bundleID, user: Sample.user(name), body: .init(.alert, payload: payload),
                    now: Sample.now, random: UInt64(index + 1))
            ).get()
        }
    }

    private static func damage(_ store: SQLiteStore, _ text: String) async throws {
        _ = try await store.write { sql in try sql.execute(text) }
    }

    @Test func `a notification that cannot be read is told of and put off, and the others go out`() async throws {
        try await withStore { store in
            try await Self.notify(store)
            try await Self.damage(
                store, "UPDATE notification SET kind = 99 WHERE no = (SELECT min(no) FROM notification)")
            let reply = try await store.commit(ClaimNotifications(now: Sample.now)).get()
            #expect(reply.flight.seats.count == 1 && reply.unreadable.count == 2)
            #expect(try await store.statistics().damagedRows == 2)
            // Neither is due: the dispatcher does not turn in circles.
            #expect(try await store.nextNotificationAt().map { $0 > Sample.now } == true)
            try await Self.damage(store, "UPDATE notification SET kind = 1")
            let later = Sample.now + DamagedWork.pause
            #expect(try await store.commit(ClaimNotifications(now: later)).get().flight.seats.count == 2)
        }
    }

    @Test func `an addressee that cannot be read is told of, also when its notification is over`() async throws {
        try await withStore { store in
            try await Self.notify(store)
            try await Self.damage(store, "UPDATE addressee SET reason = 'odd' WHERE dk = 1")
            let reply = try await store.commit(ClaimNotifications(now: Sample.now)).get()
            #expect(reply.flight.seats.map(\.device.key) == [2] && reply.unreadable.count == 1)
            #expect(try await store.nextNotificationAt().map { $0 > Sample.now } == true)
            let over = Sample.now + NotifyUser.lifetime
            let last = try await store.commit(ClaimNotifications(now: over)).get()
            #expect(last.dropped == [.expired: 1] && last.unreadable.count == 1)
            #expect(try await store.nextNotificationAt() == over + DamagedWork.pause)
        }
    }

    @Test(arguments: [
        "UPDATE instance SET state = 99 WHERE dk = 1", "UPDATE update_token SET env = 'odd' WHERE dk = 1",
        "UPDATE device_token SET env = 'odd' WHERE dk = 1",
    ])
    func `a row that cannot be read is erased with what it belongs to, and counted`(change: String) async throws {
        try await withStore { store in
            let app = Sample.app()
            for (index, name) in ["ann", "bob"].enumerated() {
                var body = RegisterDevice.Body(user: Sample.user(name))
                body.deviceToken = Sample.token(name)
                _ = try await store.commit(
                    RegisterDevice(
                        app: app, id: Sample.device(name), body: body, now: Sample.now, freshKey: DeviceKey(index + 1))
                ).get()
                var report = CardReport(localID: Sample.local(name), type: Sample.type(), state: .active)
                report.activity = Sample.activityID("a")
                report.token = Sample.token("card-\(name)")
                _ = try await store.commit(
                    ReportCard(app: app, device: Sample.device(name), report: report, now: Sample.now)
                ).get()
                _ = try await store.commit(
                    SignOutDevice(app: app.bundleID, id: Sample.device(name), now: Sample.now)
                ).get()
            }
            try await Self.damage(store, change)
            // What nothing else erases: values that are not known to be dead or free.
            try await Self.damage(store, "UPDATE token_owner SET dead_at = NULL, released_at = NULL")
            let late = Sample.now + .seconds(31 * 86_400)
            for _ in 1...10 where try await !store.prune(PruneLimits(), at: late) { break }
            for table in ["device", "instance", "update_token", "device_token", "token_owner"] {
                let left = try await store.query { sql in try sql.number("SELECT count(*) FROM \(table)") }
                #expect(left == 0, "\(table)")
            }
            #expect(try await store.statistics().damagedRows > 0)
        }
    }
}
