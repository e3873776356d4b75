public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

extension IsletClient {
    /// An alert of a Live Activity that changes or begins. It lights up the screen and expands the Dynamic Island.
    public struct Alert: Sendable, Hashable {
        /// The title on an Apple Watch: a key of the app's strings, or the text itself.
        public var title: String
        /// The text below the title on an Apple Watch: a key of the app's strings, or the text itself.
        public var body: String
        /// The name of a sound file in the app, or `nil` for the system's sound.
        public var sound: String?

        /// Creates an alert.
        public init(title: String, body: String, sound: String? = nil) {
            self.title = title
            self.body = body
            self.sound = sound
        }

        var asOrdered: CardAlert { CardAlert(title: title, body: body, sound: sound) }
    }

    /// A rule for how long a Live Activity that the app starts stays.
    public enum Style: Sendable, Hashable {
        /// Until it is ended.
        case standard
        /// Expanded in the Dynamic Island, until the person locks the phone or turns to something else. Before iOS 18
        /// it is the same as `standard`.
        case transient
    }

    /// The date at which iOS shows a Live Activity that the app starts. The app need not run then.
    public struct Schedule: Sendable, Hashable {
        /// The date of the beginning. A date in the past means at once.
        public var date: Date
        /// The alert at the beginning, which iOS requires.
        public var alert: Alert

        /// Creates a schedule (iOS 26).
        public init(date: Date, alert: Alert) {
            self.date = date
            self.alert = alert
        }

        /// Converts the schedule.
        ///
        /// - Throws: `ActivityError.unencodable` if the date cannot be written in a message. It would otherwise be
        ///   dropped, and iOS would show the Live Activity at once.
        func ordered() throws(ActivityError) -> CardOrder.Schedule {
            // The error names seconds, because printing a date that is not a number ends the process.
            let seconds = date.timeIntervalSince1970
            guard let at = Instant(seconds: seconds) else {
                let context = EncodingError.Context(
                    codingPath: [], debugDescription: "the date is not within 1970 through 9999")
                throw .unencodable(EncodingError.invalidValue(seconds, context))
            }
            return .init(at: at, alert: alert.asOrdered)
        }
    }
}
