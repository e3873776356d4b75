import Foundation
import Synchronization

/// Another process of this executable, whose first line of output is awaited, and which is stopped at the end.
final class ChildProcess: Sendable {
    private let process: Mutex<Process>
    /// What it prints, a line at a time.
    private let lines: AsyncStream<String>
    let name: String

    /// How long a stopped process may take before it is killed.
    private static let stopGrace = Duration.seconds(10)

    /// - Throws: When it cannot be started.
    init(_ name: String, executable: URL, arguments: [String], log: URL) throws {
        self.name = name
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        let output = Pipe()
        process.standardOutput = output
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(64))
        lines = stream
        let partial = Mutex(Data())
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                continuation.finish()
                return
            }
            partial.withLock { buffer in
                buffer.append(data)
                while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self))
                    buffer.removeSubrange(buffer.startIndex...end)
                }
            }
        }
        try process.run()
        self.process = Mutex(process)
    }

    /// The first line it prints.
    ///
    /// - Throws: `DemoFailure` when it ends, or does not print one in time.
    func firstLine(within limit: Duration) async throws -> String {
        try await withThrowingTaskGroup(of: String?.self) { group in
            group.addTask { [lines] in
                for await line in lines { return line }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let line = try await group.next() ?? nil else {
                throw DemoFailure("the \(name) did not start")
            }
            return line
        }
    }

    /// Waits for its end.
    func exitCode(within limit: Duration) async throws -> Int32 {
        try await Waiting.until("the \(name) ends", within: limit) { self.process.withLock { !$0.isRunning } }
        return process.withLock { $0.terminationStatus }
    }

    /// Ends it as a power cut does: without a last word.
    func kill() {
        process.withLock { process in
            if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// Asks it to end, and makes it if it does not.
    func stop() async {
        process.withLock { if $0.isRunning { $0.terminate() } }
        do {
            try await Waiting.until("the \(name) ends", within: Self.stopGrace) {
                self.process.withLock { !$0.isRunning }
            }
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
    private static let pause = Duration.milliseconds(50)

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
