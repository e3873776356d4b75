package import LiveActivityCore

/// Page of a list of activities.
package struct ActivityPage: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        package var record: ActivityRecord
        /// Number of the activity's phones.
        package var phones: Int

        package init(record: ActivityRecord, phones: Int) {
            self.record = record
            self.phones = phones
        }
    }

    package var rows: [Row]
    /// Cursor of the next page; `nil` if this is the last page.
    package var next: ActivityNumber?

    package init(rows: [Row], next: ActivityNumber?) {
        self.rows = rows
        self.next = next
    }
}

/// Activities on which something happened.
package struct RecentActivities: Sendable, Equatable {
    /// Maximum number of timeline rows that are searched.
    package static let maximumRows = 200_000

    package var ids: [ActivityID]
    /// `true` if there are more activities.
    package var hasMore: Bool

    package init(ids: [ActivityID], hasMore: Bool) {
        self.ids = ids
        self.hasMore = hasMore
    }
}
