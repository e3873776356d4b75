import JSONText
import SourceContract
import Testing

/// Contracts that a person has written or changed, against those from source. Additions by hand count as well.
struct HandWrittenTests {
    private static let nothing: [String] = []
    private static let both = ["/contentState/a older", "/contentState/a running"]

    /// Schemas of one member before and after, and the builds or activities that break.
    private static let changes: [(before: JSONValue, after: JSONValue, broken: [String])] = [
        // Without hints.
        (["type": "string"], ["type": "string", "x-swift": "String"], nothing),
        (["type": "boolean"], ["type": "boolean", "x-swift": "Bool"], nothing),
        (["type": "number"], ["type": "number", "x-swift": "Double"], nothing),
        (["type": "number"], ["type": "number", "x-swift": "Decimal"], nothing),
        (["type": "integer"], ["type": "integer", "x-swift": "Int"], nothing),
        (["type": "integer"], ["type": "number"], ["/contentState/a older"]),
        (["type": "integer"], ["type": "integer", "x-swift": "Int8"], ["/contentState/a running"]),
        (["type": "number"], ["type": "number", "x-swift": "Float"], ["/contentState/a running"]),
        (["type": "number"], ["type": "number", "x-swift": "Date"], both),
        (["type": "string"], ["type": "string", "x-swift": "UUID"], ["/contentState/a running"]),
        // Anything.
        ([:], ["type": "string"], ["/contentState/a running", "/contentState/a running"]),
        (true, ["type": "string"], ["/contentState/a running", "/contentState/a running"]),
        (["type": "string"], true, ["/contentState/a older", "/contentState/a older"]),
        (["type": ["string", "null"]], [:], ["/contentState/a older"]),
        // Several types.
        (["type": ["string", "integer"]], ["type": ["string", "boolean"]], both),
        (["type": ["string", "integer"]], ["type": ["string", "integer"]], nothing),
        (
            ["anyOf": [["type": "string"]]], ["anyOf": [["type": "string"], ["type": "null"]]],
            ["/contentState/a older"]
        ),
        (
            ["anyOf": [["type": "string"], ["type": "integer"], ["type": "null"]]],
            ["anyOf": [["type": "string"], ["type": "number"], ["type": "null"]]], ["/contentState/a older"]
        ),
        (
            ["oneOf": [["type": "string"], ["type": "integer"]]],
            ["oneOf": [["type": "string"], ["type": "number"]]], ["/contentState/a older"]
        ),
        (["oneOf": [["type": "string"], ["type": "integer"]]], ["oneOf": [["type": "string"]]], both),
        // Ranges whose bounds' type is stated once.
        (
            ["type": "array", "x-swift": "ClosedRange", "items": ["type": "integer", "x-swift": "Int"]],
            [
                "type": "array", "x-swift": "ClosedRange", "minItems": 2,
                "prefixItems": [["type": "integer", "x-swift": "Int"], ["type": "integer", "x-swift": "Int"]],
            ], nothing
        ),
    ]

    @Test(arguments: changes)
    func `what a hand wrote is read as what it says`(before: JSONValue, after: JSONValue, broken: [String]) {
        #expect(found(before, after) == broken.sorted())
    }

    /// A keyword, a bound, and a narrower bound.
    private static let bounds: [(type: String, keyword: String, wide: JSONValue, narrow: JSONValue)] = [
        ("number", "minimum", 0, 1), ("number", "maximum", 1, 0.5), ("number", "exclusiveMinimum", -1, 0),
        ("number", "exclusiveMaximum", 10, 9.5), ("integer", "minimum", 0, 1), ("integer", "maximum", 5, 4),
        ("string", "minLength", 1, 2), ("string", "maxLength", 9, 8), ("array", "minItems", 1, 2),
        ("array", "maxItems", 9, 8), ("array", "uniqueItems", false, true), ("map", "minProperties", 1, 2),
        ("map", "maxProperties", 9, 8), ("string", "const", "a", "b"),
    ]

    @Test(arguments: bounds)
    func `a bound that is narrower where it is read breaks, a wider one does not`(
        type: String, keyword: String, wide: JSONValue, narrow: JSONValue
    ) {
        let plain: JSONObject =
            switch type {
            case "array": ["type": "array", "items": ["type": "string"]]
            case "map": ["type": "object", "additionalProperties": ["type": "string"]]
            default: ["type": .string(type)]
            }
        func with(_ bound: JSONValue) -> JSONValue {
            var schema = plain
            schema[keyword] = bound
            return .object(schema)
        }
        #expect(found(with(wide), with(wide)).isEmpty)
        #expect(found(.object(plain), with(narrow)) == ["/contentState/a running"])
        #expect(found(with(narrow), .object(plain)) == ["/contentState/a older"])
        if keyword == "const" {
            #expect(found(with(wide), with(narrow)) == Self.both)
        } else {
            #expect(found(with(wide), with(narrow)) == ["/contentState/a running"])
            #expect(found(with(narrow), with(wide)) == ["/contentState/a older"])
        }
    }

    /// Pairs in which each bound fits into the other's, although it is written differently.
    private static let inside: [(reader: JSONValue, writer: JSONValue)] = [
        (["type": "number", "minimum": 0], ["type": "number", "exclusiveMinimum": 0]),
        (["type": "number", "exclusiveMinimum": 0], ["type": "number", "minimum": 1]),
        (["type": "number", "maximum": 9], ["type": "number", "exclusiveMaximum": 9]),
        (["type": "number", "exclusiveMaximum": 9], ["type": "number", "maximum": 8]),
        (["type": "integer", "x-swift": "Int", "minimum": 0], ["type": "integer", "x-swift": "UInt8"]),
        (["type": "integer", "x-swift": "Int", "maximum": 255], ["type": "integer", "x-swift": "UInt8"]),
    ]

    @Test(arguments: inside) func `a bound may be kept by another one`(reader: JSONValue, writer: JSONValue) {
        #expect(!found(reader, writer).contains("/contentState/a older"))
        #expect(found(writer, reader).allSatisfy { $0 == "/contentState/a older" })
    }

    @Test func `a bound at the edge of another is not kept by it`() {
        let above: JSONValue = ["type": "number", "exclusiveMinimum": 0]
        #expect(found(above, ["type": "number", "minimum": 0]) == ["/contentState/a older"])
        let below: JSONValue = ["type": "number", "exclusiveMaximum": 9]
        #expect(found(below, ["type": "number", "maximum": 9]) == ["/contentState/a older"])
    }

    private func found(_ before: JSONValue, _ after: JSONValue) -> [String] {
        ContractComparison.changes(from: document(before), to: document(after)).map {
            "\($0.pointer) \($0.victim == .olderBuilds ? "older" : "running")"
        }.sorted()
    }

    private func document(_ member: JSONValue) -> JSONValue {
        [
            "attributesType": "A",
            "contentState": ["type": "object", "required": ["a"], "properties": ["a": member]],
        ]
    }
}
