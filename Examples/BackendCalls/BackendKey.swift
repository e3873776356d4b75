import Foundation

/// The API key of a backend that is run at a terminal.
public enum BackendKey {
    /// The environment variable that holds it, so that it stands in no list of processes and no shell history.
    public static let variable = "ISLET_KEY"

    /// The key, if the environment has one.
    public static var fromEnvironment: String? { ProcessInfo.processInfo.environment[variable] }
}
