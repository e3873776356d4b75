import ArgumentParser
import EmbeddedIslet
import Foundation
import StorageSQL

/// The `islet bench nodes` command, which measures several nodes and what callers see of their failures.
struct BenchNodes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes",
        abstract: "Kills and hangs the server that owns a PostgreSQL database, and fails the database over.",
        discussion: """
            Starts three servers on a PostgreSQL primary with a synchronous standby, all on this machine. Measures a \
            call at the owner and through another server, writes of the storage engine alone, and the time until a \
            change is answered again after each failure. Debian's package postgresql must be installed.
            """)

    @OptionGroup var options: BenchOptions
    @Option(help: "The number of calls at the owner, and of those through another server.") var calls = 1000
    @Option(help: "How long the storage engine writes, in seconds.") var seconds = 5

    func validate() throws {
        guard 10...1_000_000 ~= calls else { throw ValidationError("--calls is 10 to 1000000, not \(calls)") }
        guard 1...600 ~= seconds else { throw ValidationError("--seconds is 1 to 600, not \(seconds)") }
    }

    func run() async throws {
        let (calls, seconds) = (calls, seconds)
        let row = try await options.withFolder { folder in
            guard let executable = Bundle.main.executableURL else { throw CommandError("this executable has no path") }
            Progress.say("starting PostgreSQL with a standby, and three servers")
            let nodes = try await NodesStage(3, in: folder, executable: executable, startGrace: "0s")
            let result: Result<NodesRow, any Error>
            do {
                var failures = NodeFailures(nodes)
                result = .success(try await failures.measure(calls: calls, seconds: seconds, in: folder))
            } catch {
                result = .failure(error)
            }
            await nodes.close()
            return try result.get()
        }
        try BenchReport.publish([row], to: options.json)
    }
}

/// Figures of the run, with the names that programs read.
struct NodesRow: Encodable, Sendable {
    var calls: Int
    var ownerMedianMilliseconds: Double
    var ownerP99Milliseconds: Double
    var doorMedianMilliseconds: Double
    var doorP99Milliseconds: Double
    var writesPerSecond64: Double
    var writesPerSecond256: Double
    var killedSeconds: Double
    var rescuedSeconds: Double
    var hungSeconds: Double
    var promotedSeconds: Double

    enum CodingKeys: String, CodingKey {
        case calls
        case ownerMedianMilliseconds = "owner_median_ms"
        case ownerP99Milliseconds = "owner_p99_ms"
        case doorMedianMilliseconds = "door_median_ms"
        case doorP99Milliseconds = "door_p99_ms"
        case writesPerSecond64 = "writes_per_second_64"
        case writesPerSecond256 = "writes_per_second_256"
        case killedSeconds = "first_answer_after_kill_s"
        case rescuedSeconds = "shown_after_kill_s"
        case hungSeconds = "first_answer_after_hang_s"
        case promotedSeconds = "first_answer_after_promotion_s"
    }
}
