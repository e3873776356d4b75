import Foundation

/// An app's project folder, read within limits: its path may be a whole disk, and its contents may come from others.
struct ProjectFolder {
    static let mostBytes = 4 << 20
    static let mostNames = 50_000
    static let deepest = 8

    enum Failure: Error, Equatable {
        case absent
        case outside
        case unreadable(String)
    }

    /// Paths of the files found, relative to the folder and sorted.
    struct Contents {
        /// Folders `….xcodeproj`.
        var projects: [String] = []
        /// Files `….xcprivacy`.
        var privacyManifests: [String] = []
        /// `true` if parts were skipped because of their depth or number.
        var isCut = false
    }

    /// Path of the folder without symbolic links.
    private let root: URL

    /// `nil` if there is no such folder.
    init?(_ path: String) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return nil
        }
        root = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    }

    // MARK: - Finding files

    /// Folders of tools, for dependencies and build products. An app's own project is in none of them.
    private static let left: Set<String> = ["Pods", "Carthage", "DerivedData", "build", "node_modules", "vendor"]
    private static let leftKinds: Set<String> = ["xcassets", "framework", "xcframework", "bundle", "app", "lproj"]

    /// Returns the files found. Symbolic links are not followed, and hidden folders are skipped.
    func contents() -> Contents {
        var contents = Contents()
        var names = 0
        var open = [(path: "", depth: 0)]
        while let (folder, depth) = open.popLast() {
            let inside = (try? FileManager.default.contentsOfDirectory(atPath: url(folder).path)) ?? []
            for name in inside.sorted() where !name.hasPrefix(".") {
                names += 1
                guard names <= Self.mostNames else {
                    contents.isCut = true
                    return contents.sorted()
                }
                let path = folder.isEmpty ? name : folder + "/" + name
                let kind = (name as NSString).pathExtension
                if kind == "xcprivacy" { contents.privacyManifests.append(path) }
                guard isFolder(path), !Self.left.contains(name), !Self.leftKinds.contains(kind) else { continue }
                if kind == "xcodeproj" {
                    contents.projects.append(path)
                } else if depth < Self.deepest {
                    open.append((path, depth + 1))
                } else {
                    contents.isCut = true
                }
            }
        }
        return contents.sorted()
    }

    private func isFolder(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url(path).path)
        return attributes?[.type] as? FileAttributeType == .typeDirectory
    }

    // MARK: - Reading files

    /// Returns the data of a file that lies in the folder, also after following symbolic links.
    ///
    /// - Parameter path: Path relative to the folder.
    func data(_ path: String) throws(Failure) -> Data {
        guard Self.normal(path) != nil else { throw .outside }
        let file = url(path).resolvingSymlinksInPath()
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else { throw .absent }
        guard file.path.hasPrefix(root.path + "/") || root.path == "/" else { throw .outside }
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw .unreadable("is not a file") }
        guard let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes else {
            throw .unreadable("has more than \(Self.mostBytes >> 20) MB")
        }
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw .unreadable("cannot be read by this user")
        }
        return data
    }

    private func url(_ path: String) -> URL { path.isEmpty ? root : root.appendingPathComponent(path) }

    /// Returns a path without `.` and `..`, or `nil` if it leads out of the folder.
    static func normal(_ path: String) -> String? {
        guard !path.hasPrefix("/") else { return nil }
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." {
                guard parts.popLast() != nil else { return nil }
            } else {
                parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }
}

extension ProjectFolder.Contents {
    fileprivate func sorted() -> Self {
        var copy = self
        copy.projects.sort()
        copy.privacyManifests.sort()
        return copy
    }
}
