import ArgumentParser
import Foundation

/// The `islet bench` command, which measures the cost of pushes, changes and phones on this machine.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures what pushes, changes and phones cost on this machine.",
        discussion: """
            Starts a simulator and a server of its own on the loopback, in a folder that is removed afterwards. Prints \
            a table, and with --json a file for programs; what goes on is said on standard error. Counts are checked: \
            it exits with 1 when a phone lacks the last state or a push was sent too much. Times are reported and \
            never checked. docs/performance.md explains each figure. Build for release first: script/bench does.
            """,
        subcommands: [
            BenchFanout.self, BenchPuts.self, BenchChurn.self, BenchStore.self, BenchRegistration.self, BenchSend.self,
            BenchBadDay.self, BenchAlarm.self, BenchOutage.self, BenchNodes.self,
        ])
}

/// Options of every benchmark.
struct BenchOptions: ParsableArguments {
    @Option(help: "A file to write the figures to, as a JSON array of rows.") var json: String?
    @Option(help: "Where the database is made, in a folder of its own; the disk matters.") var directory: String?
    @Option(help: "Seconds that one row may take before it is given up.") var limit = 1800
    @Flag(help: "Keeps the folder with database, configuration and logs, and says where it is.") var keep = false

    func validate() throws {
        guard 1...86_400 ~= limit else { throw ValidationError("--limit is 1 to 86400 seconds, not \(limit)") }
    }

    /// Runs the body within the time limit, with a folder that is removed afterwards.
    func withFolder<Value: Sendable>(_ body: @escaping @Sendable (URL) async throws -> Value) async throws -> Value {
        let parent = directory.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
        let folder = parent.appendingPathComponent("islet-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            if keep {
                Progress.say("kept: \(folder.path)")
            } else {
                try? FileManager.default.removeItem(at: folder)
            }
        }
        return try await Bounded.run("the benchmark", within: .seconds(limit)) { try await body(folder) }
    }
}
