public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

extension IsletClient {
    /// A rule for when a Live Activity that the app ends leaves the lock screen.
    public enum Dismissal: Sendable, Hashable {
        /// A time that iOS decides, at most four hours later.
        case systemDefault
        /// At once.
        case immediate
        /// At this date, at most four hours later. A date in the past means at once.
        case after(Date)

        var asOrdered: CardDismissal {
            switch self {
            case .systemDefault: .systemDefault
            case .immediate: .immediate
            // A date before 1970 is as good as at once, and one after 9999 as the system's default.
            case .after(let date):
                Instant(seconds: date.timeIntervalSince1970).map { .at($0) }
                    ?? (date.timeIntervalSince1970 < 0 ? .immediate : .systemDefault)
            }
        }
    }
}
