import APNSModel
import LiveActivityCore
import LiveActivityStorage
import TestSupport

@testable import StorageSQL

/// Steps of the tests of clean-up: what they put into a store, and how they run it.
enum Erasing {
    /// Adds an activity with the given phones. Each has a card and an update token.
    static func fill(
        _ store: SQLStore, _ name: String, phones: Int, from first: Int = 1, at now: UnixTime = Sample.now
    ) async throws {
        let app = Sample.app()
        for index in first..<first + phones {
            var body = RegisterDevice.Body(user: Sample.user("u\(index)"))
            body.osVersion = OSVersion(18, 0)
            _ = try await store.commit(
                RegisterDevice(
                    app: app, id: Sample.device("d\(index)"), body: body, now: now, freshKey: DeviceKey(index))
            ).get()
            var report = CardReport(localID: Sample.local("\(name)-\(index)"), type: Sample.type(), state: .active)
            report.activity = Sample.activityID(name)
            report.token = Sample.token("\(name)-\(index)")
            _ = try await store.commit(
                ReportCard(app: app, device: Sample.device("d\(index)"), report: report, now: now)
            ).get()
        }
        var body = SetDesiredState.Body(state: Sample.state(1))
        body.users = (first..<first + phones).map { Sample.user("u\($0)") }
        _ = try await store.commit(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID(name), type: Sample.type(), body: body, now: now)
        ).get()
    }

    static func end(_ store: SQLStore, _ name: String, at now: UnixTime = Sample.now) async throws {
        _ = try await store.commit(
            EndActivity(
                app: Sample.app(), id: Sample.activityID(name), state: nil, alert: nil, dismissal: .systemDefault,
                now: now)
        ).get()
    }

    /// Erases until nothing is left to erase. Returns the number of pages.
    @discardableResult
    static func prune(
        _ store: SQLStore, at now: UnixTime, rows: Int = 1000, _ change: (inout PruneLimits) -> Void = { _ in }
    ) async throws -> Int {
        var limits = PruneLimits()
        limits.rows = rows
        change(&limits)
        for page in 1...10_000 where try await !store.prune(limits, at: now) { return page }
        throw Pair.Difference(description: "there is always more to erase")
    }
}
