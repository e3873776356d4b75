import Foundation
import NIOCore

/// An error that ends a command with a message of one line, printed after `Error: `, and exit code 1.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// Returns an error with the address and advice, because NIO names only the system call that failed.
    ///
    /// - Parameter option: Key or option that sets the address: `listen` or `--port`.
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
