import ArgumentParser
import JSONText
import LiveActivityCore

/// `islet contract`: what an app's types look like.
struct ContractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "contract", abstract: "Checks contracts, and states against them.",
        subcommands: [Check.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reads a contract as the server does, and checks a state or attributes against it.",
            discussion: """
                Prints what the phones would be sent, with dates as Swift decodes them, on standard output; what does \
                not fit, on standard error, with its place, what is expected and what to do. Exits with 1 when the \
                contract cannot be used or something does not fit. docs/contracts.md describes the document.
                """)

        @Argument(help: "The contract.") var contract: String
        @Option(help: "A file with a content state, as `state` of PUT /v1/activities/{activity}.") var state: String?
        @Option(help: "A file with attributes.") var attributes: String?

        func run() throws {
            do throws(ContractFileError) {
                let contract = try ContractFile.read(self.contract)
                guard state != nil || attributes != nil else {
                    Output.line("\(self.contract) is good: a contract of \(contract.attributesType)")
                    return
                }
                let fits = [
                    try attributes.map { path throws(ContractFileError) in
                        try check(path) { object throws(ContractViolation) in try contract.encodedAttributes(object) }
                    },
                    try state.map { path throws(ContractFileError) in
                        try check(path) { object throws(ContractViolation) in
                            try contract.encodedState(object, from: .given)
                        }
                    },
                ]
                guard fits.contains(false) else { return }
            } catch {
                throw CommandError(error.description)
            }
            throw ExitCode.failure
        }

        private func check(
            _ path: String, _ encode: (JSONObject) throws(ContractViolation) -> JSONObject
        ) throws(ContractFileError) -> Bool {
            guard let object = try ContractFile.json(path, upTo: ContractFile.maximumBytes).object else {
                throw ContractFileError(description: "\(path): an object is expected")
            }
            do throws(ContractViolation) {
                Output.line(JSONValue.object(try encode(object)).text)
                return true
            } catch {
                for problem in error.problems { Output.error("\(path): \(Self.words(problem))") }
                return false
            }
        }

        private static func words(_ problem: ContractProblem) -> String {
            let place = problem.pointer == .root ? "" : "\(problem.pointer): "
            return place + "\(problem.expected) expected, \(problem.given.map { "\($0) given" } ?? "missing")"
                + (problem.fix.map { "; \($0)" } ?? "")
        }
    }
}
