import JSONText

/// What Foundation's `JSONDecoder` makes of numbers.
enum SwiftNumbers {
    /// An integer: digits as they are; else by way of a double, so that `5.0` and `1e3` pass; and where doubles are too
    /// coarse to tell integers apart, by way of `Decimal`: a fraction is cut if all digits together fit into 64 bits.
    static func integer<Value: FixedWidthInteger>(_ type: Value.Type, _ number: JSONNumber) -> Value? {
        if let value = Value(number.text) { return value }
        let double = number.double
        guard double.isFinite, let value = Value(exactly: double) else { return nil }
        guard double.magnitude >= 0x1p53 else { return value }
        guard let text = decimal(number)?.canonicalText else { return nil }
        let digits = text.filter { $0 != "-" && $0 != "." }
        guard !text.contains(".") || UInt64(digits) != nil else { return nil }
        return Value(text.prefix { $0 != "." })
    }

    /// A double or float as JSON; what rounds to infinity, or to zero without being it, is refused.
    static func floating<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: Value.Type, _ number: JSONNumber
    ) -> JSONNumber? {
        guard let value = Value(number.text), value.isFinite, value != 0 || isZero(number) else { return nil }
        let text = value.description
        return JSONNumber(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }

    private static func isZero(_ number: JSONNumber) -> Bool {
        !number.text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
            .contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }
    }

    /// The largest significand of a `Decimal`, 2^128 - 1.
    private static let largestSignificand = Array("340282366920938463463374607431768211455".utf8)
    private static let exponents = -128...127

    /// A `Decimal`: digits that do not fit into 128 bits are cut, an exponent that does not fit into 8 is refused.
    static func decimal(_ number: JSONNumber) -> JSONNumber? {
        let parts = number.text.utf8.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        var digits: [UInt8] = []
        var exponent = 0
        var isInFraction = false
        var isFull = false
        for byte in parts[0] where byte != UInt8(ascii: "-") {
            if byte == UInt8(ascii: ".") {
                isInFraction = true
                continue
            }
            let longer = digits.isEmpty && byte == UInt8(ascii: "0") ? [] : digits + [byte]
            isFull = isFull || !fits(longer)
            if !isFull { digits = longer }
            if isFull, !isInFraction { exponent += 1 }
            if !isFull, isInFraction { exponent -= 1 }
            guard exponents.contains(exponent) else { return nil }
        }
        if parts.count > 1 {
            guard let written = Int(Substring(parts[1])), written.magnitude <= 254 else { return nil }
            exponent += written
            guard exponents.contains(exponent) else { return nil }
        }
        guard !digits.isEmpty else { return JSONNumber(0) }
        let sign = number.text.hasPrefix("-") ? "-" : ""
        let text = String(decoding: digits, as: UTF8.self)
        return JSONNumber("\(sign)\(text)e\(exponent)").flatMap { JSONNumber($0.canonicalText) }
    }

    private static func fits(_ digits: [UInt8]) -> Bool {
        guard digits.count == largestSignificand.count else { return digits.count < largestSignificand.count }
        return !largestSignificand.lexicographicallyPrecedes(digits)
    }

    /// Whether one number is less than another; exact for integers of 64 bits, else as doubles.
    static func precedes(_ left: JSONNumber, _ right: JSONNumber) -> Bool {
        guard let whole = left.int, let other = right.int else { return left.double < right.double }
        return whole < other
    }
}
