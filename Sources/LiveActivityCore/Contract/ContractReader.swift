import IsletBasics
import JSONText

/// Reads a JSON Schema, and refuses keywords that could not be checked as intended.
struct ContractReader {
    /// Maximum number of schemas inside one. Each reference's target counts once.
    static let maximumSchemas = 10_000

    private let top: JSONValue
    private let base: JSONPointer
    private var nodes: [SchemaNode] = []
    private var known: [JSONPointer: Int] = [:]

    private init(_ top: JSONValue, _ base: JSONPointer) {
        self.top = top
        self.base = base
    }

    /// Reads a schema.
    ///
    /// - Parameter base: Place of the schema in the document. `#` in a reference means this place.
    /// - Throws: `ContractError` if the schema cannot be checked, or if objects do not fit it.
    static func read(_ schema: JSONValue, at base: JSONPointer) throws(ContractError) -> ContractSchema {
        var reader = ContractReader(schema, base)
        let root = try reader.schema(schema, base)
        let read = ContractSchema(nodes: reader.nodes, root: root)
        try Recursion(read, reader.known).check()
        guard read.takesObjects(root) else {
            throw ContractError(base, "attributes and content state are objects: `type` is `object`")
        }
        return read
    }

    private mutating func schema(_ value: JSONValue, _ place: JSONPointer) throws(ContractError) -> Int {
        if let id = known[place] { return id }
        guard nodes.count < Self.maximumSchemas else {
            throw ContractError(place, "a contract has at most \(Self.maximumSchemas) schemas")
        }
        let id = nodes.count
        nodes.append(SchemaNode())
        known[place] = id
        switch value {
        case .bool(true): break
        case .bool(false): nodes[id].form = .never
        case .object(let object): nodes[id] = try node(object, place)
        case .null, .number, .string, .array:
            throw ContractError(place, "a schema is an object, true or false, not \(value.kind)")
        }
        return id
    }

    private mutating func node(_ object: JSONObject, _ place: JSONPointer) throws(ContractError) -> SchemaNode {
        try Keywords.check(object, at: place, isTop: place == base)
        var node = SchemaNode()
        try takeDefinitions(object, place)
        try takeForm(object, place, &node)
        node.types = try types(object["type"], place.appending("type"))
        node.values = try list(object["enum"], place.appending("enum"))
        if node.values?.isEmpty == true { throw ContractError(place.appending("enum"), "no value fits an empty list") }
        node.constant = object["const"]
        try takeMembers(object, place, &node)
        try takeItems(object, place, &node)
        node.length = try bounds(object, "minLength", "maxLength", place)
        node.minimum = try number(object, "minimum", place)
        node.maximum = try number(object, "maximum", place)
        node.exclusiveMinimum = try number(object, "exclusiveMinimum", place)
        node.exclusiveMaximum = try number(object, "exclusiveMaximum", place)
        if let hint = object["x-swift"] { try take(hint, place.appending("x-swift"), &node) }
        return node
    }

    // MARK: - References

    private mutating func takeDefinitions(_ object: JSONObject, _ place: JSONPointer) throws(ContractError) {
        guard let definitions = object["$defs"] else { return }
        let here = place.appending("$defs")
        guard case .object(let all) = definitions else { throw ContractError(here, "an object of schemas is expected") }
        for (name, definition) in all { _ = try schema(definition, here.appending(name)) }
    }

    private mutating func takeForm(
        _ object: JSONObject, _ place: JSONPointer, _ node: inout SchemaNode
    ) throws(ContractError) {
        if let reference = object["$ref"] {
            node.form = .reference(try target(of: reference, place.appending("$ref")))
        }
        for keyword in ["anyOf", "oneOf"] {
            guard let branches = try list(object[keyword], place.appending(keyword)) else { continue }
            guard !branches.isEmpty else {
                throw ContractError(place.appending(keyword), "no value fits an empty list")
            }
            var ids: [Int] = []
            for (index, branch) in branches.enumerated() {
                ids.append(try schema(branch, place.appending(keyword).appending(index)))
            }
            node.form = keyword == "anyOf" ? .anyOf(ids) : .oneOf(ids)
        }
    }

