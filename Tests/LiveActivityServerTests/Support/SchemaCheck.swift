import JSONText

/// Checks values against the schemas of the API's description. It knows only the keywords of JSON Schema that the
/// description uses.
struct SchemaCheck {
    /// The whole description, for references.
    let document: JSONValue
    /// `true` if a member that the schema does not name is wrong even where the schema leaves objects open.
    var isStrict: Bool

    private static let known: Set<String> = [
        "$ref", "type", "enum", "anyOf", "allOf", "properties", "required", "additionalProperties", "items", "minItems",
        "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern", "format", "description",
    ]

    /// Returns the problems; empty if there is none.
    func problems(_ value: JSONValue, _ schema: JSONValue, at pointer: JSONPointer = .root) -> [String] {
        guard let words = schema.object else { return ["\(pointer): no schema"] }
        var found = words.keys.filter { !Self.known.contains($0) }.map { "\(pointer): the schema says `\($0)`" }
        if let reference = words["$ref"]?.string {
            guard let target = (try? JSONPointer(String(reference.dropFirst()))).flatMap({ document[$0] }) else {
                return found + ["\(pointer): nothing at \(reference)"]
            }
            return found + problems(value, target, at: pointer)
        }
        if let kinds = words["anyOf"]?.array, !kinds.contains(where: { problems(value, $0, at: pointer).isEmpty }) {
            found.append("\(pointer): none of the kinds: \(kinds.flatMap { problems(value, $0, at: pointer) })")
        }
        for part in words["allOf"]?.array ?? [] {
            var check = self
            // Only the part with all of the members says which members exist.
            check.isStrict = isStrict && part.object?["$ref"] != nil
            found += check.problems(value, part, at: pointer)
        }
        found += simple(value, words, at: pointer)
        if case .object(let object) = value { found += members(object, words, at: pointer) }
        if case .array(let array) = value, let items = words["items"] {
            for (index, item) in array.enumerated() { found += problems(item, items, at: pointer.appending(index)) }
        }
        return found
    }

    private func members(_ object: JSONObject, _ words: JSONObject, at pointer: JSONPointer) -> [String] {
        var found: [String] = []
        for name in words["required"]?.array ?? [] where name.string.flatMap({ object[$0] }) == nil {
            found.append("\(pointer): \(name) is missing")
        }
        let properties = words["properties"]?.object
        for (name, member) in object {
            let place = pointer.appending(name)
            if let schema = properties?[name] {
                found += problems(member, schema, at: place)
            } else if words["additionalProperties"] == false {
                found.append("\(place): not a known member")
            } else if let schema = words["additionalProperties"] {
                found += problems(member, schema, at: place)
            } else if isStrict, properties != nil {
                found.append("\(place): not described")
            }
        }
        return found
    }

    private func simple(_ value: JSONValue, _ words: JSONObject, at pointer: JSONPointer) -> [String] {
        var found: [String] = []
        if let type = words["type"] {
            let types = type.array?.compactMap(\.string) ?? [type.string ?? ""]
            if !types.contains(where: { Self.fits(value, $0) }) { found.append("\(pointer): not \(types): \(value)") }
        }
        if let choice = words["enum"]?.array, !choice.contains(value) {
            found.append("\(pointer): not one of \(choice)")
        }
        func limit(_ word: String, _ size: Double?, _ isRight: (Double, Double) -> Bool) {
            guard let size, let limit = words[word]?.double, !isRight(size, limit) else { return }
            found.append("\(pointer): \(word) \(limit)")
        }
        let length = value.string.map { Double($0.unicodeScalars.count) }
        limit("minLength", length, >=)
        limit("maxLength", length, <=)
        limit("minItems", value.array.map { Double($0.count) }, >=)
        limit("maxItems", value.array.map { Double($0.count) }, <=)
        limit("minimum", value.double, >=)
        limit("maximum", value.double, <=)
        if let pattern = words["pattern"]?.string, let text = value.string {
            let isMatch = (try? Regex(pattern).firstMatch(in: text)) ?? nil
            if isMatch == nil { found.append("\(pointer): not of the form \(pattern)") }
        }
        return found
    }

    private static func fits(_ value: JSONValue, _ type: String) -> Bool {
        switch value {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .number(let number): type == "number" || (type == "integer" && number.int != nil)
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }
}
