import JSONText

/// A duration in the API, in whole milliseconds, from 0 to 30 days.
///
/// It is decoded from text with a unit (`90s`, `5m`, `1h`, `2d`) or from a number of seconds. Whole seconds are encoded
/// as text (`90s`), other durations as a number of seconds.
public struct APIDuration: Sendable, Hashable, Comparable {
    /// The duration in milliseconds.
    public let milliseconds: Int

    private static let longest = 30 * 86_400_000
    private static let expectation =
        "a duration such as `90s`, `5m`, `1h`, `2d` or a number of seconds, at most 30 days"

    /// Creates a duration of this many milliseconds. Returns `nil` if it is negative or longer than 30 days.
    public init?(milliseconds: Int) {
        guard 0...Self.longest ~= milliseconds else { return nil }
        self.milliseconds = milliseconds
    }

    /// Creates a duration of this many whole seconds. Returns `nil` if it is negative or longer than 30 days.
    public init?(seconds: Int) {
        guard 0...Self.longest / 1_000 ~= seconds else { return nil }
        milliseconds = seconds * 1_000
    }

    /// Creates a duration from text such as `90s`, `5m`, `1h` or `2d`.
    ///
    /// Returns `nil` if the text has another form, or if the duration is longer than 30 days.
    public init?(_ text: String) {
        let unit: Int
        switch text.utf8.last {
        case UInt8(ascii: "s"): unit = 1
        case UInt8(ascii: "m"): unit = 60
        case UInt8(ascii: "h"): unit = 3_600
        case UInt8(ascii: "d"): unit = 86_400
        default: return nil
        }
        let digits = text.utf8.dropLast()
        // Seven digits hold every length up to the limit and cannot overflow.
        guard 1...7 ~= digits.count, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        guard let count = Int(Substring(digits)) else { return nil }
        self.init(seconds: count * unit)
    }

    /// The duration as a value of the standard library.
    public var duration: Duration { .milliseconds(milliseconds) }

    /// Returns `true` if the left duration is shorter.
    public static func < (left: APIDuration, right: APIDuration) -> Bool { left.milliseconds < right.milliseconds }
}

extension APIDuration: Codable {
    /// Decodes a duration from text with a unit, or from a number of seconds.
    ///
    /// - Throws: `DecodingError` if the value has another form, is negative, or is longer than 30 days.
    public init(from decoder: any Decoder) throws {
        let duration: APIDuration?
        switch try JSONValue(from: decoder) {
        case .string(let text): duration = APIDuration(text)
        case .number(let number):
            let milliseconds = number.double * 1_000
            // A negative fraction must not be rounded up to zero.
            let fits = milliseconds >= 0 && milliseconds <= Double(Self.longest)
            duration = fits ? APIDuration(milliseconds: Int(milliseconds.rounded())) : nil
        case .null, .bool, .array, .object: throw decoder.wrongType(APIDuration.self, Self.expectation)
        }
        guard let duration else { throw decoder.invalid(Self.expectation) }
        self = duration
    }

    /// Encodes whole seconds as text, and other durations as a number of seconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if milliseconds.isMultiple(of: 1_000) {
            try container.encode("\(milliseconds / 1_000)s")
        } else {
            try container.encode(Double(milliseconds) / 1_000)
        }
    }
}
