import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Steps on files that a power cut may come between: what is renamed into place is on disk before it is.
enum FileSteps {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    static func folder(of path: String) -> String { URL(fileURLWithPath: path).deletingLastPathComponent().path }

    /// Whether both names lead to one file, by links or otherwise.
    static func areSame(_ left: String, _ right: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(left, &first) == 0, stat(right, &second) == 0 else {
            return URL(fileURLWithPath: left).standardizedFileURL == URL(fileURLWithPath: right).standardizedFileURL
        }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Writes a file's, or a folder's, content to disk.
    static func sync(_ path: String) throws(BackupError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, "opened") }
        defer { _ = close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path, "written to disk") }
    }

    /// Puts a file in the place of another, or of none, in one step.
    static func rename(_ source: String, to target: String) throws(BackupError) {
        guard Foundation.rename(source, target) == 0 else { throw failure(target, "put in place") }
    }

    /// Gives a file a second name, so that it keeps one when the first is taken from it.
    ///
    /// On a file system without links it is renamed instead.
    static func keep(_ source: String, as target: String) throws(BackupError) {
        guard link(source, target) != 0 else { return }
        try rename(source, to: target)
    }

    /// Removes a file, if there is one.
    static func remove(_ path: String) { _ = unlink(path) }

    static func failure(_ path: String, _ verb: String) -> BackupError {
        .failed("\(path) cannot be \(verb): \(String(cString: strerror(errno)))")
    }
}
