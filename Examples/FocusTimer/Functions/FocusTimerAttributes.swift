public import Foundation

/// The app's own type, as in the app's source: a focus timer on the lock screen.
public struct FocusTimerAttributes: Codable, Hashable, Sendable {
    /// The part that changes. Its dates are `Date`: seconds since 2001 in JSON, as a default `JSONEncoder` writes them.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The time at which the timer would have begun without pauses. The card counts from here.
        public var startedAt: Date
        /// The beginning of the present pause.
        public var pausedAt: Date?
        /// The end of the timer.
        public var endedAt: Date?

        /// Creates the whole state. Each push replaces everything of the previous one.
        public init(startedAt: Date, pausedAt: Date? = nil, endedAt: Date? = nil) {
            self.startedAt = startedAt
            self.pausedAt = pausedAt
            self.endedAt = endedAt
        }

        /// Returns the seconds of focus until a date, without pauses.
        public func elapsed(at now: Date) -> TimeInterval {
            (endedAt ?? pausedAt ?? now).timeIntervalSince(startedAt)
        }
    }

    /// The session's id. The server finds the card by it.
    public var sessionID: String
    /// The subject of the timer.
    public var title: String
    /// Planned seconds of focus.
    public var length: Double

    /// Creates the part that is fixed when the activity starts.
    public init(sessionID: String, title: String, length: Double) {
        self.sessionID = sessionID
        self.title = title
        self.length = length
    }
}

extension FocusTimerAttributes {
    /// The contract of this type, from `FocusTimer.json` beside this file. The server checks states against it.
    public static var contract: [UInt8] { PackageResources.FocusTimer_json }
}
