import ArgumentParser
import BackendCalls
import Foundation
import Pager

/// The pager in a terminal: `pager-desk --to alice --from "Dr. Who" "Come at once"`.
@main
struct PagerDesk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pager-desk",
        abstract: "Sends a message to a person; their phone shows it on the lock screen.",
        discussion: "The API key is read from the environment variable ISLET_KEY.")

    @Option(help: "Where the Islet server is.") var islet = "http://127.0.0.1:8080"
    @Option(help: "Whom it is for.") var to: String
    @Option(help: "Whom it is from.") var from: String
    @Option(help: "The message's id; with that of an earlier one, that one is sent again.") var id = UUID().uuidString
    @Argument(help: "What it says.") var text: String

    func run() async throws {
        guard let key = BackendKey.fromEnvironment else {
            throw ValidationError("set ISLET_KEY to an API key: `islet keys create --app … --scope backend`")
        }
        let message = Message(id: id, from: from, text, at: Date())
        let answer = try await Pager(islet: islet, key: key).send(message, to: to)
        print("\(message.id): \(answer.summary)")
        if !answer.isTaken { throw ExitCode.failure }
    }
}
