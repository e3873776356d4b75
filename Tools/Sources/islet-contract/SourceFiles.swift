import Foundation
import JSONText
import SourceContract

/// Reads the files of the command line.
enum SourceFiles {
    /// Largest size of a file that is read, in bytes.
    static let maximumBytes = 8 << 20
    static let maximumFiles = 10_000

    /// Returns the files, and those of folders with everything beneath them, in the order of their names.
    static func read(_ paths: [String]) throws(FileProblem) -> [Source] {
        var sources: [Source] = []
        for path in paths.flatMap(files) {
            sources.append(Source(name: path, text: String(decoding: try bytes(path), as: UTF8.self)))
        }
        guard !sources.isEmpty else { throw FileProblem("there is no Swift file in \(paths.joined(separator: ", "))") }
        guard sources.count <= maximumFiles else {
            throw FileProblem("these are more than \(maximumFiles) files: name those that declare the types")
        }
        return sources
    }

    private static func files(_ path: String) -> [String] {
        guard isFolder(path) else { return [path] }
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        let found = all.filter { $0.hasSuffix(".swift") && !$0.split(separator: "/").contains { $0.hasPrefix(".") } }
        return found.sorted().map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" }.filter { !isFolder($0) }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    static func json(_ path: String) throws(FileProblem) -> JSONValue {
        let contents = try bytes(path)
        guard !contents.isEmpty else { throw FileProblem("\(path) cannot be read, or is empty") }
        do throws(JSONSyntaxError) {
            return try JSONValue(
                parsing: contents, limits: JSONLimits(bytes: maximumBytes, depth: JSONLimits.deepest))
        } catch {
            throw FileProblem("\(path): \(error)")
        }
    }

    /// Reads an existing contract. Changes to anything else could not be judged.
    static func contract(_ path: String) throws(FileProblem) -> JSONValue {
        let value = try json(path)
        guard value.object?["attributesType"]?.string != nil, value.object?["contentState"]?.object != nil else {
            throw FileProblem(
                "\(path) is no contract: `attributesType` and `contentState` are expected, as `islet-contract` writes "
                    + "them")
        }
        return value
    }

    private static func bytes(_ path: String) throws(FileProblem) -> Data {
        // Reading at the end of a file, or an empty file, returns `nil`.
        guard let handle = FileHandle(forReadingAtPath: path),
            let data = try? handle.read(upToCount: maximumBytes + 1) ?? Data()
        else { throw FileProblem("\(path) cannot be read") }
        guard data.count <= maximumBytes else { throw FileProblem("\(path) has more than \(maximumBytes) bytes") }
        return data
    }
}

/// The reason why a file cannot be used.
struct FileProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
