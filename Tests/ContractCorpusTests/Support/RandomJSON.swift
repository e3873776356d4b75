import JSONText
import TestSupport

/// Makes JSON that fits a schema.
struct RandomJSON {
    var dice: SeededDice
    private let top: JSONValue
    private static let maximumDepth = 8

    init(_ schema: JSONValue, seed: UInt64) {
        top = schema
        dice = SeededDice(seed: seed)
    }

    mutating func value() -> JSONValue { value(of: top, 0) }

    private mutating func value(of schema: JSONValue, _ depth: Int) -> JSONValue {
        guard let schema = schema.object else { return 1 }
        if let reference = schema["$ref"]?.string, let pointer = try? JSONPointer(String(reference.dropFirst())) {
            return value(of: top[pointer] ?? true, depth)
        }
        if let values = schema["enum"]?.array { return dice.pick(values) }
        if let branches = schema["anyOf"]?.array {
            return depth > Self.maximumDepth || dice.chance(30) ? .null : value(of: branches[0], depth)
        }
        let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "object"]
        if types.contains("null"), depth > Self.maximumDepth || dice.chance(30) { return .null }
        switch types[0] {
        case "boolean": return .bool(dice.chance(50))
        case "integer": return dice.pick([0, 1, 7, 100])
        case "number": return schema["x-swift"] == "Decimal" ? 1.5 : dice.pick([0, 1, 0.5, -2.25, 785_393_100])
        case "string": return text(schema["x-swift"]?.string)
        case "array": return array(schema, depth)
        default: return object(schema, depth)
        }
    }

    private mutating func text(_ type: String?) -> JSONValue {
        switch type {
        case "Data": dice.pick(["", "Zg==", "aGk="])
        case "URL": dice.pick(["https://a.b/c", "x", "mailto:a@b.c"])
        case "UUID": "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
        default: dice.pick(["", "a", "café", "open", "5"])
        }
    }

    private mutating func array(_ schema: JSONObject, _ depth: Int) -> JSONValue {
        if let prefix = schema["prefixItems"]?.array {
            let first = value(of: prefix[0], depth + 1)
            // Both bounds of a range may be equal.
            if schema["x-swift"] != nil { return [first, first] }
            var elements = [first]
            for item in prefix.dropFirst() { elements.append(value(of: item, depth + 1)) }
            return .array(elements)
        }
        let count = depth > Self.maximumDepth ? 0 : dice.roll(3)
        if let pairs = schema["x-swift"]?.object, let key = pairs["key"], let item = pairs["value"] {
            return .array((0..<count).flatMap { _ in [value(of: key, depth + 1), value(of: item, depth + 1)] })
        }
        return .array((0..<count).map { _ in value(of: schema["items"] ?? true, depth + 1) })
    }

    private mutating func object(_ schema: JSONObject, _ depth: Int) -> JSONValue {
        var object: JSONObject = [:]
        let properties = Array(schema["properties"]?.object ?? [:])
        if schema["x-swift"] == "Enum" {
            let (key, fields) = depth > Self.maximumDepth ? properties[0] : dice.pick(properties)
            return [key: value(of: fields, depth + 1)]
        }
        let required = schema["required"]?.array ?? []
        for (key, property) in properties where required.contains(.string(key)) || dice.chance(70) {
            object[key] = value(of: property, depth + 1)
        }
        if let items = schema["additionalProperties"], items != false {
            let keys = schema["x-swift"] == nil ? ["a", "b", ""] : ["1", "-7", "0"]
            for key in keys.prefix(depth > Self.maximumDepth ? 0 : dice.roll(3)) {
                object[key] = value(of: items, depth + 1)
            }
        }
        return .object(object)
    }
}
