import Foundation
import Logging

/// Where the commands write: results on standard output, messages on standard error.
enum Output {
    static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// Text of more than a line, as it is.
    static func text(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// A line on standard error.
    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }

    static func logger(_ label: String, level: Logger.Level = .notice) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler.standardError(label: $0) }
        let named = ProcessInfo.processInfo.environment["ISLET_LOG_LEVEL"].flatMap(Logger.Level.init(rawValue:))
        logger.logLevel = named ?? level
        return logger
    }
}
