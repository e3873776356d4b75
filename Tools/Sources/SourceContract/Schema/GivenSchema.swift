import JSONText

/// A schema from the caller as a part of a contract's schema. References to its root and to its own definitions are
/// rewritten, because both move.
struct GivenSchema {
    private(set) var schema: JSONValue
    /// Its own definitions, by their new names.
    private(set) var definitions: JSONObject = [:]

    /// - Parameters: - name: The name of the schema among the definitions. - free: Returns an unused name for one of
    ///   its own definitions.
    init(_ given: JSONValue, named name: String, free: (String) -> String) {
        schema = given
        guard var object = given.object else { return }
        let own = object["$defs"]?.object ?? [:]
        for keyword in ["$schema", "$id", "$defs"] { object[keyword] = nil }
        var names: [String: String] = [:]
        for (definition, _) in own { names[definition] = free("\(name).\(definition)") }
        schema = Self.moved(.object(object), to: name, names)
        for (definition, value) in own {
            if let new = names[definition] { definitions[new] = Self.moved(value, to: name, names) }
        }
    }

    private static func moved(_ value: JSONValue, to name: String, _ names: [String: String]) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for (key, member) in object {
                if key == "$ref", let reference = member.string {
                    result[key] = .string(moved(reference: reference, to: name, names))
                } else {
                    result[key] = moved(member, to: name, names)
                }
            }
            return .object(result)
        case .array(let elements): return .array(elements.map { moved($0, to: name, names) })
        case .null, .bool, .number, .string: return value
        }
    }

    private static func moved(reference: String, to name: String, _ names: [String: String]) -> String {
        if reference == "#" { return "#/$defs/\(name)" }
        guard reference.hasPrefix("#"), let pointer = try? JSONPointer(String(reference.dropFirst())),
            pointer.tokens.count == 2, pointer.tokens[0] == "$defs", let new = names[pointer.tokens[1]]
        else { return reference }
        return "#/$defs/\(new)"
    }
}
