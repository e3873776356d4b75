import Foundation

/// The listening socket that systemd, or a compatible supervisor, passes to a server (sd_listen_fds).
enum InheritedSocket {
    /// Number of the first descriptor that is passed.
    private static let first: CInt = 3

    /// Returns the descriptor, or `nil` if none was passed to this process.
    static func descriptor() throws(CommandError) -> CInt? {
        try descriptor(
            ProcessInfo.processInfo.environment, process: ProcessInfo.processInfo.processIdentifier)
    }

    static func descriptor(_ variables: [String: String], process: Int32) throws(CommandError) -> CInt? {
        // The variables are inherited. `LISTEN_PID` tells whether they were meant for a parent process.
        guard let text = variables["LISTEN_FDS"], variables["LISTEN_PID"] == String(process) else { return nil }
        guard Int(text) == 1 else {
            throw CommandError(
                "LISTEN_FDS is `\(text)`: one listening socket is served; give the unit one ListenStream")
        }
        return first
    }
}
