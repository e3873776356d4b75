import Foundation
import LiveActivityStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// An exclusive lock of a database across processes, as a `flock` on a file beside it. The system releases it when the
/// process ends in any way.
final class ProcessLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// Time between two attempts.
    private static let pause = Duration.milliseconds(20)

    /// Takes the lock. Returns `nil` if another process holds it, even through another link to the database.
    ///
    /// - Parameters:
    ///   - given: The path of the database.
    ///   - patience: Time to wait while another process holds the lock, in steps of 20 ms.
    ///   - sleep: Suspends the thread between two attempts.
    /// - Throws: `StorageError.cannotOpen` if the folder cannot be written, or if the path is a broken link.
    init?(
        path given: String, patience: Duration = .zero,
        sleep: (Duration) -> Void = { usleep(UInt32($0 / .microseconds(1))) }
    ) throws(StorageError) {
        let path = try Self.resolved(given)
        let descriptor = open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .cannotOpen("its folder cannot be written: \(path).lock: \(String(cString: strerror(errno)))")
        }
        var tries = Int(patience / Self.pause)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard tries > 0 else {
                _ = close(descriptor)
                return nil
            }
            tries -= 1
            sleep(Self.pause)
        }
        self.descriptor = Mutex(descriptor)
    }

    /// Resolves the links of a path. Returns the path itself if nothing exists there.
    private static func resolved(_ path: String) throws(StorageError) -> String {
        guard let real = realpath(path, nil) else {
            var status = stat()
            // Once the link's target exists, its lock would be in another place.
            guard lstat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFLNK else {
                throw .cannotOpen("\(path) is a broken link: name the file itself, or create an empty one")
            }
            return path
        }
        defer { free(real) }
        return String(cString: real)
    }

    func unlock() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            // Closing alone would leave the lock with a child process, from its fork until it runs its own program.
            _ = flock(descriptor, LOCK_UN)
            _ = close(descriptor)
            descriptor = -1
        }
    }

    deinit {
        unlock()
    }
}
