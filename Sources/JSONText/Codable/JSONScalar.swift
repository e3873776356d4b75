/// A Swift type that is one JSON boolean, string or number.
protocol JSONScalar {
    /// Description of a right value, for errors.
    static var expectation: String { get }
    /// Creates the exact value, or `nil` if the JSON value has another type or does not fit.
    init?(json: JSONValue)
    /// The value as JSON, or `nil` for a number that JSON cannot write.
    var json: JSONValue? { get }
}

extension Bool: JSONScalar {
    static var expectation: String { "boolean" }
    init?(json: JSONValue) {
        guard let value = json.bool else { return nil }
        self = value
    }
    var json: JSONValue? { .bool(self) }
}

extension String: JSONScalar {
    static var expectation: String { "string" }
    init?(json: JSONValue) {
        guard let value = json.string else { return nil }
        self = value
    }
    var json: JSONValue? { .string(self) }
}

extension Double: JSONScalar {
    static var expectation: String { "number" }
    init?(json: JSONValue) {
        guard let value = json.double else { return nil }
        self = value
    }
    var json: JSONValue? { JSONNumber(self).map(JSONValue.number) }
}

extension Float: JSONScalar {
    static var expectation: String { "number" }
    init?(json: JSONValue) {
        guard let value = json.double, Float(value).isFinite else { return nil }
        self.init(value)
    }
    // The text of the float itself, because its double has more digits: 0.1 stays 0.1.
    var json: JSONValue? { isFinite ? JSONNumber(description).map(JSONValue.number) : nil }
}

extension FixedWidthInteger {
    static var expectation: String { Self.isSigned ? "integer" : "integer of at least 0" }
    init?(json: JSONValue) {
        guard case .number(let number) = json, let value = number.integer(Self.self) else { return nil }
        self = value
    }
    var json: JSONValue? { JSONNumber(String(self)).map(JSONValue.number) }
}

extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}

/// Names that errors use for the types of fields.
enum Expectation {
    /// Returns the name for values of a type, taken from the error that the type throws for `null`.
    static func of<Expected: Decodable>(_ type: Expected.Type) -> String {
        do throws(JSONDecodingError) {
            _ = try JSONValue.null.decode(type)
            return "a value"
        } catch {
            return error.pointer == .root ? error.expected : "a value"
        }
    }

    /// Returns the raw values of an enum of strings, or `nil` for any other type.
    static func choices(of type: Any.Type) -> [String]? {
        guard let type = type as? any CaseIterable.Type else { return nil }
        return rawValues(type)
    }

    private static func rawValues<Choice: CaseIterable>(_ type: Choice.Type) -> [String]? {
        let values = type.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
        return values.isEmpty ? nil : values
    }
}
