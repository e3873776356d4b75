package import APNSModel

/// The earliest times for which work waits, each `nil` if there is none.
package struct NextWork: Sendable, Equatable {
    /// Time of a lane; `nil` if every lane sleeps.
    package var lane: UnixTime?
    /// Time of an ordinary notification.
    package var notification: UnixTime?

    package init(lane: UnixTime?, notification: UnixTime?) {
        self.lane = lane
        self.notification = notification
    }

    package var earliest: UnixTime? { [lane, notification].compactMap { $0 }.min() }
}
