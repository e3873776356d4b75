/// A problem in a configuration: its place, and what to do about it.
struct ConfigurationError: Error, CustomStringConvertible {
    let file: String
    let pointer: String
    let problem: String

    var description: String { pointer.isEmpty ? "\(file): \(problem)" : "\(file): \(pointer): \(problem)" }
}

/// All problems in a configuration, in the order in which they were found.
final class ConfigurationProblems {
    private(set) var all: [ConfigurationError] = []

    func note(_ problem: ConfigurationError) {
        all.append(problem)
    }

    /// Returns the result of the body. If the body throws, records its error and returns `nil`.
    func noting<Value>(_ body: () throws(ConfigurationError) -> Value) -> Value? {
        do throws(ConfigurationError) {
            return try body()
        } catch {
            note(error)
            return nil
        }
    }
}
