import Foundation
import JSONText
import LiveActivityCore

/// Reads contracts from files.
enum ContractFile {
    static let maximumBytes = 1 << 20
    /// Each level of a value takes two or three of its schema.
    private static let maximumDepth = 128

    static func read(_ path: String) throws(ContractFileError) -> Contract {
        let document = try json(path, upTo: maximumBytes)
        do throws(ContractError) {
            return try Contract(document)
        } catch {
            throw ContractFileError(description: "\(path): \(error)")
        }
    }

    /// A file's JSON.
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

/// Why a file holds no contract.
struct ContractFileError: Error, CustomStringConvertible {
    let description: String
}
