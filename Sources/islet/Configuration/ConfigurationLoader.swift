import Foundation
import JSONText

/// Reads `islet.yaml` and applies the environment on top of it.
///
/// Every key has a variable, such as `ISLET_LISTEN` or `ISLET_APPS_0_APNS_SANDBOX_KEY_ID`. Variables that are empty or
/// name no key have no effect.
enum ConfigurationLoader {
    static let environmentPrefix = "ISLET_"
    static let maximumBytes = 1 << 20

    /// Maximum number of unreadable keys to remove, so that one run finds the other problems too.
    private static let maximumRepairs = 100

    /// The settings that a configuration describes, and all its problems.
    struct Examination {
        /// `nil` if there are problems.
        var settings: Settings?
        var problems: [ConfigurationError] = []
        /// Names of the variables that set a key, by the key's pointer.
        var variables: [String: String] = [:]
        /// Text of the file; `nil` if it cannot be read.
        var text: String?
    }

    static func load(
        _ path: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> Settings {
        let examination = examine(path, environment: environment)
        if let problem = examination.problems.first { throw problem }
        guard let settings = examination.settings else {
            throw ConfigurationError(file: path, pointer: "", problem: "the file cannot be read")
        }
        return settings
    }

    static func examine(
        _ path: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Examination {
        var examination = Examination()
        do throws(ConfigurationError) {
            let text = try read(path)
            examination.text = text
            var value = try YAMLText.value(of: text, file: path)
            spellOut(&value)
            examination.variables = try overlay(environment, on: &value)
            let (file, problems) = decode(ConfigurationFile.self, value, file: path)
            examination.problems = problems
            if let file {
                let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
                let builder = SettingsBuilder(file: path, folder: folder, environment: environment)
                let settings = builder.settings(of: file)
                // A key that `decode` removed is now missing. That is not a second problem.
                let known = Set(problems.map(\.pointer))
                examination.problems += builder.problems.all.filter { !known.contains($0.pointer) }
                if examination.problems.isEmpty { examination.settings = settings }
            }
        } catch {
            examination.problems.append(error)
        }
        // The message names the variable, because the file does not contain a value that a variable has set.
        let variables = examination.variables
        examination.problems = examination.problems.map { problem in
            guard let variable = variables[problem.pointer] else { return problem }
            return ConfigurationError(file: variable, pointer: problem.pointer, problem: problem.problem)
        }
        return examination
    }

    static func read(_ path: String) throws(ConfigurationError) -> String {
        func problem(_ text: String) -> ConfigurationError {
            ConfigurationError(file: path, pointer: "", problem: text)
        }
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            throw problem("this is a directory: name the file in it with --config")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw problem(
                "the file cannot be read: create it with `islet config reference > islet.yaml`, or name another file "
                    + "with --config")
        }
        guard data.count <= maximumBytes, let text = String(data: data, encoding: .utf8) else {
            throw problem("the file is not UTF-8 text of at most 1 MiB")
        }
        return text
    }

    /// Decodes the file's values, and removes those that cannot be decoded so that it can find further problems.
    ///
    /// Returns `nil` as the value if a required key is missing, or if problems remain after `maximumRepairs` removals.
    static func decode<Value: Decodable>(
        _ type: Value.Type, _ value: JSONValue, file: String
    ) -> (Value?, [ConfigurationError]) {
        var value = value
        var problems: [ConfigurationError] = []
        for _ in 0..<maximumRepairs {
            do throws(JSONDecodingError) {
                return (try value.decode(type), problems)
            } catch {
                let pointer = error.pointer.description
                // The problem of this key is already recorded: it was removed, so it is now missing.
                if problems.contains(where: { $0.pointer == pointer }) { return (nil, problems) }
                problems.append(ConfigurationError(file: file, pointer: pointer, problem: words(error, in: value)))
                guard error.code != .missing, let rest = value.removing(error.pointer) else { return (nil, problems) }
                value = rest
            }
        }
        return (nil, problems)
    }

    private static func words(_ error: JSONDecodingError, in value: JSONValue) -> String {
        let pointer = error.pointer.description
        var words = error.description
        if !pointer.isEmpty { words = String(words.dropFirst(pointer.count + ": ".count)) }
        if error.code == .wrongType, error.expected == "string", value[error.pointer]?.isPlainWord == true {
            words += "; put it in quotes, so that it is text"
        }
        return words
    }

    /// Expands the short form `metrics: false` to `metrics: {served: false}`.
    private static func spellOut(_ value: inout JSONValue) {
        guard case .object(var object) = value, case .bool(let isServed)? = object["metrics"] else { return }
        object["metrics"] = ["served": .bool(isServed)]
        value = .object(object)
    }

    /// Writes the values of variables into the file's values, and returns the variables' names by pointer.
    static func overlay(
        _ environment: [String: String], on value: inout JSONValue
    ) throws(ConfigurationError) -> [String: String] {
        var variables: [String: String] = [:]
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix(environmentPrefix) {
            guard !text.isEmpty, let key = EnvironmentNames.key(of: String(name.dropFirst(environmentPrefix.count)))
            else { continue }
            let scalar = key.kind == .text ? JSONValue.string(text) : YAMLText.scalar(text)
            do throws(JSONPointerError) {
                try makeElements(on: key.pointer, in: &value)
                try value.set(scalar, at: key.pointer)
            } catch {
                throw ConfigurationError(file: name, pointer: key.pointer.description, problem: error.detail)
            }
            variables[key.pointer.description] = name
        }
        return variables
    }

    /// Creates the list elements that a variable may add: a list that the file does not have, or the element after the
    /// last.
    private static func makeElements(on pointer: JSONPointer, in value: inout JSONValue) throws(JSONPointerError) {
        for (depth, token) in pointer.tokens.enumerated() {
            guard let index = Int(token) else { continue }
            let list = JSONPointer(tokens: Array(pointer.tokens[..<depth]))
            if value[list] == nil { try value.set([], at: list) }
            guard value[list]?.array?.count == index else { continue }
            try value.set(depth + 1 == pointer.tokens.count ? .null : [:], at: list.appending("-"))
        }
    }
}

extension JSONValue {
    /// Returns a copy without one member of an object, or `nil` if the pointer names no member.
    fileprivate func removing(_ pointer: JSONPointer) -> JSONValue? {
        guard let name = pointer.tokens.last else { return nil }
        let parent = JSONPointer(tokens: Array(pointer.tokens.dropLast()))
        guard var object = self[parent]?.object, object[name] != nil else { return nil }
        object[name] = nil
        var copy = self
        guard (try? copy.set(.object(object), at: parent)) != nil else { return nil }
        return copy
    }

    /// `true` if YAML reads this value from a plain word that is no text: null, a boolean or a number.
    fileprivate var isPlainWord: Bool {
        switch self {
        case .null, .bool, .number: true
        case .string, .array, .object: false
        }
    }
}
