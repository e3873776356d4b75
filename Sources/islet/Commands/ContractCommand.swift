import ArgumentParser
import JSONText
import LiveActivityCore

/// The `islet contract` command, which checks contracts of an app's types.
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
                contract cannot be used or something does not fit. With --json all of that is one document on \
                standard output. docs/contracts.md describes the document.
                """)

        @Argument(help: "The contract.") var contract: String
        @Option(help: "A file with a content state, as `state` of PUT /v1/activities/{activity}.") var state: String?
        @Option(help: "A file with attributes.") var attributes: String?

        @Flag(help: "Prints JSON.") var json = false

        /// Result of the check of one file.
        private struct Fit {
            let name: String
            let path: String
            let result: Result<JSONObject, ContractViolation>
        }

        func run() throws {
            let fits: [Fit]
            let attributesType: String
            do throws(ContractFileError) {
                let contract = try ContractFile.read(self.contract)
                attributesType = contract.attributesType
                let attributes = try attributes.map { path throws(ContractFileError) in
                    try check("attributes", path) { object throws(ContractViolation) in
                        try contract.encodedAttributes(object)
                    }
                }
                let state = try state.map { path throws(ContractFileError) in
                    try check("state", path) { object throws(ContractViolation) in
                        try contract.encodedState(object, from: .given)
                    }
                }
                fits = [attributes, state].compactMap(\.self)
            } catch {
                throw CommandError(error.description)
            }
            if json {
                printJSON(fits, attributesType)
            } else if fits.isEmpty {
                Output.line("\(contract) is valid: a contract of \(attributesType)")
            } else {
                printText(fits)
            }
            if fits.contains(where: { if case .failure = $0.result { true } else { false } }) { throw ExitCode.failure }
        }

        private func printText(_ fits: [Fit]) {
            for fit in fits {
                switch fit.result {
                case .success(let encoded): Output.line(JSONValue.object(encoded).text)
                case .failure(let violation):
                    for problem in violation.problems { Output.error("\(fit.path): \(Self.words(problem))") }
                }
            }
        }

        private func printJSON(_ fits: [Fit], _ attributesType: String) {
            var object: JSONObject = ["contract": .string(contract), "attributesType": .string(attributesType)]
            for fit in fits {
                var found: JSONObject = ["file": .string(fit.path)]
                switch fit.result {
                case .success(let encoded): found["encoded"] = .object(encoded)
                case .failure(let violation):
                    found["problems"] = .array(
                        violation.problems.map { problem in
                            var object: JSONObject = [
                                "pointer": .string(problem.pointer.description), "expected": .string(problem.expected),
                            ]
                            object["given"] = problem.given.map(JSONValue.string)
                            object["fix"] = problem.fix.map(JSONValue.string)
                            return .object(object)
                        })
                }
                object[fit.name] = .object(found)
            }
            Output.json(object)
        }

        private func check(
            _ name: String, _ path: String, _ encode: (JSONObject) throws(ContractViolation) -> JSONObject
        ) throws(ContractFileError) -> Fit {
            guard let object = try ContractFile.json(path, upTo: ContractFile.maximumBytes).object else {
                throw ContractFileError(description: "\(path): an object is expected")
            }
            do throws(ContractViolation) {
                return Fit(name: name, path: path, result: .success(try encode(object)))
            } catch {
                return Fit(name: name, path: path, result: .failure(error))
            }
        }

        private static func words(_ problem: ContractProblem) -> String {
            let place = problem.pointer == .root ? "" : "\(problem.pointer): "
            return place + "\(problem.expected) expected, \(problem.given.map { "\($0) given" } ?? "missing")"
                + (problem.fix.map { "; \($0)" } ?? "")
        }
    }
}
