import Foundation

/// The folder of an app's project, read within limits: somebody may name a whole disk, or a folder of another's making.
struct ProjectFolder {
    static let mostBytes = 4 << 20
    static let mostNames = 50_000
    static let deepest = 8

    enum Failure: Error, Equatable {
        case absent
        case outside
        case unreadable(String)
    }

    /// What lies in it, by paths from it, sorted.
    struct Contents {
        /// Folders `….xcodeproj` with a project in them.
        var projects: [String] = []
        /// `….xcprivacy`
        var privacyManifests: [String] = []
        /// Some of it was too deep, or too much.
        var isCut = false
    }

    /// Without links on the way.
    private let root: URL

    /// `nil`: there is no such folder.
    init?(_ path: String) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return nil
        }
        root = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    }

    // MARK: - Looking

    /// What tools fetch and make; an app's own project lies in none of them.
    private static let left: Set<String> = ["Pods", "Carthage", "DerivedData", "build", "node_modules", "vendor"]
    private static let leftKinds: Set<String> = ["xcassets", "framework", "xcframework", "bundle", "app", "lproj"]

    /// Links are not followed, hidden folders not entered.
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

    // MARK: - Reading

    /// What is in a file, if it lies in the folder even when links are followed.
    ///
    /// - Parameter path: From the folder.
    func data(_ path: String) throws(Failure) -> Data {
        guard Self.normal(path) != nil else { throw .outside }
        let file = url(path).resolvingSymlinksInPath()
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path) else { throw .absent }
        guard file.path.hasPrefix(root.path + "/") || root.path == "/" else { throw .outside }
        guard attributes[.type] as? FileAttributeType == .typeRegular else { throw .unreadable("is no file") }
        guard let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes else {
            throw .unreadable("has more than \(Self.mostBytes >> 20) MB")
        }
        guard let data = FileManager.default.contents(atPath: file.path) else {
            throw .unreadable("cannot be read by this user")
        }
        return data
    }

    private func url(_ path: String) -> URL { path.isEmpty ? root : root.appendingPathComponent(path) }

    /// Without `.` and `..`; `nil`: it leads out of the folder.
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
