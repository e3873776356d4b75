import JSONText
import Yams

/// YAML as JSON values, so that one decoder refuses unknown keys and names the place.
enum YAMLText {
    static func value(of node: Node, file: String) throws(ConfigurationError) -> JSONValue {
        switch node {
        case .scalar(let scalar):
            return scalar.style == .plain ? Self.scalar(scalar.string) : .string(scalar.string)
        case .sequence(let sequence):
            var values: [JSONValue] = []
            for element in sequence { values.append(try value(of: element, file: file)) }
            return .array(values)
        case .mapping(let mapping):
            var object: JSONObject = [:]
            for (key, element) in mapping {
                guard let name = key.scalar?.string else {
                    throw ConfigurationError(file: file, pointer: "", problem: "a key is not a text")
                }
                guard object[name] == nil else {
                    throw ConfigurationError(file: file, pointer: "", problem: "the key `\(name)` stands twice\(line(key))")
                }
                object[name] = try value(of: element, file: file)
            }
            return .object(object)
        case .alias:
            throw ConfigurationError(file: file, pointer: "", problem: "aliases are not taken\(line(node))")
        }
    }

    /// A plain scalar by the JSON schema of YAML 1.2: null, true, false and numbers; all else is text.
    static func scalar(_ text: String) -> JSONValue {
        switch text {
        case "", "~", "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: return JSONNumber(text).map(JSONValue.number) ?? .string(text)
        }
    }

    private static func line(_ node: Node) -> String { node.mark.map { " (line \($0.line))" } ?? "" }
}
