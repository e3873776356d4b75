/// Reason why the store could not do its work.
package enum StorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database cannot be opened. The text says what to do about it.
    case cannotOpen(String)
    /// Another process uses the database.
    case inUse(path: String)
    /// The tokens of the database cannot be sealed or opened.
    case tokenKeys(TokenKeyProblem)
    /// The database failed. Nothing was changed.
    case failed(String)
    /// The database failed during the commit, so the change may have been made. Repeating it is safe.
    case commitUnknown(String)
    /// The queue of commands is full. Nothing was changed.
    case overloaded
    case closed

    package var description: String {
        switch self {
        case .cannotOpen(let detail): "the database cannot be opened: \(detail)"
        case .inUse(let path): "the database \(path) is in use by another process: stop it, or name another file"
        case .tokenKeys(let problem): problem.description
        case .failed(let detail): "the database failed, nothing was changed: \(detail)"
        case .commitUnknown(let detail): "the database failed during a commit, the change may be stored: \(detail)"
        case .overloaded: "too many changes are waiting to be written: try again in a moment"
        case .closed: "the store is closed"
        }
    }
}
