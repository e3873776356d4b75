import JSONText

/// A JSON Schema (2020-12) in the API's description, as a value.
struct Schema: Sendable {
    private(set) var json: JSONObject

    init(_ json: JSONObject) {
        self.json = json
    }

    // MARK: - Kinds

    /// Returns a reference to the schema with this name.
    static func named(_ name: Name) -> Schema {
        Schema(["$ref": .string("#/components/schemas/\(name.rawValue)")])
    }

    static func text(_ length: ClosedRange<Int>? = nil, pattern: String? = nil, format: String? = nil) -> Schema {
        var json: JSONObject = ["type": "string"]
        if let length {
            json["minLength"] = .number(JSONNumber(length.lowerBound))
            json["maxLength"] = .number(JSONNumber(length.upperBound))
        }
        json["pattern"] = pattern.map(JSONValue.string)
        json["format"] = format.map(JSONValue.string)
        return Schema(json)
    }

    static func integer(_ range: ClosedRange<Int>? = nil) -> Schema {
        var json: JSONObject = ["type": "integer"]
        if let range {
            json["minimum"] = .number(JSONNumber(range.lowerBound))
            json["maximum"] = .number(JSONNumber(range.upperBound))
        }
        return Schema(json)
    }

    /// A whole number from 0.
    static let count = Schema(["type": "integer", "minimum": 0])
    static let number = Schema(["type": "number"])
    static let flag = Schema(["type": "boolean"])
    /// An object whose form the app defines.
    static let anything = Schema(["type": "object"])

    static func choice(_ words: [String]) -> Schema {
        Schema(["type": "string", "enum": .array(words.map(JSONValue.string))])
    }

    /// Returns the cases of an enumeration of the API.
    static func choice<Word: CaseIterable & RawRepresentable>(_ type: Word.Type) -> Schema
    where Word.RawValue == String {
        choice(type.allCases.map(\.rawValue))
    }

    static func list(_ items: Schema, _ count: ClosedRange<Int>? = nil) -> Schema {
        var json: JSONObject = ["type": "array", "items": .object(items.json)]
        if let count {
            if count.lowerBound > 0 { json["minItems"] = .number(JSONNumber(count.lowerBound)) }
            json["maxItems"] = .number(JSONNumber(count.upperBound))
        }
        return Schema(json)
    }

    static func anyOf(_ kinds: [Schema]) -> Schema {
        Schema(["anyOf": .array(kinds.map { .object($0.json) })])
    }

    /// Returns the schema of a call's body. An absent or null field means its default; an unknown field is refused.
    static func request(_ about: String, _ fields: [Field]) -> Schema {
        var json = object(about, fields.map { $0.isRequired ? $0 : Field($0.name, $0.schema.orNull, false) })
        json["additionalProperties"] = false
        return Schema(json)
    }

    /// Returns the schema of an answer, to which a later version may add fields.
    static func answer(_ about: String, _ fields: [Field]) -> Schema { Schema(object(about, fields)) }

    private static func object(_ about: String, _ fields: [Field]) -> JSONObject {
        var properties = JSONObject()
        for field in fields { properties[field.name] = .object(field.schema.json) }
        var json: JSONObject = ["type": "object", "description": .string(about), "properties": .object(properties)]
        let required = fields.filter(\.isRequired).map(\.name)
        if !required.isEmpty { json["required"] = .array(required.map(JSONValue.string)) }
        return json
    }

    // MARK: - Changes

    func about(_ text: String) -> Schema { with("description", .string(text)) }

    func with(_ key: String, _ value: JSONValue) -> Schema {
        var copy = self
        copy.json[key] = value
        return copy
    }

    /// The schema, or null.
    var orNull: Schema {
        if json["type"] == "null" { return self }
        guard case .string(let type)? = json["type"] else {
            let about = json["description"]
            var bare = self
            bare.json["description"] = nil
            let either = Self.anyOf([bare, Schema(["type": "null"])])
            return about.map { either.with("description", $0) } ?? either
        }
        var copy = self
        copy.json["type"] = .array([.string(type), "null"])
        if let words = json["enum"]?.array { copy.json["enum"] = .array(words + [.null]) }
        return copy
    }
}

extension Schema {
    /// A member of an object.
    struct Field: Sendable {
        let name: String
        let schema: Schema
        let isRequired: Bool

        init(_ name: String, _ schema: Schema, _ isRequired: Bool) {
            self.name = name
            self.schema = schema
            self.isRequired = isRequired
        }
    }

    /// Returns a required member of a request, or a member that an answer always has.
    static func needed(_ name: String, _ schema: Schema, _ about: String? = nil) -> Field {
        Field(name, about.map(schema.about) ?? schema, true)
    }

    /// Returns a member that may be absent.
    static func field(_ name: String, _ schema: Schema, _ about: String? = nil) -> Field {
        Field(name, about.map(schema.about) ?? schema, false)
    }
}
