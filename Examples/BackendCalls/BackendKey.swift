import Foundation

/// The API key of a backend that runs in a terminal.
public enum BackendKey {
    /// The environment variable with the key. A key there appears in no process list and no shell history.
    public static let variable = "ISLET_KEY"

    /// The key, if the environment has one.
    public static var fromEnvironment: String? { ProcessInfo.processInfo.environment[variable] }
}
