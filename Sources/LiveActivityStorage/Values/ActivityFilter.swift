package import LiveActivityCore

/// Selection of the activities to list.
package struct ActivityFilter: Sendable, Equatable {
    /// Maximum number of activities that one call examines, whether they match or not.
    package static let maximumExamined = 10_000

    package var type: String?
    package var phase: ActivityRecord.Phase?
    /// Person who must be in the audience.
    package var user: UserID?
    /// `true` to list the activities that were created last first.
    package var isNewestFirst = false
    /// Activity after which the page begins, in the order of the list; `nil` to begin with the first.
    package var after: ActivityNumber?
    package var limit: Int

    package init(limit: Int) { self.limit = limit }
}
