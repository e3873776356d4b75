import APNSSimulator
import Foundation
import JSONText

/// curl, a client of another implementation.
enum Curl {
    struct Answer: Sendable {
        /// Output of `--write-out`: status and protocol, as in `200 2`.
        let summary: String
        let headers: [String: String]
        let body: [UInt8]
        let exit: Int32

        var json: JSONValue? { try? JSONValue(parsing: body) }
        var status: String { String(summary.prefix(3)) }
    }

    /// Runs curl off the cooperative pool for at most 20 s.
    static func run(_ arguments: [String]) async throws -> Answer {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        let mark = "\u{1}"
        process.arguments =
            ["--silent", "--max-time", "20", "--include", "--write-out", "\(mark)%{http_code} %{http_version}"]
            + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let bytes: [UInt8] = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                do {
                    try process.run()
                    let data = output.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    continuation.resume(returning: Array(data))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.components(separatedBy: mark)
        let message = parts[0].components(separatedBy: "\r\n\r\n")
        var headers: [String: String] = [:]
        for line in message[0].components(separatedBy: "\r\n").dropFirst() {
            let pair = line.components(separatedBy: ": ")
            headers[pair[0].lowercased()] = pair.dropFirst().joined(separator: ": ")
        }
        return Answer(
            summary: parts.last ?? "", headers: headers,
            body: Array(message.dropFirst().joined(separator: "\r\n\r\n").utf8), exit: process.terminationStatus)
    }

    /// Writes the CA to a file, as curl needs it.
    static func withCA<Value: Sendable>(
        _ pem: String, _ body: (String) async throws -> Value
    ) async throws -> Value {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
        try Data(pem.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}

/// Runs a simulator while the body runs.
func withSimulator<Value: Sendable>(
    _ configuration: APNSSimulator.Configuration, backend: (any PhoneBackend)? = nil,
    _ body: @escaping @Sendable (APNSSimulator, APNSSimulator.Addresses) async throws -> Value
) async throws -> Value {
    let simulator = try APNSSimulator(configuration, backend: backend)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask {
            try await simulator.run()
            return nil
        }
        group.addTask { try await body(simulator, try await simulator.started) }
        defer { group.cancelAll() }
        while let value = try await group.next() {
            if let value { return value }
        }
        throw CancellationError()
    }
}
