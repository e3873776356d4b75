import JSONText

/// The content of a contract's schema, with references resolved and without `null`.
struct Form {
    let schema: JSONObject
    let takesNull: Bool
    let takesAnything: Bool
    /// The reference by which the schema was reached, if any.
    let reference: String?

    init(_ value: JSONValue, in top: JSONValue) {
        var value = value
        var takesNull = false
        var last: String?
        // Generated contracts have no cycles that consist of references alone. In other contracts the cycle is cut.
        for _ in 0..<16 {
            if let reference = value.object?["$ref"]?.string {
                last = reference
                value = (try? JSONPointer(String(reference.dropFirst()))).flatMap { top[$0] } ?? true
            } else if let branches = value.object?["anyOf"]?.array {
                let others = branches.filter { $0 != ["type": "null"] }
                guard others.count == 1 else { break }
                takesNull = takesNull || others.count < branches.count
                value = others[0]
            } else {
                break
            }
        }
        schema = value.object ?? [:]
        reference = last
        takesAnything = value == true || value == [:]
        let types = schema["type"]?.array?.compactMap(\.string) ?? []
        self.takesNull = takesNull || types.contains("null") || takesAnything
    }

    /// JSON's type. Integers are numbers.
    var kind: String? {
        let types = (schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string].compactMap { $0 })
            .filter { $0 != "null" }
        guard types.count == 1 else { return nil }
        return types[0] == "integer" ? "number" : types[0]
    }

    var swift: JSONValue? { schema["x-swift"] }
    var swiftName: String? { swift?.string ?? swift?.object?["type"]?.string }
    var isEnum: Bool { swiftName == "Enum" }
    var isRange: Bool { swiftName == "Range" || swiftName == "ClosedRange" }
    var properties: JSONObject { schema["properties"]?.object ?? [:] }
    var required: [String] { schema["required"]?.array?.compactMap(\.string) ?? [] }
    /// The schemas of an array's elements by position. A range may state the type of both bounds once.
    var prefix: [JSONValue]? {
        schema["prefixItems"]?.array ?? (isRange ? schema["items"].map { [$0, $0] } : nil)
    }

    /// Returns the schemas of a keyword such as `anyOf`.
    func branches(_ keyword: String) -> [JSONValue]? { schema[keyword]?.array }

    /// The schema of a dictionary's values.
    var items: JSONValue? {
        guard let items = schema["additionalProperties"], items.bool == nil else { return nil }
        return items
    }

    var pairs: (key: JSONValue, value: JSONValue)? {
        guard let hint = swift?.object, let key = hint["key"], let value = hint["value"] else { return nil }
        return (key, value)
    }

    var words: String { swiftName ?? schema["type"]?.string ?? "something else" }

    // MARK: - Scalars

    private static let integers = [
        "integer": -63...63, "Int8": -7...7, "Int16": -15...15, "Int32": -31...31, "Int64": -63...63, "Int": -63...63,
        "UInt8": 0...8,
        "UInt16": 0...16, "UInt32": 0...32, "UInt64": 0...64, "UInt": 0...64,
    ]
    private static let floating: Set<String> = [
        "number", "Double", "TimeInterval", "CGFloat", "Float", "Decimal",
    ]

    /// Returns `true` if this scalar type decodes everything that the other type encodes, with the same meaning.
    func takesWhat(_ other: Form) -> Bool {
        guard let kind, kind == other.kind else { return kind == nil && schema == other.schema }
        let (name, written) = (scalarName ?? kind, other.scalarName ?? kind)
        if name == written || kind == "boolean" { return true }
        if let range = Self.integers[name] {
            guard let others = Self.integers[written] else { return false }
            return range.lowerBound <= others.lowerBound && others.upperBound <= range.upperBound
        }
        if Self.floating.contains(name) {
            let isSingle = name == "Float" && written != "Float"
            return Self.integers[written] != nil || (Self.floating.contains(written) && !isSingle)
        }
        // Any text is a String, but not every text is a UUID.
        return name == "String" || name == "string"
    }

    /// The Swift name, or JSON's without one. Only JSON's name then distinguishes integers from other numbers.
    private var scalarName: String? {
        swiftName
            ?? (schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? ""]).first { $0 != "null" }
    }

    /// The range of whole numbers of its type.
    var wholeNumbers: ClosedRange<Double>? {
        guard let bits = scalarName.flatMap({ Self.integers[$0] }) else { return nil }
        func power(_ bits: Int) -> Double { Double(sign: .plus, exponent: bits, significand: 1) }
        return (bits.lowerBound == 0 ? 0 : -power(-bits.lowerBound))...(power(bits.upperBound) - 1)
    }
}

extension JSONObject {
    /// `true` if it contains a reference.
    var hasReferences: Bool { JSONValue.object(self).hasReferences }
}

extension JSONValue {
    var hasReferences: Bool {
        switch self {
        case .object(let object): object["$ref"] != nil || object.contains { $0.value.hasReferences }
        case .array(let elements): elements.contains(where: \.hasReferences)
        case .null, .bool, .number, .string: false
        }
    }
}
