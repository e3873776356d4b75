/// Grammar of numbers (RFC 8259 section 6), for the parser and ``JSONNumber``.
enum NumberGrammar {
    /// The place and reason at which a text stops being a number.
    struct Problem: Error {
        let offset: Int
        let detail: String
    }

    /// Maximum number of digits in an exponent, so that exponents can be calculated as integers.
    private static let exponentDigits = 15

    /// Returns the end of the number that begins at `start`.
    static func scan(_ bytes: [UInt8], from start: Int) -> Result<Int, Problem> {
        var offset = start
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "-") { offset += 1 }
        let integer = offset
        offset = skipDigits(bytes, from: offset)
        guard offset > integer else {
            return .failure(Problem(offset: offset, detail: "a number needs a digit here"))
        }
        if bytes[integer] == UInt8(ascii: "0"), offset > integer + 1 {
            return .failure(Problem(offset: integer, detail: "a number must not start with a zero"))
        }
        if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
            let fraction = offset + 1
            offset = skipDigits(bytes, from: fraction)
            guard offset > fraction else {
                return .failure(Problem(offset: offset, detail: "a digit must follow the decimal point"))
            }
        }
        guard offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") else { return .success(offset) }
        return exponent(bytes, from: offset + 1)
    }

    private static func exponent(_ bytes: [UInt8], from start: Int) -> Result<Int, Problem> {
        var offset = start
        if offset < bytes.count, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") {
            offset += 1
        }
        let digits = offset
        offset = skipDigits(bytes, from: digits)
        guard offset > digits else {
            return .failure(Problem(offset: offset, detail: "a digit must follow the exponent sign `e`"))
        }
        guard bytes[digits..<offset].drop(while: { $0 == UInt8(ascii: "0") }).count <= exponentDigits else {
            return .failure(Problem(offset: digits, detail: "the exponent has more than \(exponentDigits) digits"))
        }
        return .success(offset)
    }

    private static func skipDigits(_ bytes: [UInt8], from start: Int) -> Int {
        var offset = start
        while offset < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[offset] { offset += 1 }
        return offset
    }
}
