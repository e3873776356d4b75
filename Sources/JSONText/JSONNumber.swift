/// A number exactly as it was written, of any size and precision.
///
/// Equality is by value: `5`, `5.0`, `5e0` and `0.5e1` are one number, and `-0` is `0`. No operation takes longer than
/// reading the text, whatever the exponent.
public struct JSONNumber: Sendable {
    /// The number as it was written; always valid by RFC 8259 section 6.
    public let text: String

    /// The number that a text writes, or nil when the text is not a number by RFC 8259 section 6.
    ///
    /// An exponent of more than 15 significant digits is refused too, as section 9 of the RFC allows, so that exponents
    /// can be compared as integers.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard case .success(let end) = NumberGrammar.scan(bytes, from: 0), end == bytes.count else { return nil }
        self.text = text
    }

    /// The number for an integer.
    public init(_ value: Int) {
        text = String(value)
    }

    /// The shortest number that reads back as this double, or nil when it is infinite or not a number.
    ///
    /// A whole value is written without `.0`, as Swift's `JSONEncoder` does.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let written = value.description
        text = written.hasSuffix(".0") ? String(written.dropLast(2)) : written
    }

    /// A number whose text the parser has checked.
    init(checked text: String) {
        self.text = text
    }

    /// The one form that all equal numbers share: shortest digits, plain up to 21 digits, else with an exponent.
    ///
    /// It is the layout of RFC 8785 section 3.2.2.3, without its rounding to a double.
    public var canonicalText: String { Decimal(text).text }

    /// The exact integer, when the number is one and fits: `5`, `5.0` and `1e3`, not `5.5`.
    public var int: Int? { integer(Int.self) }

    /// The nearest double; infinite when the number is beyond the range of a double.
    public var double: Double { Double(text) ?? .nan }

    /// The exact integer of some type, when the number is one and fits.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        let decimal = Decimal(text)
        // Forty digits hold the largest integer type there is; more cannot fit and must not be written out.
        guard decimal.point >= decimal.digits.count, decimal.point <= 40 else {
            return decimal.digits.isEmpty ? 0 : nil
        }
        return Integer(decimal.text.utf8.count <= 21 ? decimal.text : decimal.plainText)
    }
}

extension JSONNumber: Hashable {
    /// Whether both have the same value, exactly.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.text == right.text || Decimal(left.text) == Decimal(right.text)
    }

    /// Hashes the value, not the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Decimal(text))
    }
}

extension JSONNumber: CustomStringConvertible {
    /// The number as it was written.
    public var description: String { text }
}

/// A number taken apart: `0.digits × 10^point`, without zeros at either end of the digits; zero has no digits.
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
                // At most 15 significant digits (NumberGrammar), so neither this nor the sum overflows.
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

    /// The digits written out; only for a point within reach.
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
