import Foundation
import Synchronization

/// Another process of this executable, whose first line of output is awaited, and which is stopped at the end.
final class ChildProcess: Sendable {
    private let process: Spawned
    /// What it prints.
    private let output: URL
    /// Where it writes what went wrong.
    private let log: URL
    let name: String
    /// The system's number of it.
    var identifier: Int32 { process.identifier }

    /// How long a stopped process may take before it is killed.
    private static let stopGrace = Duration.seconds(10)

    /// - Throws: When it cannot be started.
    // The optimizer of Swift 6.3 crashes where it puts this, with the system's large structures, into an async caller.
    @inline(never)
    init(
        _ name: String, executable: URL, arguments: [String], environment: [String: String] = [:], log: URL
    ) throws {
        self.name = name
        self.log = log
        try Data().write(to: log)
        // A file, not a pipe: nobody has to read for the process to go on.
        output = log.deletingPathExtension().appendingPathExtension("out")
        guard FileManager.default.createFile(atPath: output.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw DemoFailure("\(output.path) cannot be written") }
        process = try Spawned(
            executable, arguments,
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, output: output, errors: log)
    }

    /// The first line it prints.
    ///
    /// - Throws: `DemoFailure` when it ends, or does not print one in time.
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

    /// Waits until it has printed a line, and stops it when it does not.
    @inline(never)
    func isUp(within limit: Duration) async throws {
        let outcome: Result<String, any Error>
        do { outcome = .success(try await firstLine(within: limit)) } catch { outcome = .failure(error) }
        if case .failure = outcome { await stop() }
        _ = try outcome.get()
    }

    /// The first line of what it has printed; `nil`: it has not come to its end yet.
    private var printedLine: String? {
        let text = FileManager.default.contents(atPath: output.path) ?? Data()
        return text.firstIndex(of: UInt8(ascii: "\n")).map { String(decoding: text[..<$0], as: UTF8.self) }
    }

    /// The end of its log: why it is not there.
    private var lastWords: String {
        let log = FileManager.default.contents(atPath: log.path) ?? Data()
        return log.isEmpty ? "it wrote nothing" : String(decoding: log.suffix(600), as: UTF8.self)
    }

    /// Waits for its end.
    func exitCode(within limit: Duration) async throws -> Int32 {
        try await Waiting.until("the \(name) ends", within: limit) { !self.isRunning }
        return process.exitCode ?? -1
    }

    var isRunning: Bool { process.isRunning }

    /// Ends it as a power cut does: without a last word.
    func kill() { process.send(SIGKILL) }

    /// Asks it to end, and makes it if it does not.
    func stop() async {
        process.send(SIGTERM)
        do {
            try await Waiting.until("the \(name) ends", within: Self.stopGrace) { !self.isRunning }
        } catch {
            kill()
        }
    }
}

/// Something in the demo is not as it should be.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

enum Waiting {
    /// How long it waits between two looks.
    static let pause = Duration.milliseconds(50)

    /// Looks again and again, for a time, until something holds.
    ///
    /// - Throws: `DemoFailure` that names it when it does not come true in time.
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
