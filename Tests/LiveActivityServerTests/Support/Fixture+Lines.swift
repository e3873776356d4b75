import HTTPTypes
import JSONText
import LiveActivityServer
import LiveActivityStorage

/// One line of a streamed answer.
struct LineReply: Sendable {
    let json: JSONValue?

    subscript(_ pointer: String) -> JSONValue? { (try? JSONPointer(pointer)).flatMap { json?[$0] } }
}

extension Fixture {
    /// Sends lines and returns the lines of the answer.
    func stream(_ path: String, _ lines: [String], key: String? = nil) async throws -> [LineReply] {
        let reply = try await call(
            .post, path, lines.joined(separator: "\n"), key: key ?? keys[.backend]?.text,
            headers: [.contentType: "application/x-ndjson"])
        return reply.text.split(separator: "\n").map { LineReply(json: try? JSONValue(parsing: String($0))) }
    }
}
