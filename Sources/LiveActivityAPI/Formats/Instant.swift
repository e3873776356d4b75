import IsletBasics
import JSONText

/// A moment in the API, in whole milliseconds, from 1970 through 9999.
///
/// It is decoded from RFC 3339 text (`2026-03-01T12:00:00Z`, `2026-03-01T13:00:00.5+01:00`) or from a number of seconds
/// since 1970-01-01T00:00:00Z. It is encoded as RFC 3339 text in UTC. A finer fraction in text is cut to milliseconds,
/// in a number rounded.
public struct Instant: Sendable, Hashable, Comparable {
    /// The milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public let milliseconds: Int

    private static let range = 0..<253_402_300_800_000
    private static let expectation = "an RFC 3339 time with a zone or seconds since 1970"

    /// Creates the moment this many milliseconds after 1970-01-01T00:00:00Z.
    ///
    /// Returns `nil` if it is not within 1970 through 9999.
    public init?(milliseconds: Int) {
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// Creates the moment this many milliseconds after 1970-01-01T00:00:00Z, or the nearest one within 1970 through
    /// 9999.
    package init(clampingMilliseconds milliseconds: Int) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound - 1)
    }

    /// Creates the moment this many seconds after 1970-01-01T00:00:00Z, rounded to milliseconds.
    ///
    /// Returns `nil` if it is not within 1970 through 9999.
    public init?(seconds: Double) {
        guard seconds >= 0, seconds < 1e12 else { return nil }
        self.init(milliseconds: Int((seconds * 1_000).rounded()))
    }

    /// Creates a moment from RFC 3339 text. Returns `nil` if the text has another form or is not within 1970 through
    /// 9999.
    ///
    /// The zone is required. `T` and `Z` may be lower case, and a space may replace `T` (RFC 3339 section 5.6). A leap
    /// second, `23:59:60` in UTC, is read as the first moment of the next day.
    public init?(_ text: String) {
        var reader = DigitReader(text)
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), reader.take("Tt "), let hour = reader.digits(2), reader.take(":"),
            let minute = reader.digits(2), reader.take(":"), let second = reader.digits(2),
            let fraction = reader.fraction(), let offset = reader.zone(), reader.isAtEnd,
            let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - offset
        // Leap seconds are inserted only at the end of a day in UTC.
        guard second < 60 || seconds % 86_400 == 0 else { return nil }
        self.init(milliseconds: seconds * 1_000 + fraction)
    }

    /// The seconds since 1970-01-01T00:00:00Z, with the milliseconds as a fraction.
    public var seconds: Double { Double(milliseconds) / 1_000 }

    /// Returns `true` if the left moment is earlier.
    public static func < (left: Instant, right: Instant) -> Bool { left.milliseconds < right.milliseconds }
}

extension Instant: CustomStringConvertible {
    /// The moment as RFC 3339 text in UTC, with three decimals if there is a fraction.
    public var description: String {
        let (seconds, fraction) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let decimals = fraction == 0 ? "" : "." + fraction.padded(to: 3)
        return "\(CivilDate(daysSince1970: days))T\(time.clock)\(decimals)Z"
    }
}

extension Instant: Codable {
    /// Decodes a moment from RFC 3339 text, or from seconds since 1970.
    ///
    /// - Throws: `DecodingError` if the value has another form, or is not within 1970 through 9999.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string(let text):
            guard let instant = Instant(text) else { throw decoder.invalid(Self.expectation) }
            self = instant
        case .number(let number):
            guard let instant = Instant(seconds: number.double) else {
                throw decoder.invalid("\(Self.expectation) (not milliseconds), through the year 9999")
            }
            self = instant
        case .null, .bool, .array, .object: throw decoder.wrongType(Instant.self, Self.expectation)
        }
    }

    /// Encodes the moment as RFC 3339 text in UTC.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A reader of text that consists of numbers with fixed widths.
private struct DigitReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ choices: StaticString) -> Bool {
        guard let byte = rest.first, "\(choices)".utf8.contains(byte) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func digit() -> Int? {
        guard let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
        rest.removeFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    mutating func digits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads an optional fraction and returns its milliseconds. Returns `nil` for a point without digits.
    mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        guard var value = digit() else { return nil }
        var places = 1
        while let digit = digit() {
            if places < 3 { value = value * 10 + digit }
            places += 1
        }
        return places == 1 ? value * 100 : places == 2 ? value * 10 : value
    }

    /// Reads the zone and returns the seconds by which it is ahead of UTC.
    mutating func zone() -> Int? {
        if take("Zz") { return 0 }
        let sign = rest.first == UInt8(ascii: "-") ? -1 : 1
        guard take("+-"), let hours = digits(2), take(":"), let minutes = digits(2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 3_600 + minutes * 60)
    }
}
