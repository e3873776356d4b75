import ArgumentParser
import BackendCalls
import FocusTimer
import Foundation

/// The manual test in a terminal: `focus-timer` plays start, pause, wait, resume and end.
@main
struct FocusTimerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "focus-timer",
        abstract: "Starts a timer, pauses it, waits, resumes it and ends it; the person's phones show each step.",
        discussion: "The API key is read from the environment variable ISLET_KEY.")

    @Option(help: "Where the Islet server is.") var islet = "http://127.0.0.1:8080"
    @Option(help: "Whose timer it is.") var person = "alice"
    @Option(help: "Seconds between two steps.") var pause = 3
    @Argument(help: "The session's id.") var session = "1"

    func validate() throws {
        guard (0...3600).contains(pause) else { throw ValidationError("--pause is 0 to 3600 seconds") }
    }

    func run() async throws {
        guard let key = BackendKey.fromEnvironment else {
            throw ValidationError("set ISLET_KEY to an API key: `islet keys create --app … --scope backend`")
        }
        let functions = FocusFunctions(islet: islet, key: key)
        do {
            try await say("started", functions.start(session, title: "Deep work", length: 1500, as: person))
            try await say("paused", functions.update(.pause, session, as: person))
            try await say("resumed", functions.update(.resume, session, as: person))
            try await say("ended", functions.end(session, as: person))
        } catch let error as FocusError {
            print("\(error.code): \(error)")
            throw ExitCode.failure
        }
    }

    private func say(_ what: String, _ session: FocusSession) async throws {
        let elapsed = session.state.elapsed(at: Date())
        print("\(what): \(Int(elapsed.rounded())) s of focus")
        if !session.isOver { try await Task.sleep(for: .seconds(pause)) }
    }
}
