import Foundation
import NIOCore

/// Why a command did not do its work, in one line: printed behind `Error: `, and the exit code is 1.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// NIO names the system call that failed; a person wants the address, and what to do about it.
    ///
    /// - Parameter option: What sets the address: `listen`, or `--port`.
    static func listening(on address: String, setBy option: String, _ error: any Error) -> any Error {
        switch error {
        case let error as IOError:
            let advice =
                switch error.errnoCode {
                case EADDRINUSE: "another process has the port: stop it, or set \(option) to another"
                case EACCES: "the system gives this port to privileged users only: set \(option) to one above 1023"
                case EADDRNOTAVAIL: "this machine does not have the address: set \(option) to one it has"
                default: String(cString: strerror(error.errnoCode))
                }
            return CommandError("cannot listen on \(address): \(advice)")
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            return CommandError("cannot listen on \(address): no such host is known: set \(option) to another")
        default:
            return error
        }
    }
}
