package import APNSModel
package import LiveActivityCore

/// The earliest times for which work waits, each `nil` if there is none.
package struct NextWork: Sendable, Equatable {
    /// Time of a lane; `nil` if every lane sleeps.
    package var lane: UnixTime?
    /// Time of an ordinary notification.
    package var notification: UnixTime?
    /// Conditions that lanes wait for.
    package var conditions: [LaneCondition]

    package init(lane: UnixTime?, notification: UnixTime?, conditions: [LaneCondition] = []) {
        self.lane = lane
        self.notification = notification
        self.conditions = conditions
    }

    package var earliest: UnixTime? { [lane, notification].compactMap { $0 }.min() }
}
