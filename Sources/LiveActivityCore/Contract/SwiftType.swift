import JSONText

/// Swift type that a schema's `x-swift` names: what `JSONDecoder` without strategies accepts, and what `JSONEncoder`
/// writes.
enum SwiftType: Sendable, Equatable {
    case bool
    case string
    case integer(IntegerType)
    case double
    case float
    case decimal
    case date(DateInput)
    case data
    case url
    case uuid
    /// `[lower, upper]`, in order.
    case range
    case set
    /// An object whose keys are integers, written as text.
    case integerKeys
    /// Alternating keys and values: `["x", 1, "y", 2]`.
    case pairs(key: Int, value: Int)
    /// An enum with associated values, as the compiler encodes it: one key that names the case.
    case cases

    enum IntegerType: String, Sendable, CaseIterable {
        case int = "Int"
        case int8 = "Int8"
        case int16 = "Int16"
        case int32 = "Int32"
        case int64 = "Int64"
        case uint = "UInt"
        case uint8 = "UInt8"
        case uint16 = "UInt16"
        case uint32 = "UInt32"
        case uint64 = "UInt64"
    }

    /// JSON types that a schema with this hint may name besides `null`.
    var jsonTypes: Set<JSONType> {
        switch self {
        case .bool: [.boolean]
        case .string, .data, .url, .uuid: [.string]
        case .integer: [.integer, .number]
        case .double, .float, .decimal, .date: [.number, .integer]
        case .range, .set, .pairs: [.array]
        case .integerKeys, .cases: [.object]
        }
    }

    /// Description of what is expected.
    var words: String {
        switch self {
        case .bool: "Bool"
        case .string: "String"
        case .integer(let type): type.words
        case .double: "Double"
        case .float: "Float"
        case .decimal: "Decimal"
        case .date(let input): input.words
        case .data: "Data (base64 with padding)"
        case .url: "URL"
        case .uuid: "UUID"
        case .range: "a range: [lower, upper]"
        case .set: "Set"
        case .integerKeys: "a dictionary with Int keys"
        case .pairs: "a dictionary as alternating keys and values: [key, value, …]"
        case .cases: "an enum: an object whose one key names the case"
        }
    }
}

extension SwiftType.IntegerType {
    var words: String {
        switch self {
        case .int, .int64, .uint, .uint64: rawValue
        case .int8, .int16, .int32, .uint8, .uint16, .uint32: "\(rawValue) (\(range))"
        }
    }

    private var range: String {
        func words<T: FixedWidthInteger>(_ type: T.Type) -> String { "\(T.min) to \(T.max)" }
        return switch self {
        case .int, .int64: words(Int64.self)
        case .int8: words(Int8.self)
        case .int16: words(Int16.self)
        case .int32: words(Int32.self)
        case .uint, .uint64: words(UInt64.self)
        case .uint8: words(UInt8.self)
        case .uint16: words(UInt16.self)
        case .uint32: words(UInt32.self)
        }
    }

    /// Returns the integer that `JSONDecoder` reads from a number, as text; `nil` where it throws.
    func decoded(_ number: JSONNumber) -> String? {
        switch self {
        case .int, .int64: SwiftNumbers.integer(Int64.self, number).map { String($0) }
        case .int8: SwiftNumbers.integer(Int8.self, number).map { String($0) }
        case .int16: SwiftNumbers.integer(Int16.self, number).map { String($0) }
        case .int32: SwiftNumbers.integer(Int32.self, number).map { String($0) }
        case .uint, .uint64: SwiftNumbers.integer(UInt64.self, number).map { String($0) }
        case .uint8: SwiftNumbers.integer(UInt8.self, number).map { String($0) }
        case .uint16: SwiftNumbers.integer(UInt16.self, number).map { String($0) }
        case .uint32: SwiftNumbers.integer(UInt32.self, number).map { String($0) }
        }
    }
}

/// Types of JSON Schema.
enum JSONType: String, Sendable, CaseIterable {
    case null, boolean, integer, number, string, array, object

    func includes(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.null, .null), (.boolean, .bool), (.number, .number), (.string, .string), (.array, .array),
            (.object, .object):
            true
        case (.integer, .number(let number)): !number.canonicalText.utf8.contains { ".e".utf8.contains($0) }
        default: false
        }
    }

    var words: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .integer: "an integer"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
