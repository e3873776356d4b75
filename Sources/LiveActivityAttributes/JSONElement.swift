/// A part of a JSON document (RFC 8259). Numbers are `Double`s, as in JavaScript.
public enum JSONElement: Codable, Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONElement])
    case object([String: JSONElement])

    /// `nil` where it is something else.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// `nil` where it is something else.
    public var number: Double? { if case .number(let value) = self { value } else { nil } }
    /// `nil` where it is something else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// `nil` where it is something else.
    public var array: [JSONElement]? { if case .array(let value) = self { value } else { nil } }
    /// `nil` where it is something else.
    public var object: [String: JSONElement]? { if case .object(let value) = self { value } else { nil } }

    /// The member of that name; `nil` where this is no object, or has none.
    public subscript(name: String) -> JSONElement? { object?[name] }

    /// - Throws: `DecodingError` where it is not JSON.
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

    /// Writes it as it was read.
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
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// A literal.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A literal.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A literal.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    /// A literal.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A literal.
    public init(arrayLiteral elements: JSONElement...) { self = .array(elements) }
    /// A literal; of two members of one name the last counts.
    public init(dictionaryLiteral elements: (String, JSONElement)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
