import JSONText

/// The types that every app has: the standard library's, Foundation's and Core Graphics's.
enum StandardTypes {
    static let modules: Set<String> = [
        "Swift", "Foundation", "CoreGraphics", "CoreFoundation", "ActivityKit", "LiveActivityAttributes",
    ]

    /// Those that are what they are without generic arguments.
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

    /// How many generic arguments a type takes; `nil`: it is none of these.
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

    /// An optional of an optional is decoded from the same JSON as an optional.
    static func optional(_ shape: Shape) -> Shape { shape.isOptional ? shape : .optional(shape) }

    /// Known to be no Codable, so that no file would help.
    static let notCodable: Set<String> = [
        "Any", "AnyObject", "AnyHashable", "Character", "Substring", "Void", "Never", "Error", "NSObject", "NSDate",
        "NSString", "NSNumber", "NSArray", "NSDictionary", "NSData", "Color", "Image", "Text", "UIImage", "UIColor",
        "CLLocationCoordinate2D", "Result", "Regex",
    ]

    /// Protocols that say nothing about what a type is decoded from.
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
    /// ActivityKit's own protocol, and those that stand on it: `LiveActivityAttributes`' and the simulator's.
    static let attributes: Set<String> = [
        "ActivityAttributes", "IdentifiedActivityAttributes", "IsletAttributes", "SimulatedActivityAttributes",
    ]

    /// What types of `LiveActivityAttributes` are decoded from, by name.
    static let given: [String: JSONValue] = [
        "IsletTag": [
            "type": "object", "required": ["activity"],
            "properties": ["activity": ["type": "string", "x-swift": "String"]], "additionalProperties": false,
        ]
    ]

    /// Attributes of a property that leave its decoding alone.
    static let harmlessPropertyAttributes: Set<String> = [
        "available", "objc", "nonobjc", "MainActor", "usableFromInline", "ObservationIgnored", "preconcurrency",
        "inlinable", "Sendable", "GKInspectable",
    ]

    /// Attributes of a type that leave its decoding alone.
    static let harmlessTypeAttributes: Set<String> = [
        "available", "frozen", "MainActor", "objc", "objcMembers", "dynamicMemberLookup", "dynamicCallable",
        "propertyWrapper", "usableFromInline", "preconcurrency", "unchecked", "globalActor", "retroactive",
        "resultBuilder", "nonobjc", "main",
    ]
}
