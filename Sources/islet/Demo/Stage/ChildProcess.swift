import Foundation
import Synchronization

/// Another process of this executable. The parent waits for its first line of output, and stops it at the end.
final class ChildProcess: Sendable {
    private let process: Spawned
    /// File of the process's output.
    private let output: URL
    /// File of the process's errors.
    private let log: URL
    let name: String
    /// Process id.
    var identifier: Int32 { process.identifier }

    /// Time between the request to stop and the kill.
    private static let stopGrace = Duration.seconds(10)

    /// Starts a process.
    ///
    /// - Throws: An error if the log or the output cannot be written, or if the process cannot be started.
    // Swift 6.3's optimizer crashes when it inlines this method, with its large C structures, into an async caller.
    @inline(never)
    init(
        _ name: String, executable: URL, arguments: [String], environment: [String: String] = [:], log: URL
    ) throws {
        self.name = name
        self.log = log
        try Data().write(to: log)
        // A file does not need a reader, while a pipe would block the process when it is full.
        output = log.deletingPathExtension().appendingPathExtension("out")
        guard FileManager.default.createFile(atPath: output.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw DemoFailure("\(output.path) cannot be written") }
        process = try Spawned(
            executable, arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, output: output, errors: log)
    }

    /// Returns the first line of output.
    ///
    /// - Throws: `DemoFailure` if the process ends, or does not print a line in time.
    func firstLine(within limit: Duration) async throws -> String {
        let end = ContinuousClock.now + limit
        while true {
            let wasRunning = isRunning
            if let line = printedLine { return line }
            guard wasRunning else { throw DemoFailure("the \(name) did not start: \(lastWords)") }
            guard ContinuousClock.now < end else {
                throw DemoFailure("waited \(limit) in vain until the \(name) is up")
            }
            try await Task.sleep(for: Waiting.pause)
        }
    }

    /// Waits for the first line of output, and stops the process if the line does not come.
    @inline(never)
    func isUp(within limit: Duration) async throws {
        let outcome: Result<String, any Error>
        do { outcome = .success(try await firstLine(within: limit)) } catch { outcome = .failure(error) }
        if case .failure = outcome { await stop() }
        _ = try outcome.get()
    }

    /// First complete line of the output; `nil` if there is none yet.
    private var printedLine: String? {
        let text = FileManager.default.contents(atPath: output.path) ?? Data()
        return text.firstIndex(of: UInt8(ascii: "\n")).map { String(decoding: text[..<$0], as: UTF8.self) }
    }

    /// Last part of the log, which tells why the process ended.
    private var lastWords: String {
        let log = FileManager.default.contents(atPath: log.path) ?? Data()
        return log.isEmpty ? "it wrote nothing" : String(decoding: log.suffix(600), as: UTF8.self)
    }

    /// Waits until the process ends, and returns its exit code.
    func exitCode(within limit: Duration) async throws -> Int32 {
        try await Waiting.until("the \(name) ends", within: limit) { !self.isRunning }
        return process.exitCode ?? -1
    }

    var isRunning: Bool { process.isRunning }

    /// Kills the process as a power failure does, without any cleanup.
    func kill() { process.send(SIGKILL) }

    /// Asks the process to stop, and kills it after `stopGrace`.
    func stop() async {
        process.send(SIGTERM)
        do {
            try await Waiting.until("the \(name) ends", within: Self.stopGrace) { !self.isRunning }
        } catch {
            kill()
        }
    }
}

/// An error in the demo: a result is not as expected.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

enum Waiting {
    /// Time between two checks.
    static let pause = Duration.milliseconds(50)

    /// Repeats a check until it succeeds.
    ///
    /// - Throws: `DemoFailure` that names the check if it does not succeed in time.
    static func until(
        _ what: String, within limit: Duration, _ holds: @Sendable () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !holds() {
            guard ContinuousClock.now < end else { throw DemoFailure("waited \(limit) in vain until \(what)") }
            try await Task.sleep(for: pause)
        }
    }
}
