import JSONText
import LiveActivityCore
import Testing

struct ContractReaderTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let document: String
        let pointer: String
        let word: String

        init(schema: String, _ pointer: String, _ word: String) {
            document = #"{"attributesType": "A", "contentState": \#(schema)}"#
            self.pointer = pointer.isEmpty ? "/contentState" : "/contentState\(pointer)"
            self.word = word
        }

        init(_ document: String, _ pointer: String, _ word: String) {
            self.document = document
            self.pointer = pointer
            self.word = word
        }

        var testDescription: String { document }
    }

    static let documents = [
        Case("[]", "", "an object with"),
        Case(#"{"contentState": {}}"#, "/attributesType", "Swift name"),
        Case(#"{"attributesType": "", "contentState": {}}"#, "/attributesType", "Swift name"),
        Case(#"{"attributesType": "A"}"#, "/contentState", "is needed"),
        Case(#"{"attributesType": "A", "contentstate": {}}"#, "/contentstate", "no such member"),
        Case(#"{"attributesType": "A", "contentState": {}, "attributes": 1}"#, "/attributes", "not number"),
    ]

    static let keywords = [
        Case(schema: #"{"allOf": []}"#, "/allOf", "is not supported"),
        Case(schema: #"{"properties": {"a": {"pattern": "x"}}}"#, "/properties/a/pattern", "is not supported"),
        Case(schema: #"{"properties": {"a": {"if": {}}}}"#, "/properties/a/if", "is not supported"),
        Case(schema: #"{"proprties": {}}"#, "/proprties", "`properties` meant"),
        Case(schema: #"{"$schema": "http://json-schema.org/draft-07/schema#"}"#, "/$schema", "2020-12"),
        Case(schema: #"{"properties": {"a": {"$id": "x"}}}"#, "/properties/a/$id", "only at the top"),
        Case(schema: #"{"type": "string"}"#, "", "are objects"),
        Case(schema: #"{"type": "Object"}"#, "/type", "`object`"),
        Case(schema: #"{"type": []}"#, "/type", "empty"),
        Case(schema: #"{"required": [1]}"#, "/required/0", "a name"),
        Case(schema: #"{"properties": []}"#, "/properties", "an object of schemas"),
        Case(schema: #"{"properties": {"a": 1}}"#, "/properties/a", "not number"),
        Case(schema: #"{"properties": {"a": {"enum": []}}}"#, "/properties/a/enum", "empty"),
        Case(schema: #"{"properties": {"a": {"enum": "b"}}}"#, "/properties/a/enum", "a list"),
        Case(schema: #"{"properties": {"a": {"anyOf": []}}}"#, "/properties/a/anyOf", "empty"),
        Case(schema: #"{"properties": {"a": {"items": [{}]}}}"#, "/properties/a/items", "prefixItems"),
        Case(schema: #"{"properties": {"a": {"minimum": "1"}}}"#, "/properties/a/minimum", "a number"),
        Case(schema: #"{"properties": {"a": {"minLength": -1}}}"#, "/properties/a/minLength", "0 or more"),
        Case(
            schema: #"{"properties": {"a": {"minItems": 2, "maxItems": 1}}}"#, "/properties/a/maxItems", "less than"),
        Case(schema: #"{"properties": {"a": {"uniqueItems": 1}}}"#, "/properties/a/uniqueItems", "true or false"),
        Case(
            schema: ##"{"properties": {"a": {"$ref": "#", "type": "object"}}}"##, "/properties/a/type", "`$ref`"),
        Case(
            schema: #"{"properties": {"a": {"anyOf": [{}], "properties": {}}}}"#, "/properties/a/properties",
            "`anyOf`"),
    ]

    static let references = [
        Case(schema: ##"{"properties": {"a": {"$ref": "#/$defs/B"}}}"##, "/properties/a/$ref", "there is no"),
        Case(schema: ##"{"properties": {"a": {"$ref": "other.json"}}}"##, "/properties/a/$ref", "another document"),
        Case(schema: ##"{"properties": {"a": {"$ref": "#/properties/b"}}}"##, "/properties/a/$ref", "#/$defs/NAME"),
        Case(schema: ##"{"$ref": "#"}"##, "", "refers to itself"),
        Case(
            schema: ##"{"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}}"##, "/$defs/A",
            "refers to itself"),
        Case(
            schema: ##"{"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}"##, "",
            "no value fits"),
        Case(
            schema: ##"{"$defs": {"L": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/L"}}}}"##,
            "/$defs/L", "no value fits"),
    ]

    static let hints = [
        Case(schema: #"{"properties": {"a": {"x-swift": "Doubel"}}}"#, "/properties/a/x-swift", "`Double` meant"),
        Case(schema: #"{"properties": {"a": {"x-swift": "Colour"}}}"#, "/properties/a/x-swift", "no Swift type"),
        Case(schema: #"{"properties": {"a": {"x-swift": 1}}}"#, "/properties/a/x-swift", "name of a Swift type"),
        Case(
            schema: #"{"properties": {"a": {"type": "string", "x-swift": "Int"}}}"#, "/properties/a/x-swift",
            "never JSON's `string`"),
        Case(
            schema: #"{"properties": {"a": {"x-swift": {"type": "Date", "input": "epoch"}}}}"#,
            "/properties/a/x-swift/input", "`unix`"),
        Case(
            schema: #"{"properties": {"a": {"x-swift": {"type": "Int", "input": "unix"}}}}"#,
            "/properties/a/x-swift/input", "no such detail"),
        Case(schema: #"{"properties": {"a": {"x-swift": "Range"}}}"#, "/properties/a/x-swift", "bounds"),
        Case(schema: #"{"properties": {"a": {"x-swift": "Enum"}}}"#, "/properties/a/x-swift", "cases"),
        Case(schema: #"{"properties": {"a": {"x-swift": "Dictionary"}}}"#, "/properties/a/x-swift", "`key`"),
        Case(
            schema: #"{"properties": {"a": {"x-swift": {"type": "Dictionary", "value": {}}}}}"#,
            "/properties/a/x-swift/key", "is needed"),
    ]

    @Test(arguments: [documents, keywords, references, hints].flatMap { $0 })
    func `what could not be checked as it is meant is refused when the contract is read`(bad: Case) throws {
        let document = try JSONValue(parsing: bad.document)
        let error = #expect(throws: ContractError.self) { try Contract(document) }
        #expect(error?.pointer.description == bad.pointer)
        #expect(error?.problem.contains(bad.word) == true, "\(error?.problem ?? "")")
    }

    @Test func `annotations and details of one's own are passed over`() throws {
        let text = #"""
            {"attributesType": "A", "$comment": "made by a tool", "x-build": 7, "contentState": {
              "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a",
              "title": "A", "description": "b", "x-source": "A.swift", "type": "object",
              "properties": {"at": {
               "type": "string", "format": "email", "default": 1, "examples": [], "deprecated": true}}}}
            """#
        let contract = try Contract(JSONValue(parsing: text))
        #expect(try contract.encodedState(["at": "no address"], from: .given) == ["at": "no address"])
    }

    @Test func `alternatives inside alternatives end, whatever is sent`() throws {
        let text = ##"""
            {"attributesType": "A", "contentState": {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}},
             "$defs": {"N": {"anyOf": [
               {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "required": ["b"]},
               {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "required": ["c"]},
               {"type": "null"}]}}}}
            """##
        let contract = try Contract(JSONValue(parsing: text))
        let deep = (0..<30).reduce(JSONValue.object([:])) { inner, _ in ["a": inner] }
        #expect(throws: ContractViolation.self) { try contract.encodedState(["a": deep], from: .given) }
    }
}
