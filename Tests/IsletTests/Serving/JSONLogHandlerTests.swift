import JSONText
import LiveActivityAPI
import Logging
import Synchronization
import Testing

@testable import islet

struct JSONLogHandlerTests {
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test func `a line is one document, with what it is about beside the constant message`() throws {
        let lines = Lines()
        var logger = Logger(label: "islet") { label in
            JSONLogHandler(label: label, now: { Instant(clampingMilliseconds: 1_795_272_300_250) }, write: lines.add)
        }
        logger.logLevel = .debug
        logger[metadataKey: "app"] = "com.acme.pizza"
        logger.debug("request", metadata: ["path": "a\n\"b\"", "counts": ["1", "2"], "of": ["x": "y"]])
        logger.trace("nothing")
        logger.notice("plain", metadata: ["app": "other"])
        #expect(lines.all.count == 2 && !lines.all[0].contains("\n"))
        let line = try JSONValue(parsing: lines.all[0])
        #expect(
            line == [
                "time": "2026-11-21T14:45:00.250Z", "level": "debug", "logger": "islet", "message": "request",
                "metadata": ["app": "com.acme.pizza", "counts": ["1", "2"], "of": ["x": "y"], "path": "a\n\"b\""],
            ])
        #expect(try JSONValue(parsing: lines.all[1]).object?["metadata"] == ["app": "other"])
    }

    @Test(arguments: [("ISLET_LOG_FORMAT", "xml", "text or json"), ("ISLET_LOG_LEVEL", "loud", "one of trace")])
    func `a variable that says what there is not ends the start`(
        name: String, value: String, words: String
    ) async throws {
        let folder = try Folder()
        let run = try await Execution.of(["serve", "--dev", "--port", "0"], in: folder, environment: [name: value])
        #expect(run.code == 1 && run.refusals.first?.contains(words) == true, "\(run.errors)")
    }
}
