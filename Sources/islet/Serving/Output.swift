import Foundation
import JSONText
import Logging

/// Where the commands write: results on standard output, messages on standard error.
enum Output {
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// One JSON document on a line.
    static func json(_ object: JSONObject) { line(JSONValue.object(object).text) }

    /// Text of more than a line, as it is.
    static func text(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// A line on standard error.
    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    /// - Throws: ``CommandError`` where `ISLET_LOG_LEVEL` or `ISLET_LOG_FORMAT` says what there is not.
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
