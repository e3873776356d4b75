import JSONText

/// A length of time of the API, to the millisecond, from nothing to 30 days.
///
/// It is read from text with a unit (`90s`, `5m`, `1h`, `2d`) or from a number of seconds; whole seconds are written as
/// text (`90s`), others as a number.
public struct APIDuration: Sendable, Hashable, Comparable {
    /// The length in milliseconds.
    public let milliseconds: Int

    private static let longest = 30 * 86_400_000
    private static let expectation =
        "a duration such as `90s`, `5m`, `1h`, `2d` or a number of seconds, at most 30 days"

    /// So many milliseconds, or nil when they are negative or more than 30 days.
    public init?(milliseconds: Int) {
        guard 0...Self.longest ~= milliseconds else { return nil }
        self.milliseconds = milliseconds
    }

    /// So many whole seconds, or nil when they are negative or more than 30 days.
    public init?(seconds: Int) {
        guard 0...Self.longest / 1_000 ~= seconds else { return nil }
        milliseconds = seconds * 1_000
    }

    /// The length that a text such as `90s`, `5m`, `1h` or `2d` names, or nil when it is none or more than 30 days.
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

    /// The same length as the standard library's type.
    public var duration: Duration { .milliseconds(milliseconds) }

    /// Whether one length is shorter than another.
    public static func < (left: APIDuration, right: APIDuration) -> Bool { left.milliseconds < right.milliseconds }
}

extension APIDuration: Codable {
    /// A length from text with a unit or from a number of seconds.
    public init(from decoder: any Decoder) throws {
        let duration: APIDuration?
        switch try JSONValue(from: decoder) {
        case .string(let text): duration = APIDuration(text)
        case .number(let number):
            let milliseconds = number.double * 1_000
            // A negative fraction must not be rounded up to nothing.
            let fits = milliseconds >= 0 && milliseconds <= Double(Self.longest)
            duration = fits ? APIDuration(milliseconds: Int(milliseconds.rounded())) : nil
        case .null, .bool, .array, .object: throw decoder.wrongType(APIDuration.self, Self.expectation)
        }
        guard let duration else { throw decoder.invalid(Self.expectation) }
        self = duration
    }

    /// Writes whole seconds as text and others as a number of seconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if milliseconds.isMultiple(of: 1_000) {
            try container.encode("\(milliseconds / 1_000)s")
        } else {
            try container.encode(Double(milliseconds) / 1_000)
        }
    }
}
