import APNSModel
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityStorage

/// The printed form of what `islet init` has made.
struct InitReport {
    let config: String
    let answers: InitAnswers
    let outcome: InitFiles.Outcome

    private var environment: APNSEnvironment {
        switch answers.key {
        case .apple(let key): key.environment
        case .simulator: .sandbox
        }
    }

    /// Commands to run next.
    var next: [String] {
        let option = config == ConfigurationOption.standard ? "" : " --config \(Self.quoted(config))"
        switch answers.key {
        case .apple: return ["islet doctor\(option)", "islet serve\(option)"]
        case .simulator:
            let standard = SimulatorFiles.Standard.directory
            var simulate = "islet simulate"
            if config != ConfigurationOption.standard {
                let folder = URL(fileURLWithPath: config).deletingLastPathComponent()
                simulate += " --directory \(Self.quoted(folder.appendingPathComponent(standard).path))"
            }
            let settings = outcome.settings
            let server = ServerAddress(
                listening: settings.host, port: settings.port, isEncrypted: settings.certificates != nil)
            if server.url != "http://\(ConfigurationKey.Default.listen)" { simulate += " --backend \(server.url)" }
            return [simulate, "islet serve\(option)"]
        }
    }

    /// Warnings of the key of Apple's portal. Nobody can misuse the simulator's.
    var warnings: [String] {
        guard answers.key != .simulator else { return [] }
        return outcome.settings.keys.flatMap { ConfigurationReport.warning($0, .machine) }.map { "\(config): \($0)" }
    }

    /// Lines before the key.
    var head: [String] {
        warnings.map { "warning: \($0)" } + [
            "\(config): \(answers.bundleID), \(answers.kind.type), APNs \(environment.rawValue)"
                + (answers.key == .simulator ? " (simulated)" : ""),
            "\(outcome.settings.database): has a new API key, of the scope backend, which is shown this once:",
        ]
    }

    /// Lines after the key.
    var tail: [String] {
        (outcome.phonesKey.map { ["\($0): the same key, with which simulated phones report"] } ?? [])
            + ["next: " + next.joined(separator: answers.key == .simulator ? ", and beside it " : " && ")]
    }

    var json: JSONObject {
        [
            "config": .string(config), "database": .string(outcome.settings.database.description),
            "app": .string(answers.bundleID), "type": .string(answers.kind.type),
            "environment": .string(environment.rawValue), "isSimulated": .bool(answers.key == .simulator),
            "key": .object(KeyReport.object(outcome.record, outcome.record.createdAt, key: outcome.key)),
            "warnings": .array(warnings.map(JSONValue.string)), "next": .array(next.map(JSONValue.string)),
        ]
    }

    /// Returns a word as a shell reads it.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            byte > 0x7F || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "/._-".utf8.contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
        }
        return isPlain ? word : "'\(word.replacing("'", with: #"'\''"#))'"
    }
}
