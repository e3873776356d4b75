import Foundation
package import LiveActivityStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The source of a key ring.
package enum TokenKeySource: Sendable {
    /// A file. With `isMade`, the file is created for a new database.
    case file(String, isMade: Bool)
    /// A ring that the process received directly, such as from an environment variable.
    case given(TokenKeyRing, name: String)

    /// The default source: a file beside the database.
    package static func beside(_ database: String) -> Self { .file(database + ".keys", isMade: true) }

    /// The place of the ring, for messages.
    package var place: String {
        switch self {
        case .file(let path, _): path
        case .given(_, let name): "of the variable \(name)"
        }
    }
}

/// The file of a key ring. Only its owner may read it, and it is replaced in one step, so that a ring always exists.
package enum TokenKeyFile {
    /// Metadata by which a change of the file is detected.
    struct Stamp: Equatable, Sendable {
        fileprivate let inode: UInt64
        fileprivate let size: Int64
        fileprivate let seconds: Int
        fileprivate let nanoseconds: Int

        fileprivate init(_ status: stat) {
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            #if canImport(Darwin)
                (seconds, nanoseconds) = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
            #else
                (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
            #endif
        }
    }

    private static let ownerOnly: mode_t = 0o600
    /// Permission bits that are refused. Others have no access, and the group may only read, as with secrets mounted by
    /// an orchestrator.
    private static let forbidden: mode_t = 0o027

    static func stamp(of path: String) -> Stamp? {
        var status = stat()
        return stat(path, &status) == 0 ? Stamp(status) : nil
    }

    /// Reads the ring, or returns `nil` if there is no such file.
    ///
    /// - Throws: `TokenKeyProblem`, also if the group may change the file, or if others have any access to it.
    package static func ring(at path: String) throws(TokenKeyProblem) -> TokenKeyRing? { try read(path)?.ring }

    static func read(_ path: String) throws(TokenKeyProblem) -> (ring: TokenKeyRing, stamp: Stamp)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            if errno == ENOENT { return nil }
            throw .unreadable(place: path, detail: String(cString: strerror(errno)))
        }
        defer { _ = close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(place: path, detail: String(cString: strerror(errno)))
        }
        guard status.st_mode & forbidden == 0 else {
            throw .exposed(path: path, mode: String(status.st_mode & 0o777, radix: 8))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .unreadable(place: path, detail: "it is not a file") }
        let limit = TokenKeyRing.maximumBytes + 1
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        guard let data = try? handle.read(upToCount: limit) ?? Data() else {
            throw .unreadable(place: path, detail: "an error while reading")
        }
        return (try TokenKeyRing(parsing: String(decoding: data, as: UTF8.self), place: path), Stamp(status))
    }

    /// Writes a ring where there is none. It is on disk on return.
    ///
    /// - Returns: `false` if the file exists by now.
    static func make(_ ring: TokenKeyRing, at path: String) throws(TokenKeyProblem) -> Bool {
        let temporary = try write(ring, beside: path, like: nil)
        defer { FileSteps.remove(temporary) }
        guard link(temporary, path) == 0 else {
            if errno == EEXIST { return false }
            throw .cannotWrite(path: path, detail: String(cString: strerror(errno)))
        }
        try sync(FileSteps.folder(of: path), for: path)
        return true
    }

    /// Replaces the existing ring in one step, with the same owner and mode. The new ring is on disk on return.
    static func replace(_ path: String, with ring: TokenKeyRing) throws(TokenKeyProblem) {
        // Resolve links, so that a link still leads to the file.
        guard let target = realpath(path, nil) else {
            throw .cannotWrite(path: path, detail: String(cString: strerror(errno)))
        }
        defer { free(target) }
        let path = String(cString: target)
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .cannotWrite(path: path, detail: String(cString: strerror(errno)))
        }
        let temporary = try write(ring, beside: path, like: status)
        guard rename(temporary, path) == 0 else {
            let reason = String(cString: strerror(errno))
            FileSteps.remove(temporary)
            throw .cannotWrite(path: path, detail: reason)
        }
        try sync(FileSteps.folder(of: path), for: path)
    }

    private static func write(
        _ ring: TokenKeyRing, beside path: String, like status: stat?
    ) throws(TokenKeyProblem) -> String {
        let temporary = "\(path).\(UUID().uuidString).tmp"
        let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, ownerOnly)
        guard descriptor >= 0 else { throw .cannotWrite(path: path, detail: String(cString: strerror(errno))) }
        defer { _ = close(descriptor) }
        do {
            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(ring.text.utf8))
        } catch {
            FileSteps.remove(temporary)
            throw .cannotWrite(path: path, detail: error.localizedDescription)
        }
        // The server's user must be able to read what an administrator writes.
        let isAlike =
            status.map { status in
                (status.st_uid == geteuid() && status.st_gid == getegid()
                    || fchown(descriptor, status.st_uid, status.st_gid) == 0)
                    && fchmod(descriptor, status.st_mode & 0o777) == 0
            } ?? true
        guard isAlike, fsync(descriptor) == 0 else {
            let reason = String(cString: strerror(errno))
            FileSteps.remove(temporary)
            throw .cannotWrite(path: path, detail: "\(reason): run the command as the file's owner")
        }
        return temporary
    }

    private static func sync(_ folder: String, for path: String) throws(TokenKeyProblem) {
        do throws(FileSteps.Failure) {
            try FileSteps.sync(folder)
        } catch {
            throw .cannotWrite(path: path, detail: error.description)
        }
    }
}
