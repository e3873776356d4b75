import ArgumentParser
import Foundation

/// The `islet init` command, which makes a first configuration, database and API key.
struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a configuration, and makes the database and the first API key.",
        discussion: """
            Asks three questions on a terminal: the app's bundle id, the key for APNs, and the type of Live Activity. \
            A question is left out if a flag answers it. The .p8 file is read as the server reads it.
            Prints the API key, of the scope backend, on standard output, this once, and what to do next on standard \
            error. Changes no file that is there, and leaves nothing behind if a step fails.
            Without an Apple account: `islet init --simulator` is for a server whose pushes go to `islet simulate`, \
            and `islet serve --dev` needs no files at all.
            As root, each file gets the owner and group of its folder, so that the server's user can read it.
            """)

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var flags: InitFlags
    @Flag(help: "Prints JSON: what was made, and the key.") var json = false

    func validate() throws { try flags.checkComplete(isTerminal: Terminal.canAnswer) }

    func run() async throws {
        var files = InitFiles(config: file.config)
        try files.checkAbsence()
        let questions = InitQuestions(
            read: { readLine() }, say: { FileHandle.standardError.write(Data($0.utf8)) }, check: InitFiles.check)
        let answers = try flags.answers(asking: questions)
        if case .apple(let key) = answers.key { try InitFiles.check(key) }
        let report = InitReport(config: file.config, answers: answers, outcome: try await files.make(answers))
        if json { return Output.json(report.json) }
        for line in report.head { Output.error(line) }
        Output.line(report.outcome.key)
        for line in report.tail { Output.error(line) }
    }
}
