import JSONText
import Testing

@Suite struct NumberTests {
    @Test(arguments: [
        ("5", "5"), ("5.0", "5"), ("5e0", "5"), ("0.5e1", "5"), ("50e-1", "5"), ("-0", "0"), ("0e999999999", "0"),
        ("-0.0e-5", "0"), ("1e3", "1000"), ("100000000000000000000", "100000000000000000000"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"), ("12e20", "1.2e+21"), ("1e22", "1e+22"), ("0.000001", "0.000001"), ("0.0000001", "1e-7"),
        ("-1.5", "-1.5"), ("-0.00120", "-0.0012"), ("1e999999999", "1e+999999999"), ("10e999999998", "1e+999999999"),
        ("123456789012345678901234567890", "1.2345678901234567890123456789e+29"), ("1E+2", "100"), ("12.340", "12.34"),
    ])
    func `equal numbers share one canonical text`(text: String, canonical: String) throws {
        let number = try #require(JSONNumber(text))
        #expect(number.canonicalText == canonical)
        let normal = try #require(JSONNumber(canonical))
        #expect(normal.canonicalText == canonical)
        #expect(number == normal)
        #expect(number.hashValue == normal.hashValue)
        #expect(number.text == text)
    }

    @Test(arguments: [
        "", "-", "01", "+1", "1.", ".1", "1e", "1e+", "0x1", "NaN", "1 ", " 1", "--1", "1e1234567890123456", "١",
    ])
    func `a text that is no number is refused`(text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test(
        arguments: [
            ("5", 5), ("5.0", 5), ("1e3", 1000), ("-0", 0), ("9223372036854775807", .max),
            ("-9223372036854775808", .min),
            ("9223372036854775808", nil), ("922337203685477580.7e1", .max), ("5.5", nil), ("1e999999999", nil),
            ("1e-999999999", nil), ("0e999999999", 0), ("1000e-3", 1), ("1e18", 1_000_000_000_000_000_000),
            ("1e19", nil),
        ] as [(String, Int?)])
    func `an integer is exact or nothing`(text: String, expected: Int?) throws {
        #expect(try #require(JSONNumber(text)).int == expected)
    }

    @Test func `doubles are written in their shortest form`() {
        #expect(JSONNumber(5.0)?.text == "5")
        #expect(JSONNumber(0.1)?.text == "0.1")
        #expect(JSONNumber(1e300)?.text == "1e+300")
        #expect(JSONNumber(Double.infinity) == nil)
        #expect(JSONNumber(Double.nan) == nil)
        #expect(JSONNumber("1e999999999")?.double == .infinity)
        #expect(JSONValue.number(JSONNumber(7)).double == 7)
        #expect((try? JSONValue(parsing: "1e400"))?.double == nil)
    }

    @Test func `numbers that differ beyond a double's precision are different`() throws {
        let one = try #require(JSONNumber("9007199254740993"))
        let other = try #require(JSONNumber("9007199254740992"))
        #expect(one != other)
        #expect(JSONNumber("1e999999999") != JSONNumber("1e999999998"))
    }
}
