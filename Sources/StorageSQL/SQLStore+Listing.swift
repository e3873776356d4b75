package import APNSModel
import LiveActivityCore
package import LiveActivityStorage

extension SQLStore {
    package func activities(
        of app: BundleID, _ filter: ActivityFilter
    ) async throws(StorageError) -> ActivityPage {
        try await query { sql in
            let listing = ActivityListing(filter)
            let end = try sql.number(listing.end, listing.arguments(app, filter))
            var found: [ActivityNumber] = []
            try sql.query(listing.page, listing.arguments(app, filter, end: end)) { found.append($0.int()) }
            let page = found.prefix(filter.limit)
            var snapshot = Snapshot()
            try SnapshotLoader.fetchActivities(Set(page), sql, &snapshot)
            return ActivityPage(
                rows: page.compactMap { number in
                    snapshot.activities[number].map { record in
                        let lanes = snapshot.lanes[number] ?? []
                        return ActivityPage.Row(record: record, phones: lanes.reduce(0) { $0 + $1.counts.total })
                    }
                }, next: found.count > filter.limit ? page.last : end)
        }
    }
}

/// The statements for one page of a list of activities. Each follows an index in the order of the result.
struct ActivityListing {
    /// The index that the statements follow.
    private enum Way { case all, phase, user }

    private let way: Way
    private let isNewestFirst: Bool

    init(_ filter: ActivityFilter) {
        way = filter.user != nil ? .user : filter.phase != nil ? .phase : .all
        isNewestFirst = filter.isNewestFirst
    }

    /// Selects the last activity that one call examines. No row means that fewer activities remain.
    var end: String { "SELECT \(number) FROM \(source) \(order) LIMIT 1 OFFSET \(ActivityFilter.maximumExamined - 1)" }

    /// Selects the numbers of the activities that match the filter.
    var page: String {
        """
        SELECT \(number) FROM \(source) AND \(number) \(isNewestFirst ? ">=" : "<=") ?6
            AND a.app = ?2 AND (?3 = '' OR a.type = ?3) AND (?4 = '' OR a.phase = ?4)
        \(order) LIMIT ?7
        """
    }

    func arguments(
        _ app: BundleID, _ filter: ActivityFilter, end: ActivityNumber? = nil
    ) -> [Statements.Argument] {
        [
            .int(filter.after ?? (isNewestFirst ? .max : 0)), .text(app.text), .text(filter.type ?? ""),
            .text(filter.phase?.rawValue ?? ""), .text(filter.user?.text ?? ""),
            .int(end ?? (isNewestFirst ? 0 : .max)), .int(Int64(filter.limit + 1)),
        ]
    }

    private var number: String { way == .user ? "m.activity" : "a.no" }
    private var order: String { "ORDER BY \(number) \(isNewestFirst ? "DESC" : "ASC")" }

    /// The rows after the cursor. The index of ids also finds an app's activities, but they would need sorting.
    private var source: String {
        let behind = "\(number) \(isNewestFirst ? "<" : ">") ?1"
        return switch way {
        case .all: "activity a NOT INDEXED WHERE \(behind)"
        case .phase: "activity a INDEXED BY activity_by_phase WHERE a.app = ?2 AND a.phase = ?4 AND \(behind)"
        case .user:
            """
            member m CROSS JOIN activity a NOT INDEXED ON a.no = m.activity
            WHERE m.user = (SELECT no FROM user WHERE app = ?2 AND id = ?5) AND \(behind)
            """
        }
    }
}
