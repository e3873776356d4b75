import ArgumentParser
import Foundation

/// `islet demo`: the main job, played on simulated phones.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays an order on simulated phones, from preparing to delivered.",
        discussion: """
            Starts a server and a simulator as processes of their own on the loopback, makes four phones, lets a \
            shop's backend report an order, draws each lock screen as it changes, and prints the timeline with its \
            reasons. Exits with 0 only if every phone showed what it should.
            """)

    @Option(help: "What is played: order.") var system = "order"
    @Flag(help: "Waits as little as possible between the steps.") var fast = false
    @Flag(help: "Keeps the directory with database, configuration and logs, and says where it is.") var keep = false

    func validate() throws {
        guard system == "order" else {
            throw ValidationError("there is no system `\(system)` to play: the one there is is order")
        }
    }

    func run() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer {
            if keep {
                Output.line("kept: \(directory.path)")
            } else {
                try? FileManager.default.removeItem(at: directory)
            }
        }
        Output.line("Starting a server and a simulator on the loopback …")
        guard let executable = Bundle.main.executableURL else { throw DemoFailure("this executable has no path") }
        let stage = try await DemoStage(
            directory: directory, startGrace: fast ? "1s" : "3s", executable: executable)
        var play = OrderPlay(stage: stage, pause: fast ? .milliseconds(1100) : .seconds(3))
        do {
            try await play.run()
        } catch {
            await play.stage.close()
            Output.line("FAILED: \(error)")
            for log in ["server.log", "simulator.log"] {
                let text = try? String(contentsOf: directory.appendingPathComponent(log), encoding: .utf8)
                if let text, !text.isEmpty { Output.line("--- \(log)\n\(text.suffix(4000))") }
            }
            throw ExitCode.failure
        }
        await play.stage.close()
        Output.line("\nEvery phone showed what it should.")
    }
}
