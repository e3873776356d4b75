import GRDB
import StorageSQL

/// An error of a backup or a restore. Its description says what to do. No existing data has changed.
package enum BackupError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file does not exist.
    case missing(path: String)
    /// The file is not a SQLite database, or not one of Islet's.
    case notIslet(path: String)
    /// A later version of Islet wrote the file.
    case newer(path: String)
    /// SQLite's check found damage.
    case damaged(path: String, detail: String)
    /// A file exists at the target of the backup.
    case exists(path: String)
    /// Source and target are the same file.
    case same(path: String)
    /// Another process uses the database that would be replaced.
    case inUse(path: String)
    /// The file system or SQLite reported an error.
    case failed(String)

    package var description: String {
        switch self {
        case .missing(let path): "\(path): there is no such file"
        case .notIslet(let path): "\(path) is not a database of islet"
        case .newer(let path): "\(path) was written by a newer version of islet: use that version"
        case .damaged(let path, let detail): "\(path) is damaged (\(detail)): use another backup"
        case .exists(let path): "\(path) already exists: name another file, or add --overwrite"
        case .same(let path): "\(path) is the database itself: name another file"
        case .inUse(let path): "the database \(path) is in use: stop the process that uses it, then restore"
        case .failed(let detail): detail
        }
    }

    /// Translates errors of files and of SQLite, without the arguments of the statement.
    static func translating<Value>(
        _ path: String, _ body: () throws -> Value
    ) throws(BackupError) -> Value {
        do {
            return try body()
        } catch let error as BackupError {
            throw error
        } catch let failure as FileSteps.Failure {
            throw .failed(failure.description)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw .notIslet(path: path)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            throw .damaged(path: path, detail: error.message ?? "malformed")
        } catch {
            throw .failed("\(path): \(SQLError.of(error))")
        }
    }
}
