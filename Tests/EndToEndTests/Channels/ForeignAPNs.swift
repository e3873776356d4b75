import Foundation
import JSONText
import Testing

@testable import islet

/// Apple's endpoints for broadcasts and channels as another author read Apple's documents, as a process of
/// `Servers/apns_channels.py`.
///
/// The process prints a line for each request, with the rules that the request breaks, and takes commands.
struct ForeignAPNs: Sendable {
    /// A request, and its answer.
    struct Request: Sendable {
        let isManagement: Bool
        let method: String
        let path: String
        let headers: JSONObject
        let body: JSONObject
        /// Status of the answer; `nil` if there was none.
        let status: Int?
        let reason: String?
        let channel: String?
        /// Rules of Apple's pages that the request breaks.
        let violations: [String]

        /// Returns `nil` for a line that is not about a request.
        init?(_ line: JSONObject) {
            guard let listener = line["listener"]?.string else { return nil }
            isManagement = listener == "manage"
            method = line["method"]?.string ?? ""
            path = line["path"]?.string ?? ""
            headers = line["headers"]?.object ?? [:]
            body = line["body"]?.object ?? [:]
            status = line["status"]?.int
            reason = line["reason"]?.string
            // A refused request has no effect on a channel, and still names one.
            channel = line["channel"]?.string ?? headers["apns-channel-id"]?.string
            violations = line["violations"]?.array?.compactMap(\.string) ?? []
        }

        var aps: JSONObject { body["aps"]?.object ?? [:] }
        var event: String? { aps["event"]?.string }
        var timestamp: Int? { aps["timestamp"]?.int }
        var hasAlert: Bool { aps["alert"]?.object != nil }
        /// Value of `apns-expiration`.
        var expiration: Int? { headers["apns-expiration"]?.string.flatMap { Int($0) } }
        /// Field `status` of the content state.
        var shown: String? { aps["content-state"]?.object?["status"]?.string }
    }

    private static let python = "/usr/bin/python3"
    /// Debian's Python, and the modules of python3-h2 and python3-cryptography.
    private static let needed =
        [python] + ["h2", "cryptography"].map { "/usr/lib/python3/dist-packages/\($0)/__init__.py" }
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Servers/apns_channels.py").path

    /// `true` if tests that need the process run: where its parts are installed, and always in CI, to fail there.
    static var isExpected: Bool {
        needed.allSatisfy { FileManager.default.fileExists(atPath: $0) }
            || ProcessInfo.processInfo.environment["CI"] != nil
    }

    /// Ports of broadcasts and of channel management.
    let ports: (send: Int, manage: Int)
    private let process: ChildProcess
    /// File of the process's output.
    private let output: URL
    /// Descriptor of the pipe that is the process's input.
    private let input: Int32

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - folder: Folder of its files.
    ///   - certificate: Certificate of its listeners, as PEM text, with its key.
    ///   - publicKey: Key that verifies provider tokens, as PEM text.
    static func start(
        in folder: URL, certificate: String, key: String, publicKey: String, _ arguments: [String]
    ) async throws -> ForeignAPNs {
        var options: [String] = []
        for (name, text) in [("certificate", certificate), ("key", key), ("public-key", publicKey)] {
            let file = folder.appendingPathComponent("\(name).pem")
            try Data(text.utf8).write(to: file)
            options += ["--\(name)", file.path]
        }
        let commands = folder.appendingPathComponent("commands").path
        guard mkfifo(commands, 0o600) == 0 else { throw DemoFailure("\(commands) cannot be made") }
        // Opened for reading too, so that this call does not wait for a reader.
        let input = open(commands, O_RDWR | O_CLOEXEC)
        guard input >= 0 else { throw DemoFailure("\(commands) cannot be opened") }
        do {
            let process = try ChildProcess(
                "second opinion", executable: URL(fileURLWithPath: "/bin/sh"),
                arguments: [
                    "-c", #"commands=$1; shift; exec "$@" <"$commands""#, "sh", commands, python, script,
                ] + options + arguments, log: folder.appendingPathComponent("apns.log"))
            let line = try await process.firstLine(within: .seconds(60))
            let ports = try JSONValue(parsing: line).object ?? [:]
            guard let send = ports["send"]?.int, let manage = ports["manage"]?.int else {
                throw DemoFailure("the second opinion named no ports: \(line)")
            }
            return ForeignAPNs(
                ports: (send, manage), process: process, output: folder.appendingPathComponent("apns.out"),
                input: input)
        } catch {
            _ = close(input)
            throw error
        }
    }

    /// Ends the process by the end of its input.
    func end() async throws {
        _ = close(input)
        do {
            let code = try await process.exitCode(within: .seconds(30))
            #expect(code == 0)
        } catch {
            await process.stop()
            throw error
        }
    }

    // MARK: - Lines

    /// Everything that the process has printed in whole lines, after the line with its ports.
    private var lines: [JSONObject] {
        let text = FileManager.default.contents(atPath: output.path) ?? Data()
        let end = text.lastIndex(of: UInt8(ascii: "\n")) ?? text.startIndex
        return text[..<end].split(separator: UInt8(ascii: "\n")).dropFirst()
            .compactMap { line in (try? JSONValue(parsing: Array(line)))?.object }
    }

    var requests: [Request] { lines.compactMap { Request($0) } }

    /// Creations of channels.
    var creations: [Request] { requests.filter { $0.isManagement && $0.method == "POST" } }

    /// Broadcasts to a channel.
    func broadcasts(to channel: String) -> [Request] {
        requests.filter { !$0.isManagement && $0.path.hasPrefix("/4/broadcasts/") && $0.channel == channel }
    }

    // MARK: - Commands

    private var answers: [JSONObject] { lines.filter { $0["done"] != nil } }

    /// Gives a command, and returns its answer.
    @discardableResult
    func command(_ name: String, _ more: JSONObject = [:]) async throws -> JSONObject {
        var order: JSONObject = ["command": .string(name)]
        for (key, value) in more { order[key] = value }
        let before = answers.count
        let bytes = Array((JSONValue.object(order).text + "\n").utf8)
        guard bytes.withUnsafeBytes({ write(input, $0.baseAddress, $0.count) }) == bytes.count else {
            throw DemoFailure("the command \(name) cannot be given")
        }
        try await Waiting.until("the command \(name) is done", within: .seconds(60)) { answers.count > before }
        let answer = answers[before]
        guard answer["error"] == nil else { throw DemoFailure("the command \(name) failed: \(answer)") }
        return answer
    }

    /// Returns the channels that exist, by their ids.
    func channels() async throws -> JSONObject { try await command("channels")["channels"]?.object ?? [:] }
}
