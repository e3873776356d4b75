import JSONText
import Yams

/// YAML as JSON values, so that one decoder can refuse unknown keys and report their places.
enum YAMLText {
    static func value(of text: String, file: String) throws(ConfigurationError) -> JSONValue {
        do {
            let parser = try Parser(yaml: text)
            // The parser must outlive its nodes, because they hold their anchors weakly.
            return try withExtendedLifetime(parser) {
                guard let root = try parser.singleRoot() else {
                    throw ConfigurationError(file: file, pointer: "", problem: "the file is empty")
                }
                return try value(of: root, file: file)
            }
        } catch let error as ConfigurationError {
            throw error
        } catch let error as YamlError {
            throw ConfigurationError(file: file, pointer: "", problem: words(error))
        } catch {
            throw ConfigurationError(file: file, pointer: "", problem: "the file is not YAML")
        }
    }

    /// Returns the error in one line, without the lines of the file that Yams quotes, which may contain a secret.
    private static func words(_ error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "the file is not YAML: line \(mark.line), column \(mark.column): \(problem)"
        case .duplicatedKeysInMapping(let keys, let context):
            "duplicate key \(keys.sorted().map { "`\($0)`" }.joined(separator: ", ")) (in the object that begins in "
                + "line \(context.mark.line))"
        case .reader(let problem, _, _, _): "the file is not YAML: \(problem)"
        default: "the file is not YAML"
        }
    }

    /// Returns the value of a node, and refuses anchors and aliases.
    ///
    /// Yams replaces an alias by the anchored node, so a small file can describe a huge value. An anchor is refused
    /// before any node that repeats it is read.
    private static func value(of node: Node, file: String) throws(ConfigurationError) -> JSONValue {
        func problem(_ text: String, _ node: Node) -> ConfigurationError {
            let line = node.mark.map { " (line \($0.line))" } ?? ""
            return ConfigurationError(file: file, pointer: "", problem: text + line)
        }
        guard node.anchor == nil else {
            throw problem("YAML anchors and aliases are not supported: repeat the value", node)
        }
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
                guard let name = key.scalar?.string else { throw problem("a key is not a string", key) }
                guard object[name] == nil else { throw problem("duplicate key `\(name)`", key) }
                object[name] = try value(of: element, file: file)
            }
            return .object(object)
        case .alias:
            throw problem("YAML anchors and aliases are not supported: repeat the value", node)
        }
    }

    /// Returns a plain scalar by the JSON schema of YAML 1.2: null, true, false and numbers. Everything else is text.
    static func scalar(_ text: String) -> JSONValue {
        switch text {
        case "", "~", "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: return JSONNumber(text).map(JSONValue.number) ?? .string(text)
        }
    }
}

extension YAMLText {
    /// Returns the line of a pointer's value, or of the deepest part of the pointer that exists.
    static func line(of pointer: JSONPointer, in text: String) -> Int? {
        guard let parser = try? Parser(yaml: text) else { return nil }
        return withExtendedLifetime(parser) {
            guard let root = try? parser.singleRoot() else { return nil }
            var node: Node = root
            var line: Int?
            for token in pointer.tokens {
                switch node {
                case .mapping(let mapping):
                    guard let (key, value) = mapping.first(where: { $0.key.scalar?.string == token }) else {
                        return line
                    }
                    line = key.mark?.line ?? line
                    node = value
                case .sequence(let sequence):
                    guard let index = Int(token), sequence.indices.contains(index) else { return line }
                    node = sequence[index]
                    line = node.mark?.line ?? line
                case .scalar, .alias: return line
                }
            }
            return line
        }
    }
}
