import JSONText

/// Writes the result as a JSON Schema 2020-12.
struct SchemaWriter {
    private let source: ContractSource
    private let root: Instance
    private var names: [Instance: String] = [:]
    private var taken: Set<String> = []
    private var given: [String: String] = [:]
    private var waiting: [Instance] = []

    private init(_ source: ContractSource, _ root: Instance) {
        self.source = source
        self.root = root
    }

    /// Returns the schema of one type, complete in itself.
    static func schema(of root: Instance, in source: ContractSource) -> JSONValue {
        var writer = SchemaWriter(source, root)
        var top: JSONObject = ["$schema": "https://json-schema.org/draft/2020-12/schema"]
        for (key, value) in writer.definition(of: root).object ?? [:] { top[key] = value }
        var definitions: JSONObject = [:]
        while !writer.waiting.isEmpty {
            let next = writer.waiting.removeFirst()
            guard let name = writer.names[next] else { continue }
            if case .given(let schema) = source.definitions[next] {
                writer.add(schema, named: name, to: &definitions)
            } else {
                definitions[name] = writer.definition(of: next)
            }
        }
        for (type, name) in writer.given.sorted(by: { $0.value < $1.value }) {
            if let schema = source.schemas[type] { writer.add(schema, named: name, to: &definitions) }
        }
        if !definitions.isEmpty { top["$defs"] = .object(definitions) }
        return .object(top)
    }

    private mutating func add(_ given: JSONValue, named name: String, to definitions: inout JSONObject) {
        var taken = taken
        let part = GivenSchema(given, named: name) { wanted in
            let plain = Self.plain(wanted)
            let free =
                taken.contains(plain) ? (2...).lazy.map { "\(plain)-\($0)" }.first { !taken.contains($0) } : plain
            taken.insert(free ?? plain)
            return free ?? plain
        }
        self.taken = taken
        definitions[name] = part.schema
        for (name, schema) in part.definitions { definitions[name] = schema }
    }

    // MARK: - Types of the files

    private mutating func reference(to instance: Instance) -> JSONValue {
        guard instance != root else { return ["$ref": "#"] }
        if let name = names[instance] { return ["$ref": .string("#/$defs/\(name)")] }
        let name = freeName(for: instance)
        names[instance] = name
        taken.insert(name)
        waiting.append(instance)
        return ["$ref": .string("#/$defs/\(name)")]
    }

    private mutating func reference(toGiven type: String) -> JSONValue {
        if let name = given[type] { return ["$ref": .string("#/$defs/\(name)")] }
        let plain = Self.plain(type)
        let name = taken.contains(plain) ? "\(plain)-given" : plain
        given[type] = name
        taken.insert(name)
        return ["$ref": .string("#/$defs/\(name)")]
    }

    /// Returns the type's name. If two types have the same one, it adds the names of the types around it, or a number.
    private func freeName(for instance: Instance) -> String {
        let path = source.index.path(instance.declaration)
        let suffix = Self.plain(instance.arguments.map { words($0) }.joined(separator: "-"))
        for count in 1...path.count {
            let name = Self.plain(path.suffix(count).joined(separator: ".")) + (suffix.isEmpty ? "" : "-\(suffix)")
            if !taken.contains(name) { return name }
        }
        let last = Self.plain(path.joined(separator: "."))
        return (2...).lazy.map { "\(last)-\($0)" }.first { !taken.contains($0) } ?? last
    }

    /// Returns the text with only the characters that a URI's fragment may contain unescaped.
    private static func plain(_ text: String) -> String {
        String(
            text.unicodeScalars.map { scalar -> Character in
                scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789_.-".unicodeScalars.contains(scalar))
                    ? Character(scalar) : "_"
            })
    }

    private func words(_ shape: Shape) -> String {
        switch shape {
        case .scalar(let scalar): scalar.rawValue
        case .optional(let inner): "Optional-\(words(inner))"
        case .array(let inner): "Array-\(words(inner))"
        case .set(let inner): "Set-\(words(inner))"
        case .dictionary(let key, let value): "Dictionary-\(words(key))-\(words(value))"
        case .range(let name, let inner): "\(name)-\(words(inner))"
        case .sequence(let shapes): shapes.map(words).joined(separator: "-")
        case .given(let name): name
        case .named(let instance):
            ([source.index.all[instance.declaration].name] + instance.arguments.map(words)).joined(separator: "-")
        }
    }

