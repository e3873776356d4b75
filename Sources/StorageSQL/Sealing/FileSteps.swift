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

    /// Writes a new file. It is on disk on return, or does not exist.
    ///
    /// Root gives it to the owner and group of its folder, so that the server's user can read it.
    ///
    /// - Parameter mode: Permission bits, without those that the process masks.
    /// - Throws: `Failure`, also if the file exists.
    package static func make(_ path: String, _ text: String, mode: UInt32) throws(Failure) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode_t(mode))
        guard descriptor >= 0 else { throw failure(path, "made") }
        defer { _ = close(descriptor) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        guard (try? handle.write(contentsOf: Data(text.utf8))) != nil, fsync(descriptor) == 0,
            isHandedOver(descriptor, path)
        else {
            let error = failure(path, "made")
            remove(path)
            throw error
        }
    }

    /// Makes a folder, which root gives to the owner and group of the folder around it.
    ///
    /// - Throws: `Failure`, also if the folder exists.
    package static func makeFolder(_ path: String, mode: UInt32) throws(Failure) {
        guard mkdir(path, mode_t(mode)) == 0 else { throw failure(path, "made") }
        try handOver(path)
    }

    /// Gives a complete file its name in one step. It replaces nothing, unlike a rename.
    ///
    /// - Throws: `Failure`, also if something has the name.
    package static func name(_ source: String, as target: String) throws(Failure) {
        if link(source, target) == 0 { return remove(source) }
        // A file system without links.
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno), !exists(target) else { throw failure(target, "made") }
        try rename(source, to: target)
    }

    /// Gives a file or folder that root has made to the owner and group of the folder around it. Does nothing for
    /// another user, and nothing if it does not exist.
    package static func handOver(_ path: String) throws(Failure) {
        guard geteuid() == 0 else { return }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw failure(path, "given to the owner of its folder")
        }
        defer { _ = close(descriptor) }
        guard isHandedOver(descriptor, path) else { throw failure(path, "given to the owner of its folder") }
    }

    private static func isHandedOver(_ descriptor: Int32, _ path: String) -> Bool {
        guard geteuid() == 0 else { return true }
        var (around, own) = (stat(), stat())
        guard stat(folder(of: path), &around) == 0, fstat(descriptor, &own) == 0 else { return false }
        // The owner of the folder may have put another file of root's in this place, by a link.
        guard own.st_uid == 0, own.st_mode & S_IFMT == S_IFDIR || own.st_nlink == 1 else {
            errno = EPERM
            return false
        }
        return fchown(descriptor, around.st_uid, around.st_gid) == 0
    }

    /// Removes a file if it exists.
    package static func remove(_ path: String) { _ = unlink(path) }

    private static func failure(_ path: String, _ verb: String) -> Failure {
        Failure(description: "\(path) cannot be \(verb): \(String(cString: strerror(errno)))")
    }
}
