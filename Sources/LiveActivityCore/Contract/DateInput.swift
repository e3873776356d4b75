import IsletBasics
import JSONText

/// Meaning of a number that is given for a `Date`. Text is always read as an RFC 3339 time.
///
/// All forms are encoded as `Date` is decoded without a strategy: seconds since 2001-01-01T00:00:00Z.
enum DateInput: String, Sendable, CaseIterable {
    /// The form is chosen by size: the one in which the number is a date within `years`. No number is such a date in
    /// two forms.
    case any
    /// Seconds since 2001.
    case swift
    /// Seconds since 1970.
    case unix
    case unixMilliseconds
    /// Numbers are not accepted.
    case iso8601

    /// 2001-01-01T00:00:00Z in seconds since 1970.
    static let reference = 978_307_200
    /// Dates that `any` accepts: 2020-01-01 up to, but not including, 2051-01-01, in seconds since 1970.
    ///
    /// The range is 31 years long, and so is the time between the two epochs. Therefore the range in one form begins
    /// where it ends in the other.
    static let years = 1_577_836_800..<2_556_144_000

    var words: String {
        switch self {
        case .any: "Date (RFC 3339 text, or a number that is a time from 2020 through 2050)"
        case .swift: "Date (RFC 3339 text, or seconds since 2001-01-01)"
        case .unix: "Date (RFC 3339 text, or seconds since 1970-01-01)"
        case .unixMilliseconds: "Date (RFC 3339 text, or milliseconds since 1970-01-01)"
        case .iso8601: "Date (RFC 3339 text)"
        }
    }

    /// Returns the number that a phone decodes; `nil` if the value is not a date, or is ambiguous.
    func encoded(_ value: JSONValue) -> JSONNumber? {
        switch value {
        case .string(let text): Moment(text).flatMap(\.sinceReference)
        case .number(let number): encoded(number)
        case .null, .bool, .array, .object: nil
        }
    }

    private func encoded(_ number: JSONNumber) -> JSONNumber? {
        switch self {
        case .iso8601: return nil
        case .swift: return SwiftNumbers.floating(Double.self, number)
        case .unix: return Moment(number, decimals: 0)?.sinceReference
        case .unixMilliseconds: return Moment(number, decimals: 3)?.sinceReference
        case .any:
            let value = number.double
            let years = Double(Self.years.lowerBound)..<Double(Self.years.upperBound)
            if years.contains(value + Double(Self.reference)) { return DateInput.swift.encoded(number) }
            if years.contains(value) { return DateInput.unix.encoded(number) }
            return years.contains(value / 1000) ? DateInput.unixMilliseconds.encoded(number) : nil
        }
    }
}

/// Moment in time: whole seconds since 1970, and the digits of the fraction.
struct Moment: Equatable {
    let seconds: Int
    let fraction: String

    /// Maximum length of a date in bytes.
    private static let maximumLength = 64

    /// Creates a moment from a number of seconds since 1970, after moving its decimal point left by `decimals` places.
    ///
    /// `decimals` is 0 for seconds and 3 for milliseconds. Returns `nil` if the number is out of range.
    init?(_ number: JSONNumber, decimals: Int) {
        let text = number.canonicalText
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = Int(parts[0]), whole.magnitude < 1 << 52 else { return nil }
        var tail = parts.count > 1 ? String(parts[1]) : ""
        guard !text.hasPrefix("-") || (tail.isEmpty && whole % 1000 == 0) else {
            // Before 1970, seconds count downward and the fraction upward.
            let value = number.double / (decimals == 0 ? 1 : 1000)
            let floor = value.rounded(.down)
            let digits = "\(value - floor)".dropFirst(2)
            guard digits.allSatisfy(\.isNumber) else { return nil }
            seconds = Int(floor)
            fraction = String(digits)
            return
        }
        var seconds = whole
        if decimals > 0 {
            let rest = String(whole % 1000)
            tail = String(repeating: "0", count: max(0, 3 - rest.utf8.count)) + rest + tail
            seconds = whole / 1000
        }
        self.seconds = seconds
        fraction = tail
    }

    /// Creates a moment from an RFC 3339 time. The zone is required, and may omit its colon as ISO 8601 allows. Returns
    /// `nil` for other text.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumLength, bytes.count > 19 else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count, bytes[range].allSatisfy(Self.isDigit) else { return nil }
            return Int(String(decoding: bytes[range], as: UTF8.self))
        }
        func has(_ choices: String, at index: Int) -> Bool { choices.utf8.contains(bytes[index]) }
        guard let year = number(0..<4), has("-", at: 4), let month = number(5..<7), has("-", at: 7),
            let day = number(8..<10), has("Tt ", at: 10), let hour = number(11..<13), has(":", at: 13),
            let minute = number(14..<16), has(":", at: 16), let second = number(17..<19),
            let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var end = 19
        if has(".,", at: 19) {
            end = bytes[20...].firstIndex { !Self.isDigit($0) } ?? bytes.count
            guard end > 20 else { return nil }
        }
        let digits = String(decoding: bytes[19..<end].dropFirst(), as: UTF8.self)
        guard let offset = Self.zone(bytes[end...]) else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - offset
        // A leap second occurs only at the end of a UTC day, and is read as the first second of the next day.
        guard second < 60 || seconds % 86_400 == 0 else { return nil }
        self.seconds = seconds
        fraction = digits
    }

    /// Seconds since 2001, as `JSONEncoder` writes a `Date`.
    var sinceReference: JSONNumber? {
        let whole = Double(seconds - DateInput.reference)
        guard !fraction.isEmpty else { return JSONNumber(whole) }
        return Double("0." + fraction).flatMap { JSONNumber(whole + $0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func zone(_ bytes: ArraySlice<UInt8>) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        if text == "Z" || text == "z" { return 0 }
        guard let sign = text.first, "+-".contains(sign) else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        let isColonAtItsPlace = text.utf8.count == 5 || (text.utf8.count == 6 && text.dropFirst(3).first == ":")
        guard isColonAtItsPlace, digits.utf8.count == 4, digits.utf8.allSatisfy(isDigit), let value = Int(digits),
            value / 100 < 24, value % 100 < 60
        else { return nil }
        return (sign == "-" ? -1 : 1) * (value / 100 * 3_600 + value % 100 * 60)
    }
}
