import Foundation
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct ContractDateTests {
    private static func contract(_ input: String? = nil) throws -> Contract {
        let hint = input.map { #"{"type": "Date", "input": "\#($0)"}"# } ?? #""Date""#
        return try ContractMessageTests.contract(#"{"type": "number", "x-swift": \#(hint)}"#)
    }

    private static func sent(_ value: String, _ input: String? = nil) throws -> JSONValue? {
        try contract(input).encodedState(["v": JSONValue(parsing: value)], from: .given)["v"]
    }

    @Test(arguments: [
        #""2026-03-01T12:00:00Z""#, #""2026-03-01t12:00:00z""#, #""2026-03-01T13:00:00+01:00""#,
        #""2026-03-01T13:00:00+0100""#, #""2026-03-01 06:30:00.000-05:30""#, "1772366400", "1772366400.0",
        "1.7723664e9", "1772366400000", "794059200", "7940592e2",
    ])
    func `one moment leaves in one form, whatever form it came in`(given: String) throws {
        #expect(try Self.sent(given)?.text == "794059200")
    }

    @Test(arguments: [
        ("iso8601", #""2026-03-01T12:00:00.123Z""#), ("unix", "1772366400.123"), ("unixMilliseconds", "1772366400123"),
        ("swift", "794059200.123"),
    ])
    func `a fraction survives, and is the same in every form`(input: String, given: String) throws {
        #expect(try Self.sent(given, input)?.text == "794059200.123")
        if input != "iso8601" { #expect(try Self.sent(given)?.text == "794059200.123") }
    }

    @Test(arguments: [
        ("swift", "0", "0"), ("swift", "-63114076800", "-63114076800"), ("unix", "0", "-978307200"),
        ("unix", "-1.5", "-978307201.5"), ("unixMilliseconds", "1500", "-978307198.5"),
        ("unixMilliseconds", "-1500", "-978307201.5"), ("unix", "2556144000", "1577836800"),
        ("swift", #""1999-12-31T23:59:59Z""#, "-31622401"), ("unix", #""2016-12-31T23:59:60Z""#, "504921600"),
    ])
    func `what the contract says about numbers holds for every number`(
        input: String, given: String, sent: String
    ) throws {
        #expect(try Self.sent(given, input)?.text == sent)
    }

    /// The two epochs are 31 years apart. Plain numbers are taken for dates within a range of the same length.
    @Test func `a number without a hint is never a date in two forms`() throws {
        var dice = SeededDice(seed: 7)
        let first = 1_577_836_800
        let last = 2_556_143_999
        for number in 0..<2_000 {
            let unix = number == 0 ? first : number == 1 ? last : Int.random(in: first...last, using: &dice)
            let swift = unix - 978_307_200
            for form in ["\(unix)", "\(unix)000", "\(swift)"] {
                #expect(try Self.sent(form)?.text == "\(swift)", "\(form) of \(unix), seed 7")
            }
        }
        for outside in [first - 978_307_200 - 1, last + 1] {
            #expect(throws: ContractViolation.self) { try Self.sent("\(outside)") }
        }
        #expect(throws: ContractViolation.self) { try Self.sent("\(first - 1)000") }
    }

    @Test func `the sent number is the one that Foundation means`() throws {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        var dice = SeededDice(seed: 11)
        for _ in 0..<1_000 {
            // From 1583 on, because Foundation uses the Julian calendar before that.
            let seconds = Int.random(in: -12_200_000_000...250_000_000_000, using: &dice)
            let date = Date(timeIntervalSince1970: Double(seconds))
            let text = formatter.string(from: date)
            #expect(
                try Self.sent("\"\(text)\"")?.double == date.timeIntervalSinceReferenceDate, "\(text), seed 11")
        }
    }

    @Test func `what is stored is not taken for Unix time when a patch leaves it alone`() throws {
        let contract = try Contract(
            JSONValue(
                parsing: ##"""
                    {"attributesType": "A", "contentState": {"type": "object", "properties": {
                      "from": {"$ref": "#/$defs/D"}, "to": {"$ref": "#/$defs/D"},
                      "leg": {"type": "object", "properties": {
                       "from": {"$ref": "#/$defs/D"}, "to": {"$ref": "#/$defs/D"}}},
                      "all": {"type": "array", "items": {"$ref": "#/$defs/D"}}},
                      "$defs": {"D": {"type": "number", "x-swift": {"type": "Date", "input": "unix"}}}}}
                    """##))
        let given = try #require(
            JSONValue(
                parsing: """
                    {"from": 1772366400, "to": 1772366500, "leg": {"from": 1772366400, "to": 1772366500},
                     "all": [1772366400]}
                    """
            ).object)
        let stored = try contract.encodedState(given, from: .given)
        #expect(stored["from"] == 794_059_200)
        let patch = try #require(
            JSONValue(parsing: #"{"to": 1772366600, "leg": {"to": "2026-03-01T12:03:20Z"}, "all": [1772366500]}"#)
                .object)
        let merged = try contract.encodedState(stored.merged(with: patch), from: .merged(patch))
        #expect(
            JSONValue.object(merged)
                == [
                    "from": 794_059_200, "to": 794_059_400, "leg": ["from": 794_059_200, "to": 794_059_400],
                    "all": [794_059_300],
                ])
    }

    @Test func `what is stored is a number, of any size`() throws {
        let contract = try Self.contract("unix")
        #expect(try contract.encodedState(["v": 0], from: .stored) == ["v": 0])
        #expect(throws: ContractViolation.self) {
            try contract.encodedState(["v": "2026-03-01T12:00:00Z"], from: .stored)
        }
    }
}
