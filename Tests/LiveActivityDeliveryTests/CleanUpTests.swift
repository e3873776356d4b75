import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import StorageSQL
import StorageSQLite
import TestSupport
import Testing

struct CleanUpTests {
    private func withStore(_ body: (SQLStore) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-cleanup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLStore(path: folder.appending(path: "test.db").path)
        defer { store.close() }
        try await body(store)
    }

    private func put(
        _ store: SQLStore, _ name: String, _ step: Int = 1, type: ActivityType = Sample.type(), at now: UnixTime
    ) async throws {
        _ = try await store.commit(
            SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID(name), type: type,
                body: SetDesiredState.Body(state: Sample.state(step)), now: now)
        ).get()
    }

    private func phase(_ store: SQLStore, _ name: String) async throws -> ActivityRecord.Phase? {
        try await store.activity(Sample.bundleID, Sample.activityID(name))?.record.phase
    }

    @Test func `F6: what nobody has set for 12 hours is ended, what was set meanwhile is not`() async throws {
        try await withStore { store in
            let logs = LogRecorder()
            let patient = Sample.type("patient") { $0.endAfter = .seconds(20 * 3600) }
            let forever = Sample.type("forever") { $0.endAfter = nil }
            let cleanUp = CleanUp(
                store: store, apps: [Sample.app(Sample.type(), patient, forever)], logger: logs.logger)
            for name in ["forgotten", "kept"] { try await put(store, name, at: Sample.now) }
            try await put(store, "patient", type: patient, at: Sample.now)
            try await put(store, "forever", type: forever, at: Sample.now)
            // Repeating the same state counts as a sign that the activity is still in use.
            try await put(store, "kept", at: Sample.now + .seconds(6 * 3600))
            #expect(try await !cleanUp.page(at: Sample.now + .seconds(12 * 3600 - 1)))
            #expect(try await phase(store, "forgotten") == .active)
            #expect(try await !cleanUp.page(at: Sample.now + .seconds(12 * 3600 + 1)))
            #expect(try await phase(store, "forgotten") == .ended)
            for name in ["kept", "patient", "forever"] { #expect(try await phase(store, name) == .active, "\(name)") }
            let number = try #require(
                try await store.activity(Sample.bundleID, Sample.activityID("forgotten"))?.record.number)
            let last = try await store.latestHistory(of: number, limit: 1).first?.entries.first
            #expect(last?.kind == .ended && last?.reason == Reason(.nobodyEnded, "12 h"))
            _ = try await cleanUp.page(at: Sample.now + .seconds(100 * 3600))
            #expect(try await phase(store, "kept") == .ended)
            #expect(try await phase(store, "patient") == .ended)
            #expect(try await phase(store, "forever") == .active)
        }
    }

    @Test func `a type that ends its activities sooner is looked at sooner`() async throws {
        try await withStore { store in
            let hasty = Sample.type("hasty") { $0.endAfter = .seconds(3600) }
            let cleanUp = CleanUp(store: store, apps: [Sample.app(Sample.type(), hasty)], logger: LogRecorder().logger)
            try await put(store, "order", at: Sample.now)
            try await put(store, "hasty", type: hasty, at: Sample.now)
            #expect(try await !cleanUp.page(at: Sample.now + .seconds(3601)))
            #expect(try await phase(store, "hasty") == .ended)
            #expect(try await phase(store, "order") == .active)
        }
    }

    @Test func `what was set between the look and the end goes on`() async throws {
        try await withStore { store in
            let later = Sample.now + .seconds(13 * 3600)
            try await put(store, "a", at: Sample.now)
            try await put(store, "a", 2, at: later - .seconds(1))
            let end = EndIdleActivity(
                app: Sample.app(), id: Sample.activityID("a"), endAfter: .seconds(12 * 3600), now: later)
            #expect(try await store.commit(end) == .success(false))
            #expect(try await phase(store, "a") == .active)
        }
    }

    @Test func `running activities are walked through page by page, all of them in a round`() async throws {
        try await withStore { store in
            let cleanUp = CleanUp(store: store, apps: [Sample.app()], logger: LogRecorder().logger)
            for number in 0..<1100 { try await put(store, "a\(number)", at: Sample.now) }
            let later = Sample.now + .seconds(13 * 3600)
            // Half of the activities are still being set. They do not delay the others.
            for number in 0..<550 { try await put(store, "a\(number * 2)", 2, at: later) }
            var pages = 1
            while try await cleanUp.page(at: later) { pages += 1 }
            #expect(pages == 3)
            var filter = ActivityFilter(limit: 2000)
            filter.phase = .active
            #expect(try await store.activities(of: Sample.bundleID, filter).rows.count == 550)
        }
    }
}
