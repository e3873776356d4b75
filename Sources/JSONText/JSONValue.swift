/// A JSON document or a part of one, which keeps numbers and the order of members as they were written.
///
/// Two values are equal if they have the same meaning:
///
/// - Members compare in any order.
/// - Numbers compare by value: `5`, `5.0` and `5e0` are one number.
/// - Strings compare by their Unicode scalars.
public enum JSONValue: Sendable {
    /// The value `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number of any size.
    case number(JSONNumber)
    /// A text, without escapes.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Members with unique keys.
    case object(JSONObject)
}

extension JSONValue {
    /// Members of an object; `nil` for any other value.
    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// Elements of an array; `nil` for any other value.
    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// Text of a string; `nil` for any other value.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// Value of a boolean; `nil` for any other value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// Exact integer of a number, in any notation: `5`, `5.0` and `1e3`. `nil` for `5.5` and for any other value.
    public var int: Int? {
        if case .number(let number) = self { number.int } else { nil }
    }

    /// Nearest double of a number; `nil` for a number outside the range of a double and for any other value.
    public var double: Double? {
        guard case .number(let number) = self, number.double.isFinite else { return nil }
        return number.double
    }

    /// Name of the JSON type: `null`, `boolean`, `number`, `string`, `array` or `object`.
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
    /// Returns `true` if both values have the same meaning.
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

    /// Hashes the parts that equality compares.
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
    /// Creates a number, or null for a literal that no double can hold.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// An array of these elements.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object with these members in this order. If a key occurs more than once, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}
