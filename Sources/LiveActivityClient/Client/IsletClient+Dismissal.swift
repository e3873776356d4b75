public import Foundation
internal import LiveActivityAPI
internal import LiveActivityRegistration

extension IsletClient {
    /// When a Live Activity that the app ends leaves the lock screen.
    public enum Dismissal: Sendable, Hashable {
        /// When iOS likes, four hours later at most.
        case systemDefault
        /// At once.
        case immediate
        /// At that time, in the past at once; four hours later at most.
        case after(Date)

        var asOrdered: CardDismissal {
            switch self {
            case .systemDefault: .systemDefault
            case .immediate: .immediate
            // Before 1970 and after 9999 are as good as at once and as iOS likes.
            case .after(let date):
                Instant(seconds: date.timeIntervalSince1970).map { .at($0) }
                    ?? (date.timeIntervalSince1970 < 0 ? .immediate : .systemDefault)
            }
        }
    }
}
