import Foundation
import JSONText
import LiveActivityCore
import Testing

/// A Swift type with its contract, JSON that fits, and Foundation's result for other JSON.
struct Subject: CustomTestStringConvertible, Sendable {
    let name: String
    /// A JSON Schema.
    let schema: String
    let samples: [String]
    /// Returns what the phone holds, as it would report it, or `nil` if it cannot decode the value.
    let decoded: @Sendable (JSONValue) -> JSONValue?
    /// `true` if texts may stand for dates, which the decoder itself does not accept.
    let hasDates: Bool

    var testDescription: String { name }

    init<Value: Codable & SendableMetatype>(
        _ type: Value.Type, hasDates: Bool = false, _ schema: String, _ samples: String...,
        besides isRefused: @escaping @Sendable (JSONValue) -> Bool = { _ in false }
    ) {
        name = "\(type)"
        self.schema = schema
        self.samples = samples
        self.hasDates = hasDates
        decoded = { value in
            guard !isRefused(value), let held = try? JSONDecoder().decode(type, from: Data(value.bytes)),
                let written = try? JSONEncoder().encode(held)
            else { return nil }
            return try? JSONValue(parsing: written)
        }
    }

    func contract() throws -> Contract {
        try Contract(
            JSONValue(parsing: #"{"attributesType": "A", "contentState": \#(schema)}"#))
    }
}

extension Subject {
    static let all: [Subject] = simple + containers + special + systems

    private static let simple = [
        Subject(
            Plain.self,
            """
            {"type": "object", "required": ["name", "count", "ratio", "isOn"], "properties": {
             "name": {"type": "string"}, "count": {"type": "integer", "x-swift": "Int"},
             "ratio": {"type": "number", "x-swift": "Double"}, "isOn": {"type": "boolean"}}}
            """,
            #"{"name": "Roma", "count": 3, "ratio": 0.5, "isOn": true}"#,
            #"{"name": "", "count": -1e3, "ratio": 12, "isOn": false, "more": [1]}"#),
        Subject(
            Nested.self,
            """
            {"$ref": "#/$defs/Nested", "$defs": {
             "Line": {"type": "object", "required": ["what", "times"], "properties": {
              "what": {"type": "string", "x-swift": "String"}, "times": {"x-swift": "Int"}}},
             "Place": {"type": "object", "required": ["street", "line"], "properties": {
              "street": {"type": "string"}, "line": {"$ref": "#/$defs/Line"}}},
             "Nested": {"type": "object", "required": ["place", "lines"], "properties": {
              "place": {"$ref": "#/$defs/Place"}, "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}}}}}
            """,
            #"{"place": {"street": "a", "line": {"what": "b", "times": 1}}, "lines": [{"what": "c", "times": 2}]}"#,
            #"{"place": {"street": "a", "line": {"what": "b", "times": 1.0}}, "lines": []}"#),
        Subject(
            Maybe.self,
            """
            {"type": "object", "required": ["numbers", "named", "needed"], "properties": {
             "number": {"type": ["integer", "null"], "x-swift": "Int"}, "text": {"type": ["string", "null"]},
             "inner": {"anyOf": [{"type": "object", "required": ["value"], "properties": {
              "value": {"type": "integer", "x-swift": "Int"}}}, {"type": "null"}]},
             "numbers": {"type": "array", "items": {"type": ["integer", "null"], "x-swift": "Int"}},
             "named": {"type": "object", "additionalProperties": {"type": ["integer", "null"], "x-swift": "Int"}},
             "needed": {"x-swift": "Bool"}}}
            """,
            #"{"number": 1, "text": "a", "inner": {"value": 1}, "#
                + #""numbers": [1, null], "named": {"a": null, "b": 2}, "needed": true}"#,
            #"{"number": null, "inner": null, "numbers": [], "named": {}, "needed": false}"#),
        Subject(
            Raw.self,
            """
            {"type": "object", "required": ["status", "level", "levels"], "properties": {
             "status": {"$ref": "#/$defs/Status"}, "level": {"$ref": "#/$defs/Level"},
             "later": {"anyOf": [{"$ref": "#/$defs/Status"}, {"type": "null"}]},
             "levels": {"type": "array", "items": {"$ref": "#/$defs/Level"}}},
             "$defs": {"Status": {"type": "string", "x-swift": "String",
               "enum": ["preparing", "delivering", "delivered", "café"]},
              "Level": {"type": "integer", "x-swift": "Int", "enum": [1, 5, 100]}}}
            """,
            #"{"status": "delivering", "level": 5, "later": "café", "levels": [1, 100]}"#,
            #"{"status": "preparing", "level": 1.0, "later": null, "levels": []}"#),
        Subject(
            Steps.self,
            """
            {"type": "object", "required": ["step", "all"], "properties": {
             "step": {"$ref": "#/$defs/Step"}, "next": {"anyOf": [{"$ref": "#/$defs/Step"}, {"type": "null"}]},
             "all": {"type": "array", "items": {"$ref": "#/$defs/Step"}}},
             "$defs": {"Step": {"type": "object", "x-swift": "Enum", "properties": {
              "plain": {"type": "object"},
              "one": {"type": "object", "required": ["_0"], "properties": {"_0": {"x-swift": "Int"}}},
              "lab": {"type": "object", "required": ["n"], "properties": {
               "n": {"x-swift": "Int"}, "note": {"type": ["string", "null"]}}},
              "two": {"type": "object", "required": ["_0", "_1"], "properties": {
               "_0": {"x-swift": "Int"}, "_1": {"type": "string"}}},
              "open": {"type": "object", "required": ["at"], "properties": {
               "at": {"x-swift": "Int", "enum": [1, 5, 100]}}}}}}}
            """,
            #"{"step": {"plain": {}}, "next": {"one": {"_0": 3}}, "#
                + #""all": [{"lab": {"n": 1}}, {"two": {"_0": 1, "_1": "z"}}]}"#,
            #"{"step": {"open": {"at": 5}}, "next": null, "all": [{"lab": {"n": 1, "note": "b"}}]}"#),
    ]

    private static let containers = [
        Subject(
            Lists.self,
            """
            {"type": "object", "required": ["numbers", "words", "set", "bytes"], "properties": {
             "numbers": {"type": "array", "items": {"x-swift": "Int"}},
             "words": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
             "set": {"type": "array", "x-swift": "Set", "items": {"type": "string"}},
             "bytes": {"type": "array", "x-swift": "Set", "items": {"x-swift": "UInt8"}}}}
            """,
            #"{"numbers": [1, 2], "words": [["a"], []], "set": ["a", "b", "a"], "bytes": [1, 255]}"#),
        Subject(
            Dictionaries.self,
            """
            {"type": "object", "required": ["byName", "byNumber", "byStatus", "byID"], "properties": {
             "byName": {"type": "object", "additionalProperties": {"x-swift": "Int"}},
             "byNumber": {"type": "object", "x-swift": {"type": "Dictionary", "key": "Int"},
              "additionalProperties": {"type": "string"}},
             "byStatus": {"type": "array", "x-swift": {"type": "Dictionary",
              "key": {"x-swift": "String", "enum": ["preparing", "delivering", "delivered", "café"]},
              "value": {"x-swift": "Int"}}},
             "byID": {"type": "array", "x-swift": {"type": "Dictionary", "key": {"x-swift": "UUID"},
              "value": {"type": "array", "items": {"type": "boolean"}}}}}}
            """,
            #"{"byName": {"a": 1}, "byNumber": {"7": "x", "-1": "y"}, "byStatus": ["delivering", 1, "preparing", 2],"#
                + #" "byID": ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", [true]]}"#,
            #"{"byName": {}, "byNumber": {}, "byStatus": [], "byID": []}"#, besides: isOddID),
        Subject(
            Tree.self,
            """
            {"type": "object", "required": ["value", "children"], "properties": {
             "value": {"x-swift": "Int"}, "children": {"type": "array", "items": {"$ref": "#"}}}}
            """,
            #"{"value": 1, "children": [{"value": 2, "children": []}, "#
                + #"{"value": 3, "children": [{"value": 4, "children": []}]}]}"#
        ),
        Subject(
            Spans.self, hasDates: true,
            """
            {"type": "object", "required": ["whole", "half"], "properties": {
             "whole": {"type": "array", "x-swift": "ClosedRange",
              "prefixItems": [{"x-swift": "Int"}, {"x-swift": "Int"}]},
             "half": {"type": "array", "x-swift": "Range",
              "prefixItems": [{"x-swift": "Double"}, {"x-swift": "Double"}]},
             "words": {"anyOf": [{"type": "null"},
              {"type": "array", "x-swift": "ClosedRange", "prefixItems": [{"type": "string"}, {"type": "string"}]}]},
             "time": {"anyOf": [{"type": "null"}, {"type": "array", "x-swift": "ClosedRange",
              "prefixItems": [{"$ref": "#/$defs/Date"}, {"$ref": "#/$defs/Date"}]}]}},
             "$defs": {"Date": {"type": "number", "x-swift": {"type": "Date", "input": "swift"}}}}
            """,
            #"{"whole": [1, 3], "half": [0.5, 0.5], "words": ["a", "b"], "time": [785393100, 785393200]}"#,
            #"{"whole": [0, 0], "half": [-1, 1e3], "time": ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"]}"#),
    ]
}
