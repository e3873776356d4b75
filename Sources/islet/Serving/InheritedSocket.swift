import Foundation

/// The listening socket that systemd, or whoever behaves like it, hands to a server (sd_listen_fds).
enum InheritedSocket {
    /// The first descriptor that is handed over.
    private static let first: CInt = 3

    /// `nil` when none was handed to this process.
    static func descriptor() throws(CommandError) -> CInt? {
        try descriptor(
            ProcessInfo.processInfo.environment, process: ProcessInfo.processInfo.processIdentifier)
    }

    static func descriptor(_ variables: [String: String], process: Int32) throws(CommandError) -> CInt? {
        // What was meant for a parent is inherited too.
        guard let text = variables["LISTEN_FDS"], variables["LISTEN_PID"] == String(process) else { return nil }
        guard Int(text) == 1 else {
            throw CommandError(
                "LISTEN_FDS is `\(text)`: one listening socket is served; give the unit one ListenStream")
        }
        return first
    }
}
