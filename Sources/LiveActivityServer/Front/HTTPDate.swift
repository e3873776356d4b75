import APNSModel
import Synchronization

/// The `Date` of answers (RFC 9110 section 5.6.7), written once a second.
final class HTTPDate: Sendable {
    private let newest = Mutex<(second: Int64, text: String)>((-1, ""))

    func text(at time: UnixTime) -> String {
        let second = time.seconds
        return newest.withLock { newest in
            if newest.second != second { newest = (second, Self.write(second)) }
            return newest.text
        }
    }

    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, from seconds since 1970.
    static func write(_ seconds: Int64) -> String {
        let day = max(seconds, 0) / 86_400
        let time = max(seconds, 0) % 86_400
        // Howard Hinnant's `civil_from_days`.
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let clock = [time / 3_600, time / 60 % 60, time % 60].map(padded).joined(separator: ":")
        return "\(days[Int(day % 7)]), \(padded(dayOfMonth)) \(months[Int(month - 1)]) \(year) \(clock) GMT"
    }

    private static func padded(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
