import JSONText

/// What JSON a Swift type is decoded from.
indirect enum Shape: Hashable, Sendable {
    case scalar(Scalar)
    case optional(Shape)
    case array(Shape)
    case set(Shape)
    case dictionary(key: Shape, value: Shape)
    /// `[lower, upper]`: the Swift name, and what the bounds are.
    case range(String, Shape)
    /// Elements one by one, such as a `CGPoint`'s.
    case sequence([Shape])
    /// A type of these files.
    case named(Instance)
    /// A type from elsewhere, of which the caller says what it is decoded from.
    case given(String)

    var isOptional: Bool {
        if case .optional = self { return true }
        return false
    }
}

/// A type of these files, with what its generic parameters stand for, those of the types around it first.
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

    /// `RawRepresentable` types with these raw values are decoded from the raw value (SE-0166).
    var isRawType: Bool { isInteger || [.bool, .string, .double, .timeInterval, .float].contains(self) }
}

/// What a type of these files is decoded from.
enum Definition: Sendable {
    /// An object: a struct or a class.
    case object([Field])
    /// A raw value of a list.
    case raw(Scalar, [JSONValue])
    /// Any raw value: a struct that is `RawRepresentable`.
    case anyRaw(Scalar)
    /// An object whose one key names the case; the fields are the associated values.
    case cases([(key: String, fields: [Field])])
    /// What the caller says.
    case given(JSONValue)

    /// Words for messages; `nil`: it is an object.
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
    /// It is decoded by `decode`, not by `decodeIfPresent`: `null` may do, but the key has to be there.
    let isRequired: Bool
}