    private mutating func target(of reference: JSONValue, _ place: JSONPointer) throws(ContractError) -> Int {
        guard let text = reference.string else { throw ContractError(place, "a text is expected") }
        guard text.hasPrefix("#"), let pointer = try? JSONPointer(String(text.dropFirst())),
            pointer == .root || (pointer.tokens.count == 2 && pointer.tokens[0] == "$defs")
        else {
            throw ContractError(place, "`#` or `#/$defs/NAME` of the same schema is expected, not another document")
        }
        guard let schema = top[pointer] else {
            throw ContractError(place, "there is no `\(pointer)` in \(base)")
        }
        return try self.schema(schema, JSONPointer(tokens: base.tokens + pointer.tokens))
    }

    // MARK: - Keywords

    private mutating func takeMembers(
        _ object: JSONObject, _ place: JSONPointer, _ node: inout SchemaNode
    ) throws(ContractError) {
        if let properties = object["properties"] {
            let here = place.appending("properties")
            guard case .object(let all) = properties else {
                throw ContractError(here, "an object of schemas is expected")
            }
            for (name, property) in all {
                node.properties[name] = try schema(property, here.appending(name))
                node.names.append(name)
            }
        }
        for (index, name) in (try list(object["required"], place.appending("required")) ?? []).enumerated() {
            guard let name = name.string else {
                throw ContractError(place.appending("required").appending(index), "a name is expected")
            }
            node.required.append(name)
        }
        switch object["additionalProperties"] {
        case nil, .bool(true): break
        case .bool(false): node.additional = .refused
        case let other?:
            node.additional = .schema(try schema(other, place.appending("additionalProperties")))
        }
        node.memberCount = try bounds(object, "minProperties", "maxProperties", place)
    }

    private mutating func takeItems(
        _ object: JSONObject, _ place: JSONPointer, _ node: inout SchemaNode
    ) throws(ContractError) {
        let prefix = place.appending("prefixItems")
        for (index, item) in (try list(object["prefixItems"], prefix) ?? []).enumerated() {
            node.prefix.append(try schema(item, prefix.appending(index)))
        }
        if let items = object["items"] {
            if case .array = items {
                throw ContractError(place.appending("items"), "a schema is expected; a list of them is `prefixItems`")
            }
            node.items = try schema(items, place.appending("items"))
        }
        node.itemCount = try bounds(object, "minItems", "maxItems", place)
        if let unique = object["uniqueItems"] {
            guard let unique = unique.bool else {
                throw ContractError(place.appending("uniqueItems"), "true or false is expected")
            }
            node.areItemsUnique = unique
        }
    }

