import Foundation
import LiveActivityStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keeps a second process away from a database: `flock` on a file beside it, which the system frees when the process
/// ends, however it ends.
final class ProcessLock: Sendable {
    private let descriptor: Mutex<Int32>

    /// How long it waits between two tries.
    private static let pause = Duration.milliseconds(20)

    /// `nil` when another process holds it, whatever links lead it there.
    ///
    /// - Parameters:
    ///   - patience: How long it may be held by another before that.
    ///   - sleep: Lets the thread rest before it tries anew.
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

    /// Where the links of a path lead; the path itself where there is nothing yet.
    private static func resolved(_ path: String) throws(StorageError) -> String {
        guard let real = realpath(path, nil) else {
            var status = stat()
            // Once the file is there, its lock would lie elsewhere.
            guard lstat(path, &status) != 0 || status.st_mode & S_IFMT != S_IFLNK else {
                throw .cannotOpen("\(path) is a link that leads to nothing: name the file itself, or make an empty one")
            }
            return path
        }
        defer { free(real) }
        return String(cString: real)
    }

    func unlock() {
        descriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            // Closing alone would leave it to a child that was forked meanwhile, until that runs its own program.
            _ = flock(descriptor, LOCK_UN)
            _ = close(descriptor)
            descriptor = -1
        }
    }

    deinit {
        unlock()
    }
}
