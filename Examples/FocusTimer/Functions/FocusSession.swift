public import Foundation

/// A person's focus timer and the arithmetic of its pauses.
public struct FocusSession: Hashable, Sendable {
    /// The app's id of the timer.
    public let id: String
    /// The person who may change the timer.
    public let owner: String
    /// The subject of the timer.
    public let title: String
    /// Planned seconds of focus.
    public let length: TimeInterval
    /// The content state of the timer's card.
    public private(set) var state: FocusTimerAttributes.ContentState
    /// A number that grows with each change, so that late calls can be recognized.
    public private(set) var version = 1

    /// Creates a timer that runs from `startedAt` on.
    public init(id: String, owner: String, title: String, length: TimeInterval, startedAt: Date) {
        self.id = id
        self.owner = owner
        self.title = title
        self.length = length
        state = FocusTimerAttributes.ContentState(startedAt: startedAt)
    }

    /// `true` if the timer is over.
    public var isOver: Bool { state.endedAt != nil }

    /// Pauses the timer and records the time. Pausing a paused timer changes nothing.
    public mutating func pause(at now: Date) {
        guard !isOver, state.pausedAt == nil else { return }
        state.pausedAt = now
        version += 1
    }

    /// Resumes the timer. It moves the start by the length of the pause, so that elapsed time never counts pauses.
    /// Several pauses add up.
    public mutating func resume(at now: Date) {
        guard !isOver, let pausedAt = state.pausedAt else { return }
        state.startedAt += now.timeIntervalSince(pausedAt)
        state.pausedAt = nil
        version += 1
    }

    /// Ends the timer. A paused timer ended when it was paused.
    public mutating func end(at now: Date) {
        guard !isOver else { return }
        state.endedAt = state.pausedAt ?? now
        state.pausedAt = nil
        version += 1
    }
}
