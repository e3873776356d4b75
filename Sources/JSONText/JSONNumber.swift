/// A number exactly as it was written, of any size and precision.
///
/// Equality is by value: `5`, `5.0`, `5e0` and `0.5e1` are one number, and `-0` is `0`. No operation takes longer than
/// reading the text, however large the exponent.
public struct JSONNumber: Sendable {
    /// Text of the number as it was written, always valid by RFC 8259 section 6.
    public let text: String

    /// Creates a number from its text, or `nil` if the text is not a number by RFC 8259 section 6.
    ///
    /// An exponent of more than 15 significant digits is also refused, so that exponents can be compared as integers.
    /// Section 9 of the RFC allows such limits.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard case .success(let end) = NumberGrammar.scan(bytes, from: 0), end == bytes.count else { return nil }
        self.text = text
    }

    /// Creates a number from an integer.
    public init(_ value: Int) {
        text = String(value)
    }

    /// Creates the shortest number that reads back as this double, or `nil` if the double is infinite or not a number.
    ///
    /// A whole value is written without `.0`, as Swift's `JSONEncoder` does.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let written = value.description
        text = written.hasSuffix(".0") ? String(written.dropLast(2)) : written
    }

    /// Creates a number from text that the parser has checked.
    init(checked text: String) {
        self.text = text
    }

    /// Canonical form that all equal numbers share, with the fewest digits.
    ///
    /// Numbers from 10⁻⁶ up to 21 digits before the decimal point are written without an exponent, others with one. The
    /// layout is that of RFC 8785 section 3.2.2.3, without its rounding to a double.
    public var canonicalText: String { Decimal(text).text }

    /// Exact integer of the number: `5`, `5.0` and `1e3`. `nil` for `5.5` and for integers that do not fit.
    public var int: Int? { integer(Int.self) }

    /// Nearest double; infinite for a number outside the range of a double.
    public var double: Double { Double(text) ?? .nan }

    /// Returns the exact integer in a type, or `nil` if the number has a fraction or does not fit.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        let decimal = Decimal(text)
        // Forty digits hold the largest integer type. A longer number cannot fit and must not be written out.
        guard decimal.point >= decimal.digits.count, decimal.point <= 40 else {
            return decimal.digits.isEmpty ? 0 : nil
        }
        return Integer(decimal.text.utf8.count <= 21 ? decimal.text : decimal.plainText)
    }
}

extension JSONNumber: Hashable {
    /// Returns `true` if both numbers have exactly the same value.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.text == right.text || Decimal(left.text) == Decimal(right.text)
    }

    /// Hashes the value, not the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Decimal(text))
    }
}

extension JSONNumber: CustomStringConvertible {
    /// Text of the number as it was written.
    public var description: String { text }
}

/// The parts of a number, `0.digits × 10^point`, without zeros at either end of the digits. Zero has no digits.
private struct Decimal: Hashable {
    private(set) var negative = false
    private(set) var digits: [UInt8] = []
    private(set) var point = 0

    init(_ text: String) {
        var fraction = false
        var bytes = text.utf8[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "-"): negative = true
            case UInt8(ascii: "."): fraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                // The exponent has at most 15 significant digits (see `NumberGrammar`), so neither it nor the sum
                // overflows.
                point += Int(Substring(bytes)) ?? 0
                bytes = bytes[bytes.endIndex...]
            default:
                if digits.isEmpty, byte == UInt8(ascii: "0") {
                    if fraction { point -= 1 }
                } else {
                    digits.append(byte)
                    if !fraction { point += 1 }
                }
            }
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        if digits.isEmpty {
            negative = false
            point = 0
        }
    }

    var text: String {
        guard !digits.isEmpty else { return "0" }
        guard (-5...21).contains(point) else { return scientificText }
        return plainText
    }

    /// Digits without an exponent. Only for a small `point`, because the text has that many zeros.
    var plainText: String {
        let sign = negative ? "-" : ""
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + digits[...].utf8Text }
        if point >= digits.count {
            return sign + digits[...].utf8Text + String(repeating: "0", count: point - digits.count)
        }
        return sign + digits[..<point].utf8Text + "." + digits[point...].utf8Text
    }

    private var scientificText: String {
        let fraction = digits.count == 1 ? "" : "." + digits[1...].utf8Text
        let exponent = point > 0 ? "+\(point - 1)" : "\(point - 1)"
        return (negative ? "-" : "") + digits[..<1].utf8Text + fraction + "e" + exponent
    }
}
