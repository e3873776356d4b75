import JSONText

/// Types that every app has: the standard library's, Foundation's and Core Graphics's.
enum StandardTypes {
    static let modules: Set<String> = [
        "Swift", "Foundation", "CoreGraphics", "CoreFoundation", "ActivityKit", "LiveActivityAttributes",
    ]

    /// Returns the shape of a type without generic arguments.
    static func plain(_ name: String) -> Shape? {
        switch name {
        case "Float64": return .scalar(.double)
        case "Float32": return .scalar(.float)
        case "NSTimeInterval", "CFTimeInterval": return .scalar(.timeInterval)
        case "CGPoint", "CGSize", "CGVector": return point
        case "CGRect": return .sequence([point, point])
        case "Duration": return .sequence([.scalar(.int64), .scalar(.uint64)])
        default: return Scalar(rawValue: name).map(Shape.scalar)
        }
    }

    private static let point = Shape.sequence([.scalar(.cgFloat), .scalar(.cgFloat)])

    /// Returns the number of generic arguments of a type; `nil` if it is not one of these.
    static func arity(_ name: String) -> Int? {
        switch name {
        case "Dictionary": 2
        case "Optional", "Array", "ContiguousArray", "ArraySlice", "Set", "Range", "ClosedRange", "CountableRange",
            "CountableClosedRange", "PartialRangeFrom", "PartialRangeUpTo", "PartialRangeThrough":
            1
        default: nil
        }
    }

    static func generic(_ name: String, _ arguments: [Shape]) -> Shape? {
        guard let first = arguments.first, arity(name) == arguments.count else { return nil }
        switch name {
        case "Dictionary": return .dictionary(key: first, value: arguments[1])
        case "Optional": return optional(first)
        case "Array", "ContiguousArray", "ArraySlice": return .array(first)
        case "Set": return .set(first)
        case "Range", "CountableRange": return .range("Range", first)
        case "ClosedRange", "CountableClosedRange": return .range("ClosedRange", first)
        default: return .sequence([first])
        }
    }

    /// Returns an optional. An optional of an optional is decoded from the same JSON as an optional.
    static func optional(_ shape: Shape) -> Shape { shape.isOptional ? shape : .optional(shape) }

    /// Types that are known not to be Codable, so that no further file would help.
    static let notCodable: Set<String> = [
        "Any", "AnyObject", "AnyHashable", "Character", "Substring", "Void", "Never", "Error", "NSObject", "NSDate",
        "NSString", "NSNumber", "NSArray", "NSDictionary", "NSData", "Color", "Image", "Text", "UIImage", "UIColor",
        "CLLocationCoordinate2D", "Result", "Regex",
    ]

    /// Protocols that do not affect decoding.
    static let harmlessProtocols: Set<String> = [
        "Codable", "Decodable", "Encodable", "Hashable", "Equatable", "Sendable", "Identifiable", "Comparable",
        "CustomStringConvertible", "CustomDebugStringConvertible", "LosslessStringConvertible", "CaseIterable",
        "ActivityAttributes", "IdentifiedActivityAttributes", "IsletAttributes", "SimulatedActivityAttributes",
        "CodingKey", "Error", "LocalizedError",
        "ExpressibleByStringLiteral", "ExpressibleByIntegerLiteral", "ExpressibleByArrayLiteral", "Strideable",
        "AdditiveArithmetic", "SendableMetatype", "Copyable", "BitwiseCopyable", "AnyObject", "ObservableObject",
        "RawRepresentable", "OptionSet", "SetAlgebra", "AppEnum", "Sequence", "Collection", "NSObject",
        "CodingKeyRepresentable", "Plottable", "Transferable",
    ]

    static let decoding: Set<String> = ["Codable", "Decodable"]
    /// ActivityKit's own protocol, and those that refine it: `LiveActivityAttributes`' and the simulator's.
    static let attributes: Set<String> = [
        "ActivityAttributes", "IdentifiedActivityAttributes", "IsletAttributes", "SimulatedActivityAttributes",
    ]

    /// Schemas of the types of `LiveActivityAttributes`, by name.
    static let given: [String: JSONValue] = [
        "IsletTag": [
            "type": "object", "required": ["activity"],
            "properties": ["activity": ["type": "string", "x-swift": "String"]], "additionalProperties": false,
        ]
    ]

    /// Attributes of a property that do not affect its decoding.
    static let harmlessPropertyAttributes: Set<String> = [
        "available", "objc", "nonobjc", "MainActor", "usableFromInline", "ObservationIgnored", "preconcurrency",
        "inlinable", "Sendable", "GKInspectable",
    ]

    /// Attributes of a type that do not affect its decoding.
    static let harmlessTypeAttributes: Set<String> = [
        "available", "frozen", "MainActor", "objc", "objcMembers", "dynamicMemberLookup", "dynamicCallable",
        "propertyWrapper", "usableFromInline", "preconcurrency", "unchecked", "globalActor", "retroactive",
        "resultBuilder", "nonobjc", "main",
    ]
}
