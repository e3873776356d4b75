/// Clock of a process. It sleeps until the history's time has reached the deadline.
struct VirtualClock: Clock {
    struct Instant: InstantProtocol {
        let offset: Duration
        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    let node: Node

    var now: Instant { Instant(offset: .milliseconds(node.world.now)) }
    var minimumResolution: Duration { .milliseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        // Rounds up to whole milliseconds, so that it never wakes early.
        let (seconds, rest) = deadline.offset.components
        try await node.rest(until: seconds * 1000 + (rest + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
