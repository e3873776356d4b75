import JSONText
import LiveActivityCore
import Testing

/// Tests of the messages about values that do not fit, with a contract of one member `v`.
struct ContractMessageTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let schema: String
        let value: String?
        let expected: String
        let given: String?
        let fix: String?
        var pointer = "/v"

        init(
            _ schema: String, _ value: String?, _ expected: String, _ given: String?, _ fix: String? = nil,
            at pointer: String = "/v"
        ) {
            self.schema = schema
            self.value = value
            self.expected = expected
            self.given = given
            self.fix = fix
            self.pointer = pointer
        }

        var testDescription: String { "\(value ?? "nothing") for \(schema)" }
    }

    static func contract(_ schema: String, _ more: String = "") throws -> Contract {
        let text =
            #"{"attributesType": "A", "contentState": {"type": "object", "required": ["v"],"#
            + #" "properties": {"v": \#(schema)}\#(more)}}"#
        return try Contract(JSONValue(parsing: text))
    }

    private static let date = "Date (RFC 3339 text, or a number that is a time from 2020 through 2050)"
    private static let sayWhat =
        #"write it as text, or say in the contract what numbers mean: "x-swift": {"type": "Date", "input": "unix"}"#
    private static let asText = "write it as text, as in 2026-03-01T12:00:00Z"
    private static let withZone = "write it as in 2026-03-01T12:00:00Z, with the zone"

    static let numbers = [
        Case(#"{"x-swift": "Int"}"#, "12.5", "Int", "12.5", "round it, or make the Swift property a Double"),
        Case(#"{"x-swift": "Int"}"#, #""5""#, "Int", #""5""#, "write 5 without quotes"),
        Case(#"{"x-swift": "Int"}"#, "true", "Int", "true"),
        Case(#"{"x-swift": "Int"}"#, "null", "Int", "null"),
        Case(#"{"x-swift": "Int"}"#, nil, "Int", nil),
        Case(#"{"x-swift": "Int8"}"#, "128", "Int8 (-128 to 127)", "128"),
        Case(#"{"x-swift": "UInt16"}"#, "-1", "UInt16 (0 to 65535)", "-1"),
        Case(#"{"type": ["integer", "null"], "x-swift": "Int"}"#, "[]", "Int or null", "an array"),
        Case(#"{"x-swift": "Double"}"#, "1e400", "Double", "1e400"),
        Case(#"{"x-swift": "Double"}"#, #""0.5""#, "Double", #""0.5""#, "write 0.5 without quotes"),
        Case(#"{"type": "integer"}"#, "1.5", "an integer", "1.5"),
        Case(#"{"type": "number", "minimum": 0, "maximum": 1}"#, "1.5", "at most 1", "1.5"),
        Case(#"{"type": "number", "minimum": 0}"#, "-0.5", "at least 0", "-0.5"),
        Case(#"{"type": "number", "exclusiveMinimum": 0}"#, "0", "more than 0", "0"),
        Case(#"{"type": "number", "exclusiveMaximum": 10}"#, "10", "less than 10", "10"),
    ]

    static let texts = [
        Case(#"{"type": "string"}"#, "12", "a string", "12", #"write it in quotes: "12""#),
        Case(#"{"x-swift": "String"}"#, "true", "String", "true", #"write it in quotes: "true""#),
        Case(#"{"type": "string", "maxLength": 3}"#, #""abcd""#, "at most 3 characters", #""abcd""#),
        Case(
            #"{"type": "string", "minLength": 1}"#, #""""#, "at least 1 character", #""""#),
        Case(
            #"{"enum": ["preparing", "picked_up"]}"#, #""pickedUp""#, #"one of "preparing", "picked_up""#,
            #""pickedUp""#, #"is "picked_up" meant?"#),
        Case(
            #"{"enum": ["preparing", "delivering"]}"#, #""delivring""#, #"one of "preparing", "delivering""#,
            #""delivring""#, #"is "delivering" meant?"#),
        Case(#"{"enum": ["a", "b"]}"#, #""c""#, #"one of "a", "b""#, #""c""#),
        Case(#"{"const": 3}"#, "4", "3", "4"),
        Case(#"{"type": "boolean"}"#, "1", "true or false", "1", "write true"),
        Case(#"{"x-swift": "Bool"}"#, #""false""#, "Bool", #""false""#, "write it without quotes"),
        Case(
            #"{"x-swift": "Data"}"#, #""aGk""#, "Data (base64 with padding)", #""aGk""#,
            #"as standard base64 with padding it is "aGk=""#),
        Case(
            #"{"x-swift": "Data"}"#, #""_-8=""#, "Data (base64 with padding)", #""_-8=""#,
            #"as standard base64 with padding it is "/+8=""#),
        Case(#"{"x-swift": "URL"}"#, #""a b""#, "URL", #""a b""#, #"escaped it is "a%20b""#),
        Case(#"{"x-swift": "URL"}"#, #""""#, "URL", #""""#, "leave it out, or give a URL"),
        Case(
            #"{"x-swift": "UUID"}"#, #""6ba7b810""#, "UUID", #""6ba7b810""#,
            "a UUID has 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12"),
        Case(
            #"{"x-swift": "UUID"}"#, #""\#(String(repeating: "x", count: 40))""#, "UUID", "a string of 40 bytes",
            "a UUID has 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12"),
    ]

    static let dates = [
        Case(#"{"x-swift": "Date"}"#, #""2026-03-01""#, date, #""2026-03-01""#, withZone),
        Case(#"{"x-swift": "Date"}"#, #""2026-03-01T12:00:00""#, date, #""2026-03-01T12:00:00""#, withZone),
        Case(#"{"x-swift": "Date"}"#, #""2026-02-29T12:00:00Z""#, date, #""2026-02-29T12:00:00Z""#, withZone),
        Case(#"{"x-swift": "Date"}"#, #""1763700300""#, date, #""1763700300""#, "write a number without quotes"),
        Case(#"{"x-swift": "Date"}"#, "0", date, "0", sayWhat),
        Case(#"{"x-swift": "Date"}"#, "-1", date, "-1", sayWhat),
        Case(#"{"x-swift": "Date"}"#, "2556144000", date, "2556144000", sayWhat),
        Case(#"{"x-swift": "Date"}"#, "1e400", date, "1e400", sayWhat),
        Case(
            #"{"x-swift": {"type": "Date", "input": "iso8601"}}"#, "1763700300", "Date (RFC 3339 text)", "1763700300",
            asText),
        Case(
            #"{"x-swift": {"type": "Date", "input": "unix"}}"#, "1e300",
            "Date (RFC 3339 text, or seconds since 1970-01-01)", "1e300", asText),
        Case(#"{"x-swift": "Date"}"#, "true", date, "true"),
    ]

    static let containers = [
        Case(
            #"{"type": "object", "x-swift": "Enum", "properties": {"plain": {}, "one": {}}}"#, #""plain""#,
            "an enum: an object whose one key names the case", #""plain""#, #"write {"plain": {}}"#),
        Case(
            #"{"type": "object", "x-swift": "Enum", "properties": {"plain": {}, "one": {}}}"#,
            #"{"plain": {}, "one": {}}"#, "one key that names the case: `plain`, `one`", "an object"),
        Case(
            #"{"type": "object", "x-swift": "Enum", "properties": {"pickedUp": {}, "one": {}}}"#,
            #"{"picked_up": {}}"#, "one key that names the case: `pickedUp`, `one`", "an object",
            "the case is `pickedUp`"),
        Case(
            #"{"type": "array", "x-swift": "Range", "items": {"x-swift": "Int"}}"#,
            #"{"lowerBound": 1, "upperBound": 2}"#, "a range: [lower, upper]", "an object", "write [lower, upper]"),
        Case(
            #"{"type": "array", "x-swift": "Range", "items": {"x-swift": "Int"}}"#, "[2, 1]",
            "a range whose lower bound comes first", "an array", "swap the two"),
        Case(
            #"{"x-swift": {"type": "Dictionary", "key": {"type": "string"}, "value": {"x-swift": "Int"}}}"#,
            #"{"a": 1}"#, "a dictionary as alternating keys and values: [key, value, …]", "an object",
            "write an array of alternating keys and values"),
        Case(
            #"{"x-swift": {"type": "Dictionary", "key": {"type": "string"}, "value": {"x-swift": "Int"}}}"#,
            #"["a"]"#, "alternating keys and values: an even number of elements", "an array"),
        Case(
            #"{"x-swift": {"type": "Dictionary", "key": {"type": "string"}, "value": {"x-swift": "Int"}}}"#,
            #"["a", 1, "b", "2"]"#, "Int", #""2""#, "write 2 without quotes", at: "/v/3"),
        Case(
            #"{"x-swift": {"type": "Dictionary", "key": "Int"}}"#, #"{"1.5": true}"#, "a key that is an integer",
            #""1.5""#, at: "/v/1.5"),
        Case(
            #"{"type": "array", "items": {"x-swift": "Int"}}"#, #"[1, "2"]"#, "Int", #""2""#,
            "write 2 without quotes", at: "/v/1"),
        Case(#"{"type": "array", "maxItems": 1}"#, "[1, 2]", "at most 1 element", "an array"),
        Case(#"{"type": "array", "minItems": 2, "maxItems": 2}"#, "[1]", "exactly 2 elements", "an array"),
        Case(
            #"{"type": "array", "uniqueItems": true}"#, "[1, 1.0]", "elements that all differ",
            "an array"),
        Case(#"{"type": "object", "minProperties": 1}"#, "{}", "at least 1 member", "an object"),
        Case(
            #"{"properties": {"etaMinutes": {"x-swift": "Int"}}, "required": ["etaMinutes"]}"#,
            #"{"eta_minutes": 5}"#, "Int", nil, "`eta_minutes` is there: Swift's name for it is `etaMinutes`",
            at: "/v/etaMinutes"),
        Case(
            #"{"properties": {"eta": {"x-swift": "Int"}}}"#, #"{"eta": null}"#, "Int", "null", "leave it out",
            at: "/v/eta"),
        Case(
            #"{"properties": {"eta": {}}, "additionalProperties": false}"#, #"{"etaa": 1}"#,
            "one of the members `eta`", "1", "the name is `eta`", at: "/v/etaa"),
        Case(
            #"{"properties": {"eta": {}}, "additionalProperties": false}"#, #"{"a/b": 1}"#,
            "one of the members `eta`", "1", "leave it out: the Swift type has no such member", at: "/v/a~1b"),
        Case(#"{"properties": {"old": false}}"#, #"{"old": 1}"#, "nothing here", "1", at: "/v/old"),
    ]

    static let alternatives = [
        Case(
            #"{"anyOf": [{"properties": {"a": {"x-swift": "Int"}}, "type": "object"}, {"type": "null"}]}"#,
            #"{"a": "1"}"#, "Int", #""1""#, "write 1 without quotes", at: "/v/a"),
        Case(
            #"{"anyOf": [{"type": "string"}, {"x-swift": "Int"}]}"#, "true", "a string or Int", "true"),
        Case(
            #"{"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 9}]}"#, #""a""#,
            "a value that fits one of 2 alternatives", #""a""#, "it fits 2"),
    ]

    @Test(arguments: [numbers, texts, dates, containers, alternatives].flatMap { $0 })
    func `an error says where, what is expected, what is given and what to do`(wrong: Case) throws {
        let contract = try Self.contract(wrong.schema)
        var state: JSONObject = [:]
        if let value = wrong.value { state["v"] = try JSONValue(parsing: value) }
        let violation = #expect(throws: ContractViolation.self) { try contract.encodedState(state, from: .given) }
        let problem = try #require(violation?.problems.first)
        #expect(violation?.part == .contentState)
        #expect(problem.pointer.description == wrong.pointer)
        #expect(problem.expected == wrong.expected)
        #expect(problem.given == wrong.given)
        #expect(problem.fix == wrong.fix)
    }

    @Test func `everything that is wrong is said at once, twenty places at most`() throws {
        let contract = try Self.contract(#"{"type": "array", "items": {"x-swift": "Int"}}"#)
        let bad = JSONValue.array(Array(repeating: "x", count: 50))
        let violation = #expect(throws: ContractViolation.self) {
            try contract.encodedState(["v": bad], from: .given)
        }
        #expect(violation?.problems.count == 20)
        #expect(violation?.problems.last?.pointer.description == "/v/19")
    }

    @Test func `a long text is described and not quoted`() throws {
        let contract = try Self.contract(#"{"x-swift": "Int"}"#)
        let secret = String(repeating: "s", count: 25)
        let violation = #expect(throws: ContractViolation.self) {
            try contract.encodedState(["v": .string(secret)], from: .given)
        }
        #expect(violation?.problems.first?.given == "a string of 25 bytes")
    }
}
