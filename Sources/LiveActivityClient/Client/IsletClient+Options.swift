public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

extension IsletClient {
    /// What iOS tells the person when a Live Activity changes or begins: it lights up the screen and expands the
    /// Dynamic Island.
    public struct Alert: Sendable, Hashable {
        /// On an Apple Watch the title; a key of the app's strings, or the text itself.
        public var title: String
        /// On an Apple Watch the text below; a key of the app's strings, or the text itself.
        public var body: String
        /// The name of a sound file in the app; `nil`: the system's sound.
        public var sound: String?

        /// An alert.
        public init(title: String, body: String, sound: String? = nil) {
            self.title = title
            self.body = body
            self.sound = sound
        }

        var asOrdered: CardAlert { CardAlert(title: title, body: body, sound: sound) }
    }

    /// How long a Live Activity that the app starts stays.
    public enum Style: Sendable, Hashable {
        /// Until it is ended.
        case standard
        /// Expanded in the Dynamic Island, until the person locks the phone or turns to something else. Before iOS 18
        /// it is `standard`.
        case transient
    }

    /// When iOS is to show a Live Activity that the app starts: at that date, though the app may not run then.
    public struct Schedule: Sendable, Hashable {
        /// When it begins; one that has passed is at once.
        public var date: Date
        /// What the person is told then; iOS insists on it.
        public var alert: Alert

        /// A beginning; iOS 26.
        public init(date: Date, alert: Alert) {
            self.date = date
            self.alert = alert
        }

        /// - Throws: `ActivityError.unencodable` where no message can say the date: it would be dropped, and iOS would
        ///   show the activity at once.
        func ordered() throws(ActivityError) -> CardOrder.Schedule {
            // In seconds: to print a date that is no number ends the process.
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
