/// What is wrong with a configuration: where, and what to do.
struct ConfigurationError: Error, CustomStringConvertible {
    let file: String
    let pointer: String
    let problem: String

    var description: String { pointer.isEmpty ? "\(file): \(problem)" : "\(file): \(pointer): \(problem)" }
}

/// Everything that is wrong with a configuration, in the order in which it was found.
final class ConfigurationProblems {
    private(set) var all: [ConfigurationError] = []

    func note(_ problem: ConfigurationError) {
        all.append(problem)
    }

    /// What the body gives; `nil` when it throws, which is noted.
    func noting<Value>(_ body: () throws(ConfigurationError) -> Value) -> Value? {
        do throws(ConfigurationError) {
            return try body()
        } catch {
            note(error)
            return nil
        }
    }
}
