import Foundation

/// What a command asks the file system about names in a configuration; a test answers by itself.
struct FileLook: Sendable {
    /// The bits of `chmod`; `nil` when there is no such file.
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
