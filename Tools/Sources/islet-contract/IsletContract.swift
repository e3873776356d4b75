import ArgumentParser
import Foundation
import JSONText
import SourceContract

@main
struct IsletContract: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "islet-contract",
        abstract: "Reads an app's Swift source and writes the contract of its Live Activity.",
        discussion: """
            The contract is one JSON document on standard output: the name of the attributes type, and attributes and \
            content state as JSON Schemas 2020-12. What it cannot tell from the source is an error with its place and \
            what to do, never a guess. Islet reads it as `contract:` of an activity type in islet.yaml.

            Exit codes: 0 done (with --check: nothing breaks), 1 no contract can be made, 2 with --check: something \
            breaks, 64 wrong usage. docs/contracts.md describes the document, and what is read.
            """)

    @Argument(help: "Files of Swift source, or folders of them: the attributes type and all that it contains.")
    var sources: [String]

    @Option(help: "The attributes type, where the files have several.")
    var type: String?

    @Option(
        help: ArgumentHelp(
            "A JSON Schema for a type whose decoding the source does not tell; may be repeated.",
            valueName: "TYPE=FILE"))
    var schema: [String] = []

    @Option(
        help: ArgumentHelp(
            "Instead of the contract, say what breaks running activities or older builds of the app that has this one.",
            valueName: "OLD.json"))
    var check: String?

    func run() throws {
        do {
            let result = try contract()
            result.warnings.forEach { Self.say("\($0)") }
            guard let check else { return print(result.document.prettyText) }
            try compare(result.document, with: try SourceFiles.contract(check))
        } catch let error as FileProblem {
            Self.say(error.description)
            throw ExitCode(1)
        }
    }

    private func contract() throws(FileProblem) -> AppSource.Contract {
        var schemas: [String: JSONValue] = [:]
        for option in schema {
            let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw FileProblem("--schema \(option): TYPE=FILE is expected") }
            schemas[parts[0]] = try SourceFiles.json(parts[1])
        }
        let sources = try SourceFiles.read(sources)
        do throws(SourceProblems) {
            return try AppSource(sources).contract(of: type, schemas: schemas)
        } catch {
            throw FileProblem(error.description)
        }
    }

    private func compare(_ new: JSONValue, with old: JSONValue) throws {
        let changes = ContractComparison.changes(from: old, to: new)
        guard !changes.isEmpty else {
            print("nothing breaks: running activities and older app builds decode what the new contract allows")
            return
        }
        changes.forEach { print($0) }
        throw ExitCode(2)
    }

    private static func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
