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
