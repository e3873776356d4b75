public import Foundation

/// The app's own type, as it stands in the app's source: a focus timer on the lock screen.
public struct FocusTimerAttributes: Codable, Hashable, Sendable {
    /// The half that changes. Its dates are `Date`: in JSON seconds since 2001, as a default `JSONEncoder` has it.
    public struct ContentState: Codable, Hashable, Sendable {
        /// When it would have begun if it had never been paused: the card counts from here.
        public var startedAt: Date
        /// Since when it is paused.
        public var pausedAt: Date?
        /// When it was over.
        public var endedAt: Date?

        /// The whole state: each push replaces all of the one before.
        public init(startedAt: Date, pausedAt: Date? = nil, endedAt: Date? = nil) {
            self.startedAt = startedAt
            self.pausedAt = pausedAt
            self.endedAt = endedAt
        }

        /// The seconds of focus until an instant: no pause counts.
        public func elapsed(at now: Date) -> TimeInterval {
            (endedAt ?? pausedAt ?? now).timeIntervalSince(startedAt)
        }
    }

    /// The session's id: by it the server finds the card again.
    public var sessionID: String
    /// What it is about.
    public var title: String
    /// Seconds of focus that it is for.
    public var length: Double

    /// What is fixed when the activity starts.
    public init(sessionID: String, title: String, length: Double) {
        self.sessionID = sessionID
        self.title = title
        self.length = length
    }
}

extension FocusTimerAttributes {
    /// The contract of this type, from `FocusTimer.json` beside it: what the server checks states against.
    public static var contract: [UInt8] { PackageResources.FocusTimer_json }
}
