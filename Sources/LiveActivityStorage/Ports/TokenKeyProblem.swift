/// Why push tokens cannot be sealed or opened, and what to do about it. No key is ever in it, only ids.
package enum TokenKeyProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no ring of keys, and the database holds what these keys sealed.
    case missingRing(place: String, keys: [String])
    /// The ring lacks these keys of the database.
    case missingKeys([String], place: String)
    /// The ring's keys of these ids are not those of the database.
    case wrongKeys([String], place: String)
    case unreadable(place: String, detail: String)
    /// Others than the file's owner could read or change it.
    case exposed(path: String, mode: String)
    case malformed(place: String, detail: String)
    case cannotWrite(path: String, detail: String)
    /// It has as many keys as a ring may have.
    case full
    /// The database was opened by a command that has nothing to do with tokens.
    case notLoaded

    package var description: String {
        let restore = "put back the ring that belongs to this database; without it its tokens are lost"
        switch self {
        case .missingRing(let place, let keys):
            return
                "the token keys \(place) are missing, and the database is sealed under \(Self.list(keys)): \(restore)"
        case .missingKeys(let keys, let place):
            return "the token keys \(place) lack \(Self.list(keys)), which the database needs: \(restore)"
        case .wrongKeys(let keys, let place):
            return
                "the token keys \(place) hold another \(Self.list(keys)) than the database was sealed under: \(restore)"
        case .unreadable(let place, let detail): return "the token keys \(place) cannot be read: \(detail)"
        case .exposed(let path, let mode):
            return "others may read or change the token keys \(path) (mode \(mode)): chmod 600 \(path)"
        case .malformed(let place, let detail): return "the token keys \(place) are no ring of keys: \(detail)"
        case .cannotWrite(let path, let detail): return "the token keys \(path) cannot be written: \(detail)"
        case .full:
            return
                "the ring has as many keys as there may be; nothing was changed: take out those that are not needed "
                + "any more with `islet keys rotate-storage --retire`"
        case .notLoaded: return "the database was opened without its token keys"
        }
    }

    private static func list(_ keys: [String]) -> String { keys.map { "`\($0)`" }.joined(separator: ", ") }
}
