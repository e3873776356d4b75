import APNSModel
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

/// The calls that list activities.
enum ListCalls {
    private static let standard = 100
    private static let maximum = 1000

    /// `GET /v1/activities`: returns an app's activities in the order of their creation or the newest first.
    ///
    /// They can be filtered by type, phase and user.
    @Sendable static func activities(_ call: Call) async throws(Problem) -> Answer {
        var filter = ActivityFilter(limit: try call.query.limit(default: standard, maximum: maximum))
        filter.type = try call.query["type"].map { (name) throws(Problem) in try call.type(name, pointer: nil).name }
        if let text = call.query["phase"] {
            guard let phase = ActivityRecord.Phase(rawValue: text) else {
                let list = ActivityRecord.Phase.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                throw Problem(.invalidQuery, "`phase` is one of \(list)", expected: "one of \(list)")
            }
            filter.phase = phase
        }
        if let text = call.query["user"] {
            do throws(ForeignIDError) { filter.user = try UserID(text) } catch {
                throw Problem(.invalidQuery, "`user`: \(error)", expected: "1 to 256 bytes without control characters")
            }
        }
        filter.isNewestFirst = try call.query.flag("newest")
        if let text = call.query["after"] {
            guard let number = ActivityNumber(text, radix: 36), number >= 0 else {
                throw Problem(.invalidQuery, "`after` is the `next` of an earlier answer")
            }
            filter.after = number
        }
        let wanted = filter
        let page = try await call.ask { () async throws(StorageError) in
            try await call.services.store.activities(of: call.app.bundleID, wanted)
        }
        return try Answer(
            ActivityList(
                activities: page.rows.map { ActivityList.Row($0) }, next: page.next.map { String($0, radix: 36) }))
    }
}

extension ActivityList.Row {
    fileprivate init(_ row: ActivityPage.Row) {
        let record = row.record
        self.init(
            activity: record.id.text, type: record.type, phase: record.phase.rawValue, run: record.run,
            revision: Int(record.revision), createdAt: record.run == 1 ? Instant(record.runStartedAt) : nil,
            updatedAt: Instant(record.changedAt), phones: row.phones)
    }
}
