/// Reason why push tokens cannot be sealed or opened, with advice. It contains key ids, but never a key.
package enum TokenKeyProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no ring of keys, but the database contains tokens sealed with these keys.
    case missingRing(place: String, keys: [String])
    /// The ring lacks these keys, which the database needs.
    case missingKeys([String], place: String)
    /// The ring's keys with these ids differ from those that the database was sealed with.
    case wrongKeys([String], place: String)
    case unreadable(place: String, detail: String)
    /// Users other than the file's owner could read or change it.
    case exposed(path: String, mode: String)
    case malformed(place: String, detail: String)
    case cannotWrite(path: String, detail: String)
    /// The ring has the maximum number of keys.
    case full
    /// The database was opened by a command that does not load token keys.
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
                "the token keys \(place) hold another key \(Self.list(keys)) than the one that sealed the database: "
                + restore
        case .unreadable(let place, let detail): return "the token keys \(place) cannot be read: \(detail)"
        case .exposed(let path, let mode):
            return "others may read or change the token keys \(path) (mode \(mode)): chmod 600 \(path)"
        case .malformed(let place, let detail): return "the token keys \(place) are not a valid key ring: \(detail)"
        case .cannotWrite(let path, let detail): return "the token keys \(path) cannot be written: \(detail)"
        case .full:
            return
                "the ring has the maximum number of keys, so nothing was changed: remove those that are not needed "
                + "any more with `islet keys rotate-storage --retire`"
        case .notLoaded: return "the database was opened without its token keys"
        }
    }

    private static func list(_ keys: [String]) -> String { keys.map { "`\($0)`" }.joined(separator: ", ") }
}
