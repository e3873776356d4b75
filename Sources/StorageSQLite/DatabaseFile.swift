import Foundation
import LiveActivityStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The database file. It contains what people see, so only its owner may read it.
enum DatabaseFile {
    private static let ownerOnly: mode_t = 0o600

    /// Creates an empty file that only its owner may read, if there is none. SQLite itself would make it readable for
    /// everybody.
    ///
    /// The WAL and its index take their mode from this file. The mode of an existing file stays unchanged.
    static func makeIfMissing(_ path: String) throws(StorageError) {
        // O_EXCL, so that an existing file is not opened: closing it would drop SQLite's locks (POSIX).
        let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, ownerOnly)
        if descriptor >= 0 {
            _ = close(descriptor)
        } else if errno != EEXIST {
            throw .cannotOpen("\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
    }
}
