/// A value of a JSON document (RFC 8259). Numbers are `Double`s, as in JavaScript.
public enum JSONElement: Codable, Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONElement])
    case object([String: JSONElement])

    /// The value if it is of this type, otherwise `nil`.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The value if it is of this type, otherwise `nil`.
    public var number: Double? { if case .number(let value) = self { value } else { nil } }
    /// The value if it is of this type, otherwise `nil`.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The value if it is of this type, otherwise `nil`.
    public var array: [JSONElement]? { if case .array(let value) = self { value } else { nil } }
    /// The value if it is of this type, otherwise `nil`.
    public var object: [String: JSONElement]? { if case .object(let value) = self { value } else { nil } }

    /// The member with this name, or `nil` if this is not an object or has no such member.
    public subscript(name: String) -> JSONElement? { object?[name] }

    /// Decodes any JSON value.
    ///
    /// - Throws: `DecodingError` if the value is not JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONElement].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONElement].self))
        }
    }

    /// Encodes the value in the form in which it is decoded.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONElement: ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONElement...) { self = .array(elements) }
    /// Creates an object. If two members have the same name, the last one is used.
    public init(dictionaryLiteral elements: (String, JSONElement)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
