import APNSClient
import ArgumentParser
import JSONText

/// The `islet config` command, which explains a configuration and lists all keys.
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains a configuration, and prints all configuration keys.",
        subcommands: [Check.self, Reference.self])

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Loads the configuration as the server does and says what it means.",
            discussion: """
                Prints what the server will do, on standard output, and every problem and warning, on standard error, \
                with its place and what to do. Says which variables of the environment are in force, never a secret. \
                With --json all of it is one document on standard output. \
                Exits with 0 when the server could start with it, warnings or not, else with 1.
                """)

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Prints JSON.") var json = false

        func run() throws {
            let examination = ConfigurationLoader.examine(file.config)
            if json { return try printJSON(examination) }
            var problems = examination.problems
            if let settings = examination.settings {
                problems = ConfigurationCheck.trustRoots(settings, file: file.config)
                let report = ConfigurationReport(
                    settings: settings, variables: examination.variables, files: .machine)
                for line in report.lines { Output.line(line) }
                for warning in report.warnings { Output.error("warning: \(file.config): \(warning)") }
                if problems.isEmpty {
                    Output.line("\(file.config) is good (\(Wording.count(report.warnings.count, "warning")))")
                    return
                }
            }
            for problem in problems {
                Output.error("error: " + ConfigurationCheck.words(problem, text: examination.text, file: file.config))
            }
            Output.error("\(file.config) has \(Wording.count(problems.count, "problem")): the server would not start")
            throw ExitCode.failure
        }

        private func printJSON(_ examination: ConfigurationLoader.Examination) throws {
            var problems = examination.problems
            var report: ConfigurationReport?
            if let settings = examination.settings {
                problems = ConfigurationCheck.trustRoots(settings, file: file.config)
                report = ConfigurationReport(settings: settings, variables: examination.variables, files: .machine)
            }
            Output.json([
                "file": .string(file.config), "isGood": .bool(problems.isEmpty),
                "problems": .array(
                    problems.map { problem in
                        var object: JSONObject = [
                            "pointer": .string(problem.pointer), "problem": .string(problem.problem),
                        ]
                        let line = ConfigurationCheck.line(problem, text: examination.text, file: file.config)
                        object["line"] = line.map { .number(JSONNumber($0)) }
                        return .object(object)
                    }), "warnings": .array((report?.warnings ?? []).map(JSONValue.string)),
                "means": .array((report?.lines ?? []).map(JSONValue.string)),
            ])
            if !problems.isEmpty { throw ExitCode.failure }
        }
    }

    struct Reference: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints every key with its type, default, variable and meaning.",
            discussion: "It is a configuration itself: `islet config reference > islet.yaml` is a file to begin with.")

        func run() {
            Output.text(ConfigurationReference.text)
        }
    }
}

/// Parts of `config check` that `islet doctor` also uses.
enum ConfigurationCheck {
    /// Returns a problem in one line: file, line if known, pointer and message.
    static func words(_ problem: ConfigurationError, text: String?, file: String) -> String {
        guard let line = line(problem, text: text, file: file) else { return problem.description }
        return "\(file):\(line): \(problem.pointer): \(problem.problem)"
    }

    /// Returns the line of a problem in the file. Returns `nil` if the file does not contain the value, for example
    /// because a variable sets it.
    static func line(_ problem: ConfigurationError, text: String?, file: String) -> Int? {
        guard problem.file == file, let text, let pointer = try? JSONPointer(problem.pointer), pointer != .root else {
            return nil
        }
        return YAMLText.line(of: pointer, in: text)
    }

    /// Returns the problems that the server would have with trust roots when it connects to APNs.
    static func trustRoots(_ settings: Settings, file: String) -> [ConfigurationError] {
        settings.keys.compactMap { key in
            do throws(APNSClientError) {
                _ = try APNSClient(routes: [key.route])
                return nil
            } catch {
                return ConfigurationError(file: file, pointer: "\(key.place)/trustRoots", problem: error.description)
            }
        }
    }
}
