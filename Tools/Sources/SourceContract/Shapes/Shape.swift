import JSONText

/// The JSON that a Swift type is decoded from.
indirect enum Shape: Hashable, Sendable {
    case scalar(Scalar)
    case optional(Shape)
    case array(Shape)
    case set(Shape)
    case dictionary(key: Shape, value: Shape)
    /// `[lower, upper]`: the Swift name, and the shape of the bounds.
    case range(String, Shape)
    /// Elements of fixed number and order, such as a `CGPoint`'s.
    case sequence([Shape])
    /// A type of these files.
    case named(Instance)
    /// A type from another module whose schema the caller gives.
    case given(String)

    var isOptional: Bool {
        if case .optional = self { return true }
        return false
    }
}

/// A type of these files with its generic arguments, those of the types around it first.
struct Instance: Hashable, Sendable {
    let declaration: Int
    let arguments: [Shape]
}

/// A type that is one JSON number, string or boolean.
enum Scalar: String, Hashable, Sendable, CaseIterable {
    case bool = "Bool"
    case string = "String"
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
    case double = "Double"
    case timeInterval = "TimeInterval"
    case cgFloat = "CGFloat"
    case float = "Float"
    case decimal = "Decimal"
    case date = "Date"
    case data = "Data"
    case url = "URL"
    case uuid = "UUID"

    var isInteger: Bool { rawValue.contains("Int") && self != .timeInterval }

    var isFloating: Bool { [.double, .timeInterval, .cgFloat, .float].contains(self) }

    /// `true` if `RawRepresentable` types with these raw values are decoded from the raw value (SE-0166).
    var isRawType: Bool { isInteger || [.bool, .string, .double, .timeInterval, .float].contains(self) }
}

/// The JSON that a type of these files is decoded from.
enum Definition: Sendable {
    /// An object: a struct or a class.
    case object([Field])
    /// One of a list of raw values.
    case raw(Scalar, [JSONValue])
    /// Any raw value: a struct that is `RawRepresentable`.
    case anyRaw(Scalar)
    /// An object with one key that names the case. The fields are the associated values.
    case cases([(key: String, fields: [Field])])
    /// The caller's schema.
    case given(JSONValue)

    /// Words for messages; `nil` for an object.
    var otherThanObject: String? {
        switch self {
        case .object, .cases, .given: nil
        case .raw(let scalar, _), .anyRaw(let scalar): "a raw value of `\(scalar.rawValue)`"
        }
    }
}

/// A member of a JSON object.
struct Field: Sendable {
    let key: String
    let shape: Shape
    /// `true` if `decode` reads it, not `decodeIfPresent`: `null` may be accepted, but the key is required.
    let isRequired: Bool
}
