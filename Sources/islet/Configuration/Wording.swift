import LiveActivityAPI

/// Values in words, for people.
enum Wording {
    /// Returns a duration such as `90s`, `5m` or `1h`, as the configuration accepts it: in the largest unit that
    /// divides it.
    ///
    /// A duration with a fraction of a second is a number of seconds without a unit.
    static func duration(_ duration: Duration) -> String {
        let (whole, attoseconds) = duration.components
        guard attoseconds == 0 else {
            return "\(Double(whole) + Double(attoseconds) / 1e18)"
        }
        for (seconds, unit) in [(86_400, "d"), (3_600, "h"), (60, "m")] as [(Int64, String)]
        where whole >= seconds && whole.isMultiple(of: seconds) {
            return "\(whole / seconds)\(unit)"
        }
        return "\(whole)s"
    }

    /// Returns a size such as `12.3 MB`, in powers of ten.
    static func bytes(_ count: Int64) -> String {
        for (size, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] where Double(count) >= size {
            let tenths = (Double(count) / size * 10).rounded() / 10
            return "\(tenths) \(unit)"
        }
        return "\(count) bytes"
    }

    /// Returns the time since a moment, such as `12 s ago`.
    static func ago(_ moment: Instant, now: Instant) -> String {
        let seconds = max(0, (now.milliseconds - moment.milliseconds) / 1000)
        return "\(rough(seconds)) ago"
    }

    /// Returns a time such as `40 s`, `3 min`, `5 h` or `12 d`, rounded down. Each unit begins at two of it.
    static func rough(_ seconds: Int) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// Returns a bar for a share between 0 and 1. All its characters are full only if the share is 1.
    static func bar(_ share: Double, width: Int = 10) -> String {
        let full = min(width, max(0, Int(share * Double(width))))
        return String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
    }

    /// Returns `1 phone`, `2 phones`.
    static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }

    /// Returns permission bits as octal digits, such as `0640`.
    static func mode(_ mode: Int) -> String { "0" + String(mode & 0o7777, radix: 8) }
}
