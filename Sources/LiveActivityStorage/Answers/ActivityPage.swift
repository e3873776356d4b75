package import LiveActivityCore

/// Which activities to list.
package struct ActivityFilter: Sendable, Equatable {
    /// The most activities one call looks at, whether they fit or not.
    package static let maximumExamined = 10_000

    package var type: String?
    package var phase: ActivityRecord.Phase?
    /// Whose audience they have this person in.
    package var user: UserID?
    /// Those that were made last come first.
    package var isNewestFirst = false
    /// The page begins behind this one, in the order of the list; `nil`: with its first.
    package var after: ActivityNumber?
    package var limit: Int

    package init(limit: Int) { self.limit = limit }
}

/// One page of a list of activities.
package struct ActivityPage: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        package var record: ActivityRecord
        /// How many phones it is on.
        package var phones: Int

        package init(record: ActivityRecord, phones: Int) {
            self.record = record
            self.phones = phones
        }
    }

    package var rows: [Row]
    /// Where the next page begins; `nil`: this is the last.
    package var next: ActivityNumber?

    package init(rows: [Row], next: ActivityNumber?) {
        self.rows = rows
        self.next = next
    }
}

/// Activities of which something happened.
package struct RecentActivities: Sendable, Equatable {
    /// The rows of timelines that are looked at.
    package static let maximumRows = 200_000

    package var ids: [ActivityID]
    /// There are others.
    package var hasMore: Bool

    package init(ids: [ActivityID], hasMore: Bool) {
        self.ids = ids
        self.hasMore = hasMore
    }
}
