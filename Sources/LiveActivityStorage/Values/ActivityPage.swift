package import LiveActivityCore

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