    private func types(_ value: JSONValue?, _ place: JSONPointer) throws(ContractError) -> Set<JSONType>? {
        guard let value else { return nil }
        var types: Set<JSONType> = []
        for name in value.array ?? [value] {
            guard let type = name.string.flatMap(JSONType.init) else {
                throw ContractError(
                    place, "one of \(JSONType.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")) is expected")
            }
            types.insert(type)
        }
        guard !types.isEmpty else { throw ContractError(place, "no value fits an empty list") }
        return types
    }

    private func list(_ value: JSONValue?, _ place: JSONPointer) throws(ContractError) -> [JSONValue]? {
        guard let value else { return nil }
        guard let list = value.array else { throw ContractError(place, "a list is expected") }
        return list
    }

    private func bounds(
        _ object: JSONObject, _ least: String, _ most: String, _ place: JSONPointer
    ) throws(ContractError) -> SchemaNode.Bounds {
        var bounds = SchemaNode.Bounds()
        func count(_ keyword: String) throws(ContractError) -> Int? {
            guard let value = object[keyword] else { return nil }
            guard let count = value.int, count >= 0 else {
                throw ContractError(place.appending(keyword), "a count is expected: 0 or more")
            }
            return count
        }
        bounds.minimum = try count(least) ?? bounds.minimum
        bounds.maximum = try count(most) ?? bounds.maximum
        guard bounds.minimum <= bounds.maximum else {
            throw ContractError(place.appending(most), "it is less than `\(least)`: no value fits")
        }
        return bounds
    }

    private func number(
        _ object: JSONObject, _ keyword: String, _ place: JSONPointer
    ) throws(ContractError)
        -> JSONNumber?
    {
        guard let value = object[keyword] else { return nil }
        guard case .number(let number) = value else {
            throw ContractError(place.appending(keyword), "a number is expected")
        }
        return number
    }

    // MARK: - Swift's types

    private mutating func take(
        _ hint: JSONValue, _ place: JSONPointer, _ node: inout SchemaNode
    ) throws(ContractError) {
        let object = hint.object ?? ["type": hint]
        guard let name = object["type"]?.string else {
            throw ContractError(place, "the name of a Swift type is expected, or an object with `type`")
        }
        let extra: Set<String> =
            switch name {
            case "Date": ["input"]
            case "Dictionary": ["key", "value"]
            default: []
            }
        if let unknown = object.keys.first(where: { $0 != "type" && !extra.contains($0) }) {
            throw ContractError(place.appending(unknown), "`\(name)` has no such detail")
        }
        let type = try swiftType(name, object, place, node)
        let expected = type.jsonTypes
        if let wrong = node.types?.subtracting(expected).subtracting([.null]).first {
            throw ContractError(
                place, "`\(name)` is never JSON's `\(wrong.rawValue)`: see `type` beside it")
        }
        node.swift = type
    }

    private mutating func swiftType(
        _ name: String, _ object: JSONObject, _ place: JSONPointer, _ node: SchemaNode
    ) throws(ContractError) -> SwiftType {
        if let integer = SwiftType.IntegerType(rawValue: name) { return .integer(integer) }
        switch name {
        case "Bool": return .bool
        case "String": return .string
        case "Double", "TimeInterval", "CGFloat": return .double
        case "Float": return .float
        case "Decimal": return .decimal
        case "Data": return .data
        case "URL": return .url
        case "UUID": return .uuid
        case "Set": return .set
        case "Date":
            guard let input = object["input"] else { return .date(.any) }
            guard let known = input.string.flatMap(DateInput.init) else {
                let names = DateInput.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                throw ContractError(place.appending("input"), "one of \(names) is expected")
            }
            return .date(known)
        case "Range", "ClosedRange":
            guard node.items != nil || node.prefix.count >= 2 else {
                throw ContractError(place, "`items` beside it must give the type of the bounds")
            }
            return .range
        case "Dictionary": return try dictionary(object, place, node)
        case "Enum":
            guard !node.properties.isEmpty else {
                throw ContractError(place, "`properties` beside it must list the cases")
            }
            return .cases
        default: throw unknown(name, place)
        }
    }

    private mutating func dictionary(
        _ object: JSONObject, _ place: JSONPointer, _ node: SchemaNode
    ) throws(ContractError) -> SwiftType {
        if let value = object["value"] {
            guard let key = object["key"] else { throw ContractError(place.appending("key"), "a schema is needed") }
            return .pairs(
                key: try schema(key, place.appending("key")), value: try schema(value, place.appending("value")))
        }
        guard object["key"] == .string("Int") else {
            throw ContractError(
                place, "`key` is `Int` for an object with integer keys; other keys need schemas as `key` and `value`")
        }
        return .integerKeys
    }

    private func unknown(_ name: String, _ place: JSONPointer) -> ContractError {
        let names =
            SwiftType.IntegerType.allCases.map(\.rawValue) + [
                "Bool", "String", "Double", "TimeInterval", "CGFloat", "Float", "Decimal", "Date", "Data", "URL",
                "UUID", "Set", "Range", "ClosedRange", "Dictionary", "Enum",
            ]
        let near = Spelling.meant(by: name, among: names).map { "; is `\($0)` meant?" }
        return ContractError(
            place, "no Swift type of this name is known" + (near ?? ": leave `x-swift` out, and JSON Schema decides"))
    }
}
