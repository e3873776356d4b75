import Foundation
import JSONText
import Yams

/// Reads `islet.yaml` and lays the environment over it: `ISLET_LISTEN`, `ISLET_APPS_0_APNS_SANDBOX_KEY_ID`, and so on for
/// every key.
enum ConfigurationLoader {
    static let environmentPrefix = "ISLET_"
    static let maximumBytes = 1 << 20

    static func load(
        _ path: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> Settings {
        var value = try read(path)
        try overlay(environment, on: &value, file: path)
        let file: ConfigurationFile
        do throws(JSONDecodingError) {
            file = try value.decode(ConfigurationFile.self)
        } catch {
            throw ConfigurationError(file: path, pointer: "", problem: error.description)
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return try SettingsBuilder(file: path, folder: folder, environment: environment).settings(of: file)
    }

    private static func read(_ path: String) throws(ConfigurationError) -> JSONValue {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(
                file: path, pointer: "",
                problem: "it cannot be read: write one (see README), or name another with --config")
        }
        guard data.count <= maximumBytes, let text = String(data: data, encoding: .utf8) else {
            throw ConfigurationError(file: path, pointer: "", problem: "it is not UTF-8 text of at most 1 MiB")
        }
        do {
            guard let node = try Yams.compose(yaml: text) else {
                throw ConfigurationError(file: path, pointer: "", problem: "it is empty")
            }
            return try YAMLText.value(of: node, file: path)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(file: path, pointer: "", problem: "it is not YAML: \(error)")
        }
    }

    private static func overlay(
        _ environment: [String: String], on value: inout JSONValue, file: String
    ) throws(ConfigurationError) {
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix(environmentPrefix) {
            guard let pointer = EnvironmentNames.pointer(of: String(name.dropFirst(environmentPrefix.count))) else {
                continue
            }
            do throws(JSONPointerError) {
                try value.set(YAMLText.scalar(text), at: pointer)
            } catch {
                throw ConfigurationError(file: name, pointer: pointer.description, problem: error.detail)
            }
        }
    }
}

/// Which key of the configuration an environment variable names.
enum EnvironmentNames {
    private indirect enum Shape: Sendable {
        case leaf
        case object([String: Shape])
        case list(Shape)
    }

    private static let key = Shape.object([
        "keyFile": .leaf, "keyEnvironment": .leaf, "keyID": .leaf, "teamID": .leaf, "endpoint": .leaf,
        "trustRoots": .leaf,
    ])

    private static let policy = Shape.object([
        "coalescingWindow": .leaf, "startGrace": .leaf, "startWindow": .leaf, "startStaleAfter": .leaf,
        "staleAfter": .leaf, "highPriorityInterval": .leaf, "reusable": .leaf, "start": .leaf, "restart": .leaf,
        "highWhen": .object(["pointer": .leaf, "values": .list(.leaf)]),
        "startAlert": .object(["title": .leaf, "body": .leaf, "sound": .leaf]),
    ])

    private static let file = Shape.object([
        "listen": .leaf, "storage": .leaf,
        "apps": .list(
            .object([
                "bundleID": .leaf, "apns": .object(["sandbox": key, "production": key]),
                "activities": .list(
                    .object([
                        "type": .leaf, "attributesType": .leaf, "activityIDAttribute": .leaf, "policy": policy,
                    ])),
            ])),
    ])

    /// `nil` for a name that is no key's, such as that of a secret.
    static func pointer(of name: String) -> JSONPointer? {
        resolve(name[...], file).map { JSONPointer(tokens: $0) }
    }

    private static func resolve(_ name: Substring, _ shape: Shape) -> [String]? {
        switch shape {
        case .leaf: return name.isEmpty ? [] : nil
        case .list(let element):
            let digits = name.prefix { $0.isASCII && $0.isNumber }
            guard !digits.isEmpty else { return nil }
            return resolve(next(name.dropFirst(digits.count)), element).map { [String(digits)] + $0 }
        case .object(let members):
            for (key, member) in members {
                let word = snake(key)
                guard name.hasPrefix(word) else { continue }
                let rest = name.dropFirst(word.count)
                guard rest.isEmpty || rest.hasPrefix("_") else { continue }
                if let tail = resolve(next(rest), member) { return [key] + tail }
            }
            return nil
        }
    }

    private static func next(_ rest: Substring) -> Substring { rest.hasPrefix("_") ? rest.dropFirst() : rest }

    /// `keyID` is `KEY_ID`, `staleAfter` is `STALE_AFTER`.
    private static func snake(_ key: String) -> String {
        var words = ""
        var wasLower = false
        for character in key {
            if character.isUppercase, wasLower { words.append("_") }
            wasLower = character.isLowercase
            words += character.uppercased()
        }
        return words
    }
}
