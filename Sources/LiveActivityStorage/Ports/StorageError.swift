/// Why the store could not do its work.
package enum StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database cannot be opened, and what to do about it.
    case cannotOpen(String)
    /// Another process has it.
    case inUse(path: String)
    /// Its tokens cannot be sealed or opened.
    case tokenKeys(TokenKeyProblem)
    /// Nothing was changed.
    case failed(String)
    /// The commit was on its way when it failed: it may stand. Repeating is safe.
    case commitUnknown(String)
    /// More commands wait than the queue holds; nothing was changed.
    case overloaded
    /// The store is closed.
    case closed

    package var description: String {
        switch self {
        case .cannotOpen(let detail): "the database cannot be opened: \(detail)"
        case .inUse(let path): "the database \(path) is in use by another process: stop it, or name another file"
        case .tokenKeys(let problem): problem.description
        case .failed(let detail): "the database failed, nothing was changed: \(detail)"
        case .commitUnknown(let detail): "the database failed while committing, the change may stand: \(detail)"
        case .overloaded: "too many changes are waiting to be written: try again in a moment"
        case .closed: "the store is closed"
        }
    }
}
