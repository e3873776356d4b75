import Foundation

/// The repository that contains this test, read once.
struct Repository {
    let root: URL
    let sources: [Source]

    /// The repository, read at the first use. It is empty if it cannot be found, which has a test of its own.
    static let here = Repository(containing: #filePath)

    private static let tops = [
        "Sources", "Examples", "Tests", "script", "packaging", ".ci", "docs", "Snippets", "Benchmarks",
        "Tools/Sources", "Tools/Tests", "Tools/Plugins", "Hardening",
    ]

    init(containing path: String) {
        var folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().deletingLastPathComponent()
        let files = FileManager.default
        while folder.path != "/", !files.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) {
            folder.deleteLastPathComponent()
        }
        let root = folder
        self.root = root
        let loose = (try? files.contentsOfDirectory(atPath: root.path)) ?? []
        let paths =
            loose.filter { $0.hasSuffix(".md") || $0.hasSuffix(".swift") }
            + Self.tops.flatMap { Self.files(under: $0, of: root) }
        sources = paths.sorted().compactMap { path in
            // A file that is not text, such as a picture, has no lines to check.
            guard let text = try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8) else {
                return nil
            }
            return Source(path, text)
        }
    }

    private static func files(under top: String, of root: URL) -> [String] {
        guard let all = FileManager.default.enumerator(atPath: root.appendingPathComponent(top).path) else { return [] }
        var paths: [String] = []
        for case let path as String in all where !path.split(separator: "/").contains(where: { $0.hasPrefix(".") }) {
            var isFolder: ObjCBool = false
            let full = root.appendingPathComponent(top).appendingPathComponent(path).path
            guard FileManager.default.fileExists(atPath: full, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            paths.append("\(top)/\(path)")
        }
        return paths
    }

    /// Returns `true` for a folder or a link to one.
    func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: root.appendingPathComponent(path).path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    func text(of path: String) -> String? { sources.first { $0.path == path }?.text }

    /// Returns the folders directly in `top` that contain Swift files.
    func folders(of top: String) -> [String] {
        Set(sources.filter { $0.isUnder(top) && $0.isSwift && $0.folders.count > 1 }.map { $0.folders[1] }).sorted()
    }
}
