import Foundation
import JSONText
import LiveActivityCore

/// A reader of contract files.
enum ContractFile {
    static let maximumBytes = 1 << 20
    /// Maximum nesting of a file. Each level of a value takes two or three levels of its schema.
    private static let maximumDepth = 128

    static func read(_ path: String) throws(ContractFileError) -> Contract {
        let document = try json(path, upTo: maximumBytes)
        do throws(ContractError) {
            return try Contract(document)
        } catch {
            throw ContractFileError(description: "\(path): \(error)")
        }
    }

    /// Returns the JSON value in a file of at most `limit` bytes.
    static func json(_ path: String, upTo limit: Int) throws(ContractFileError) -> JSONValue {
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: limit + 1) else {
            throw ContractFileError(description: "\(path) cannot be read, or is empty")
        }
        guard data.count <= limit else {
            throw ContractFileError(description: "\(path) has more than \(limit) bytes")
        }
        do throws(JSONSyntaxError) {
            return try JSONValue(parsing: data, limits: JSONLimits(bytes: limit, depth: maximumDepth))
        } catch {
            throw ContractFileError(description: "\(path): \(error)")
        }
    }
}

/// An error that says why a file contains no contract.
struct ContractFileError: Error, CustomStringConvertible {
    let description: String
}
