import Foundation
import LiveActivityStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of a database. It holds what people are shown, so nobody but its owner reads it.
enum DatabaseFile {
    private static let ownerOnly: mode_t = 0o600

    /// Makes an empty one that only its owner may read, where there is none: SQLite would make it readable by all.
    /// The WAL and its index get their mode from it. The mode of a file that is there is its owner's business.
    static func makeIfMissing(_ path: String) throws(StorageError) {
        // Exclusive, so that a file that is there is not opened: closing it would drop SQLite's locks (POSIX).
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, ownerOnly)
        if descriptor >= 0 {
            _ = close(descriptor)
        } else if errno != EEXIST {
            throw .cannotOpen("\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
    }
}
