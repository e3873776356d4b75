import Foundation

/// Questions about files that a configuration names. Tests replace the file system.
struct FileLook: Sendable {
    /// Permission bits of a file, as for `chmod`; `nil` if there is no such file.
    var mode: @Sendable (String) -> Int?
    var folderIsWritable: @Sendable (String) -> Bool

    static let machine = FileLook(
        mode: { path in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.posixPermissions] as? NSNumber)?.intValue
        },
        folderIsWritable: { path in
            FileManager.default.isWritableFile(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        })
}
