import Foundation
import JSONText

/// Reads `islet.yaml` and lays the environment over it: `ISLET_LISTEN`, `ISLET_APPS_0_APNS_SANDBOX_KEY_ID`, and so on
/// for every key. A variable that is empty, or names no key, changes nothing.
enum ConfigurationLoader {
    static let environmentPrefix = "ISLET_"
    static let maximumBytes = 1 << 20

    static func load(
        _ path: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> Settings {
        var value = try read(path)
        let variables = try overlay(environment, on: &value)
        do throws(ConfigurationError) {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            return try SettingsBuilder(file: path, folder: folder, environment: environment)
                .settings(of: decode(value, file: path))
        } catch {
            // Whoever set it by a variable looks in vain for it in the file.
            guard let variable = variables[error.pointer] else { throw error }
            throw ConfigurationError(file: variable, pointer: error.pointer, problem: error.problem)
        }
    }

    private static func read(_ path: String) throws(ConfigurationError) -> JSONValue {
        func problem(_ text: String) -> ConfigurationError {
            ConfigurationError(file: path, pointer: "", problem: text)
        }
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            throw problem("it is a directory: name the file in it with --config")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw problem("it cannot be read: write one (see README), or name another with --config")
        }
        guard data.count <= maximumBytes, let text = String(data: data, encoding: .utf8) else {
            throw problem("it is not UTF-8 text of at most 1 MiB")
        }
        return try YAMLText.value(of: text, file: path)
    }

    private static func decode(_ value: JSONValue, file: String) throws(ConfigurationError) -> ConfigurationFile {
        do throws(JSONDecodingError) {
            return try value.decode(ConfigurationFile.self)
        } catch {
            let pointer = error.pointer.description
            var words = error.description
            if !pointer.isEmpty { words = String(words.dropFirst(pointer.count + ": ".count)) }
            if error.code == .wrongType, error.expected == "string", value[error.pointer]?.isPlainWord == true {
                words += "; put it in quotes, so that it is text"
            }
            throw ConfigurationError(file: file, pointer: pointer, problem: words)
        }
    }

    /// Which variable set what, by pointer.
    private static func overlay(
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

    /// A variable may make a list that the file does not have, and the element behind its last one.
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
    /// What YAML reads from a plain word that is no text.
    fileprivate var isPlainWord: Bool {
        switch self {
        case .null, .bool, .number: true
        case .string, .array, .object: false
        }
    }
}
