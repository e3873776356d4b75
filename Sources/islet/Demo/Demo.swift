import ArgumentParser
import Foundation

/// The `islet demo` command, which plays example systems on simulated phones.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays whole systems on simulated phones, each with a backend of its own.",
        discussion: """
            For each system: starts a server and a simulator as processes of their own on the loopback, makes phones, \
            lets the backend say what should be shown, draws each lock screen as it changes, and checks all of them \
            after each step. Exits with 0 only if every phone showed what it should.

            The systems: \(Systems.all.map { "\($0.name) (\($0.summary))" }.joined(separator: "; ")).
            """)

    @Option(help: "Which one is played; all of them without it.") var system: String?
    @Option(
        help: "Plays an order on this number of servers, 2 to 5, that share a PostgreSQL database, and kills things.")
    var nodes: Int?
    @Flag(help: "Waits as little as possible between the steps.") var fast = false
    @Flag(help: "Keeps the directory with databases, configurations and logs, and says where it is.") var keep = false

    func validate() throws {
        if let nodes, !(2...5).contains(nodes) { throw ValidationError("--nodes is 2 to 5, not \(nodes)") }
        if nodes != nil, system != nil { throw ValidationError("--nodes plays its own order, without --system") }
        guard let system, Systems.named(system) == nil else { return }
        throw ValidationError(
            "there is no system `\(system)` to play: there are \(Systems.names.joined(separator: ", "))")
    }

    func run() async throws {
        guard let executable = Bundle.main.executableURL else { throw DemoFailure("this executable has no path") }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-demo-\(UUID().uuidString)")
        defer {
            if keep {
                Output.line("kept: \(directory.path)")
            } else {
                try? FileManager.default.removeItem(at: directory)
            }
        }
        if let nodes {
            let folder = directory.appendingPathComponent("nodes")
            do {
                try await NodesDemo.run(nodes: nodes, in: folder, executable: executable, fast: fast) {
                    Output.line($0)
                }
            } catch {
                Self.printLogs(folder, error)
                throw ExitCode.failure
            }
            return Output.line("Every phone showed what it should, whatever was killed.")
        }
        let plays = system.flatMap(Systems.named).map { [$0] } ?? Systems.all
        for play in plays {
            Output.line("━━━ \(play.name): \(play.summary)")
            let folder = directory.appendingPathComponent(play.name)
            do {
                try await Self.play(play, in: folder, executable: executable, fast: fast) { Output.line($0) }
            } catch {
                Self.printLogs(folder, error)
                throw ExitCode.failure
            }
            Output.line("")
        }
        Output.line("Every phone showed what it should: \(plays.map { $0.name }.joined(separator: ", ")).")
    }

    private static func printLogs(_ folder: URL, _ error: any Error) {
        Output.line("FAILED: \(error)")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for log in names.sorted() where log.hasSuffix(".log") {
            let text = try? String(contentsOf: folder.appendingPathComponent(log), encoding: .utf8)
            if let text, !text.isEmpty { Output.line("--- \(log)\n\(text.suffix(4000))") }
        }
    }

    /// Plays one system in a directory, and stops all its processes afterwards.
    ///
    /// - Throws: An error if a result is not as expected.
    static func play(
        _ type: any Play.Type, in directory: URL, executable: URL, fast: Bool,
        printing say: @escaping @Sendable (String) -> Void
    ) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        say("Starting a server and a simulator on the loopback …")
        let play = type.init()
        let stage = try await DemoStage(
            directory: directory, startGrace: fast ? "1s" : "3s", executable: executable, play: play)
        do {
            try await play.run(on: PlayStage(stage, type, rest: fast ? .zero : .seconds(3), printing: say))
        } catch {
            await stage.close()
            throw error
        }
        await stage.close()
    }
}