    private mutating func definition(of instance: Instance) -> JSONValue {
        switch source.definitions[instance] {
        case .object(let fields): return .object(object(fields))
        case .raw(let scalar, let values):
            var schema = Self.scalar(scalar)
            schema["enum"] = .array(values)
            return .object(schema)
        case .anyRaw(let scalar): return .object(Self.scalar(scalar))
        case .cases(let cases): return enumeration(cases)
        case .given(let schema): return schema
        case nil: return true
        }
    }

    private mutating func object(_ fields: [Field]) -> JSONObject {
        var properties: JSONObject = [:]
        for field in fields { properties[field.key] = schema(of: field.shape) }
        var object: JSONObject = ["type": "object"]
        let required = fields.filter(\.isRequired).map { JSONValue.string($0.key) }
        if !required.isEmpty { object["required"] = .array(required) }
        object["properties"] = .object(properties)
        object["additionalProperties"] = false
        return object
    }

    private mutating func enumeration(_ cases: [(key: String, fields: [Field])]) -> JSONValue {
        var properties: JSONObject = [:]
        for (key, fields) in cases { properties[key] = .object(object(fields)) }
        return [
            "type": "object", "x-swift": "Enum", "minProperties": 1, "maxProperties": 1,
            "properties": .object(properties), "additionalProperties": false,
        ]
    }

    // MARK: - Shapes

    private mutating func schema(of shape: Shape) -> JSONValue {
        switch shape {
        case .scalar(let scalar): return .object(Self.scalar(scalar))
        case .optional(let inner): return optional(schema(of: inner))
        case .array(let inner): return ["type": "array", "items": schema(of: inner)]
        case .set(let inner): return ["type": "array", "x-swift": "Set", "items": schema(of: inner)]
        case .dictionary(.scalar(.string), let value):
            return ["type": "object", "additionalProperties": schema(of: value)]
        case .dictionary(.scalar(.int), let value):
            return [
                "type": "object", "x-swift": ["type": "Dictionary", "key": "Int"],
                "additionalProperties": schema(of: value),
            ]
        case .dictionary(let key, let value):
            let hint: JSONValue = ["type": "Dictionary", "key": schema(of: key), "value": schema(of: value)]
            return ["type": "array", "x-swift": hint]
        case .range(let name, let bound):
            let bound = schema(of: bound)
            return ["type": "array", "x-swift": .string(name), "minItems": 2, "prefixItems": [bound, bound]]
        case .sequence(let shapes):
            var items: [JSONValue] = []
            for shape in shapes { items.append(schema(of: shape)) }
            return ["type": "array", "minItems": .number(JSONNumber(items.count)), "prefixItems": .array(items)]
        case .named(let instance): return reference(to: instance)
        case .given(let name): return reference(toGiven: name)
        }
    }

    private func optional(_ schema: JSONValue) -> JSONValue {
        guard var object = schema.object, let type = object["type"]?.string else {
            return ["anyOf": [schema, ["type": "null"]]]
        }
        object["type"] = [.string(type), "null"]
        return .object(object)
    }

    private static func scalar(_ scalar: Scalar) -> JSONObject {
        var schema: JSONObject =
            switch scalar {
            case .bool: ["type": "boolean"]
            case .string, .data, .url, .uuid: ["type": "string"]
            case .double, .timeInterval, .cgFloat, .float, .decimal, .date: ["type": "number"]
            default: ["type": "integer"]
            }
        schema["x-swift"] = .string(scalar.rawValue)
        switch scalar {
        case .data: schema["contentEncoding"] = "base64"
        case .url: schema["format"] = "uri-reference"
        case .uuid: schema["format"] = "uuid"
        case .int8: (schema["minimum"], schema["maximum"]) = (-128, 127)
        case .int16: (schema["minimum"], schema["maximum"]) = (-32_768, 32_767)
        case .int32: (schema["minimum"], schema["maximum"]) = (-2_147_483_648, 2_147_483_647)
        case .uint8: (schema["minimum"], schema["maximum"]) = (0, 255)
        case .uint16: (schema["minimum"], schema["maximum"]) = (0, 65_535)
        case .uint32: (schema["minimum"], schema["maximum"]) = (0, 4_294_967_295)
        case .uint, .uint64: schema["minimum"] = 0
        default: break
        }
        return schema
    }
}
