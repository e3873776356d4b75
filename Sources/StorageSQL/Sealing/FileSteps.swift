import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// File operations that survive a power failure: a file is on disk before it is renamed into place.
package enum FileSteps {
    /// A step that failed, with the file and the system's words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Returns `true` if both paths name the same file, also through links.
    package static func areSame(_ left: String, _ right: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(left, &first) == 0, stat(right, &second) == 0 else {
            return URL(fileURLWithPath: left).standardizedFileURL == URL(fileURLWithPath: right).standardizedFileURL
        }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Syncs the content of a file or folder to disk.
    package static func sync(_ path: String) throws(Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path, "opened") }
        defer { _ = close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path, "written to disk") }
    }

    /// Renames a file in one step, and replaces an existing one.
    package static func rename(_ source: String, to target: String) throws(Failure) {
        guard Foundation.rename(source, target) == 0 else { throw failure(target, "moved into place") }
    }

    /// Gives a file a second name, so that it keeps one when the first is replaced.
    ///
    /// On a file system without links, the file is renamed instead.
    package static func keep(_ source: String, as target: String) throws(Failure) {
        guard link(source, target) != 0 else { return }
        try rename(source, to: target)
    }

    /// Removes a file if it exists.
    package static func remove(_ path: String) { _ = unlink(path) }

    private static func failure(_ path: String, _ verb: String) -> Failure {
        Failure(description: "\(path) cannot be \(verb): \(String(cString: strerror(errno)))")
    }
}
