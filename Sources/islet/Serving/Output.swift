import Foundation
import JSONText
import Logging
import StorageSQL

/// Output of the commands: results on standard output, messages on standard error.
enum Output {
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// Prints one JSON document on a line.
    static func json(_ object: JSONObject) { line(JSONValue.object(object).text) }

    /// Prints text without adding a line break.
    static func text(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// Prints a line on standard error.
    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// Writes a secret into a new file that only its owner can read. The file is complete when it gets its name.
    ///
    /// - Throws: `CommandError` with the file and the reason, also if the file exists.
    static func secret(_ text: String, into path: String) throws(CommandError) {
        let draft = "\(path).\(UUID().uuidString).tmp"
        defer { FileSteps.remove(draft) }
        do throws(FileSteps.Failure) {
            try FileSteps.make(draft, text, mode: 0o600)
            try FileSteps.name(draft, as: path)
        } catch {
            throw CommandError("\(error)".replacing(draft, with: path))
        }
    }

    /// Returns a logger for standard error.
    ///
    /// - Throws: ``CommandError`` for an unknown value of `ISLET_LOG_LEVEL` or `ISLET_LOG_FORMAT`.
    static func logger(_ label: String, level: Logger.Level = .notice) throws -> Logger {
        let environment = ProcessInfo.processInfo.environment
        var logger =
            switch environment["ISLET_LOG_FORMAT"] ?? "text" {
            case "text": Logger(label: label) { StreamLogHandler.standardError(label: $0) }
            case "json": Logger(label: label) { JSONLogHandler(label: $0) { Output.error($0) } }
            case let other: throw CommandError("ISLET_LOG_FORMAT is text or json, not `\(other)`")
            }
        logger.logLevel = level
        if let name = environment["ISLET_LOG_LEVEL"] {
            guard let named = Logger.Level(rawValue: name) else {
                let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandError("ISLET_LOG_LEVEL is one of \(levels), not `\(name)`")
            }
            logger.logLevel = named
        }
        return logger
    }
}
