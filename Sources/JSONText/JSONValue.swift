/// A JSON document or any part of one, with numbers and the order of members kept as they were written.
///
/// Two values are equal when they mean the same: members in any order, numbers by value (`5`, `5.0` and `5e0` are one
/// number), strings by their Unicode scalars.
public enum JSONValue: Sendable {
    /// The value `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number of any size.
    case number(JSONNumber)
    /// A text, unescaped.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members with unique keys.
    case object(JSONObject)
}

extension JSONValue {
    /// The members, when this is an object.
    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The elements, when this is an array.
    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text, when this is a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The truth value, when this is a boolean.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The exact integer, when this is a number that is one, however it is written: `5`, `5.0` and `1e3`, not `5.5`.
    public var int: Int? {
        if case .number(let number) = self { number.int } else { nil }
    }

    /// The nearest double, when this is a number within the range of a double.
    public var double: Double? {
        guard case .number(let number) = self, number.double.isFinite else { return nil }
        return number.double
    }

    /// The name of the JSON type: `null`, `boolean`, `number`, `string`, `array` or `object`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

extension JSONValue: Hashable {
    /// Whether both values mean the same.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): ExactText(left) == ExactText(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .number(let number): hasher.combine(number)
        case .string(let text): hasher.combine(ExactText(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON text.
    public var description: String { text }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// Null.
    public init(nilLiteral: ()) { self = .null }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral, ExpressibleByStringLiteral {
    /// The number, or null for a literal that no double can hold.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// An array of these elements.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object with these members in this order; of several with the same key the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}
