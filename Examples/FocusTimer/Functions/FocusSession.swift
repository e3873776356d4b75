public import Foundation

/// A person's focus timer: what it is, and the arithmetic of its pauses.
public struct FocusSession: Hashable, Sendable {
    /// The app's id of it.
    public let id: String
    /// Who may change it.
    public let owner: String
    /// What it is about.
    public let title: String
    /// Seconds of focus that it is for.
    public let length: TimeInterval
    /// What its card shows.
    public private(set) var state: FocusTimerAttributes.ContentState
    /// Grows with each change, so that one that comes late can be told.
    public private(set) var version = 1

    /// A timer that runs from `startedAt` on.
    public init(id: String, owner: String, title: String, length: TimeInterval, startedAt: Date) {
        self.id = id
        self.owner = owner
        self.title = title
        self.length = length
        state = FocusTimerAttributes.ContentState(startedAt: startedAt)
    }

    /// Whether it is over.
    public var isOver: Bool { state.endedAt != nil }

    /// Records the instant; pausing a timer that is paused changes nothing.
    public mutating func pause(at now: Date) {
        guard !isOver, state.pausedAt == nil else { return }
        state.pausedAt = now
        version += 1
    }

    /// Moves the start by the length of the pause, so that elapsed time never counts one; several add up.
    public mutating func resume(at now: Date) {
        guard !isOver, let pausedAt = state.pausedAt else { return }
        state.startedAt += now.timeIntervalSince(pausedAt)
        state.pausedAt = nil
        version += 1
    }

    /// Ends it; one that is paused ended when it was paused.
    public mutating func end(at now: Date) {
        guard !isOver else { return }
        state.endedAt = state.pausedAt ?? now
        state.pausedAt = nil
        version += 1
    }
}
