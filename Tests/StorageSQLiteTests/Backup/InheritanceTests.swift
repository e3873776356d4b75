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

/// Tests that access withdrawn after a backup was made stays withdrawn when the backup is restored.
struct InheritanceTests {
    private static let later = Sample.now + .seconds(3600)

    private func key(_ id: String) -> APIKeyRecord {
        APIKeyRecord(id: id, app: Sample.bundleID, scope: .backend, secretHash: [1, 2, 3], createdAt: Sample.now)
    }

    private func register(
        _ store: SQLStore, _ phone: Int, user: String? = nil, at now: UnixTime = Sample.now
    ) async throws {
        var body = RegisterDevice.Body(user: Sample.user(user ?? "u\(phone)"))
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        let command = RegisterDevice(
            app: SealedPhones.app, id: Sample.device("d\(phone)"), body: body, now: now, freshKey: DeviceKey(phone))
        _ = try await store.commit(command).get()
    }

    /// Prepares three phones with tokens and cards, and two keys. Then runs a backup, `since`, the restore, and the
    /// body.
    private func afterRestore(
        since: (SQLStore, String) async throws -> Void, damage: (String) throws -> Void = { _ in },
        _ body: (SQLStore, BackupRestore.Withdrawn?) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let (path, copy) = (directory.appending(path: "islet.db").path, directory.appending(path: "copy.db").path)
            let first = try SQLStore(path: path)
            for phone in 1...3 { try await SealedPhones.tell(first, phone) }
            for id in ["kept", "revoked"] { try await first.insertKey(key(id)) }
            _ = try BackupCopy(of: path, to: copy).make(overwrites: false, at: Sample.now)
            try await since(first, path)
            first.close()
            try damage(path)
            let summary = try BackupRestore(from: copy, to: path).run(startsAreKnown: true, at: Self.later)
            let second = try SQLStore(path: path)
            defer { second.close() }
            try await body(second, summary.withdrawn)
        }
    }

    private func takeAway(_ store: SQLStore) async throws {
        let since = Sample.now + .seconds(60)
        #expect(try await store.revokeKey("revoked", at: since))
        try await store.insertKey(key("new"))
        _ = try await store.commit(SignOutDevice(app: Sample.bundleID, id: Sample.device("d1"), now: since)).get()
        try await register(store, 2, user: "somebody else", at: since)
    }

    @Test func `revoked keys stay revoked, and who signed out is not pushed to again`() async throws {
        try await afterRestore { store, _ in
            try await takeAway(store)
        } _: { store, withdrawn in
            #expect(withdrawn == .init(keys: 1, devices: 2))
            #expect(try await store.key("revoked")?.revokedAt == Sample.now + .seconds(60))
            #expect(try await store.key("kept")?.revokedAt == nil)
            #expect(try await store.key("new") == nil, "nothing is given that the backup does not give")
            let rows = try await AllRows(store).rows
            for phone in [DeviceKey(1), 2] {
                #expect(rows.devices[phone]?.signedOutAt == Self.later)
                #expect(rows.deviceTokens.keys.allSatisfy { $0.device != phone })
                #expect(rows.updateTokens.keys.allSatisfy { $0.device != phone })
            }
            // Their token values are dead, and their cards are unconfirmed.
            #expect(rows.owners.values.allSatisfy { $0.deadAt != nil || $0.device == 3 })
            for phone in [DeviceKey(1), 2] { #expect(rows.cards[.init(1, phone)]?.state == .unconfirmed) }
            #expect(rows.cards[.init(1, 3)]?.state == .live)
            #expect(rows.devices[3]?.signedOutAt == nil)
            #expect(rows.deviceTokens.keys.filter { $0.device == 3 }.count == 2)
            #expect(rows.updateTokens[.init(1, 3)] != nil)
        }
    }

    @Test func `what was taken and is erased by now stays taken`() async throws {
        try await afterRestore { store, _ in
            try await takeAway(store)
            #expect(try await store.eraseKeys(overBefore: Self.later) == 1)
            try await store.pool.write { db in try db.execute(sql: "DELETE FROM device WHERE id = 'd1'") }
        } _: { store, withdrawn in
            #expect(withdrawn == .init(keys: 1, devices: 2))
            let key = try await store.key("revoked")
            #expect(key?.revokedAt == Self.later)
            let rows = try await AllRows(store).rows
            #expect(rows.devices[1]?.signedOutAt == Self.later)
        }
    }

    @Test func `one that was made anew since says nothing of what was taken`() async throws {
        try await afterRestore { store, _ in
            try await takeAway(store)
        } damage: { path in
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try SQLStore(path: path).close()
        } _: { store, withdrawn in
            #expect(withdrawn == nil)
            let key = try await store.key("kept")
            #expect(key?.revokedAt == nil)
            let rows = try await AllRows(store).rows
            #expect(rows.devices[1]?.signedOutAt == nil)
        }
    }

    @Test func `of a damaged one counts what can be read`() async throws {
        try await afterRestore { store, _ in
            try await takeAway(store)
            try await store.pool.write { db in
                try db.execute(sql: "ALTER TABLE device RENAME COLUMN signed_out_at TO elsewhere")
            }
        } _: { store, withdrawn in
            #expect(withdrawn == .init(keys: 1, devices: nil))
            let key = try await store.key("revoked")
            #expect(key?.revokedAt == Sample.now + .seconds(60))
            let rows = try await AllRows(store).rows
            #expect(rows.devices[1]?.signedOutAt == nil)
        }
    }

    @Test func `credentials are those that phones have now`() async throws {
        let credential = PhoneCredentialRecord(secretHash: Array(repeating: 7, count: 32), createdAt: Sample.now)
        var handOut = PutRows { draft in
            guard var device = draft.snapshot.devices[3] else { return }
            device.credentials = [credential]
            draft.put(device)
        }
        handOut.keys = [.device(Sample.bundleID, Sample.device("d3"))]
        try await afterRestore { [handOut] store, _ in
            _ = try await store.commit(handOut).get()
        } _: { store, withdrawn in
            #expect(withdrawn == .init(keys: 0, devices: 0))
            let rows = try await AllRows(store).rows
            #expect(rows.devices[3]?.credentials == [credential])
        }
    }

    @Test func `no event gets the number of one that was told since`() async throws {
        var (before, newest): (Int64, Int64) = (0, 0)
        try await afterRestore { store, _ in
            before = try await store.eventSpan().newest
            let tell = PutRows { draft in draft.tell(EventRecord(.started, app: Sample.bundleID, at: Sample.now)) }
            for _ in 1...2 { _ = try await store.commit(tell).get() }
            newest = try await store.eventSpan().newest
        } _: { store, _ in
            #expect(newest == before + 2)
            let span = try await store.eventSpan()
            #expect(span.newest == newest)
            // A reader whose position is before the newest event misses the events since the backup.
            #expect(!span.holds(everythingAfter: before) && !span.holds(everythingAfter: newest - 1))
            #expect(span.holds(everythingAfter: newest))
        }
    }

    @Test func `a damaged database takes nothing away, and keeps nobody from putting the backup back`() async throws {
        try await afterRestore { store, _ in
            try await takeAway(store)
        } damage: { path in
            // The log may hold the whole database.
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try Data(repeating: 0xA5, count: 9000).write(to: URL(fileURLWithPath: path))
        } _: { store, withdrawn in
            let key = try await store.key("revoked")
            #expect(withdrawn == nil && key?.revokedAt == nil)
        }
    }
}
