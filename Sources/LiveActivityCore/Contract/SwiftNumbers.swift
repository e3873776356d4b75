import JSONText

/// Number conversions of Foundation's `JSONDecoder`.
enum SwiftNumbers {
    /// Returns the integer that the decoder reads; `nil` where it throws.
    ///
    /// 1. Plain digits are read exactly.
    /// 2. Other numbers are read through a double, so `5.0` and `1e3` are accepted.
    /// 3. Where doubles are too coarse to tell integers apart, numbers are read through `Decimal`. A fraction is
    ///    dropped if all digits together fit into 64 bits.
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

    /// Returns a double or float as JSON; `nil` if the number rounds to infinity, or to zero without being zero.
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

    /// Largest significand of a `Decimal`: 2^128 - 1.
    private static let largestSignificand = Array("340282366920938463463374607431768211455".utf8)
    private static let exponents = -128...127

    /// Returns the `Decimal` that the decoder reads. Digits beyond 128 bits are dropped. Returns `nil` if the exponent
    /// does not fit into 8 bits.
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

    /// Returns whether one number is less than another. The comparison is exact for 64-bit integers; other numbers are
    /// compared as doubles.
    static func precedes(_ left: JSONNumber, _ right: JSONNumber) -> Bool {
        guard let whole = left.int, let other = right.int else { return left.double < right.double }
        return whole < other
    }
}
