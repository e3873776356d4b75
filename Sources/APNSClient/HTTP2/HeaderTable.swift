/// What the peer's HPACK decoder remembers of our headers (RFC 7541 section 2.3.2), newest first.
///
/// It never evicts: a field enters only while there is room, and a new start empties the whole table. So an index, once
/// it is known to be there, is wrong only after an insertion, never gone.
struct HeaderTable {
    /// RFC 7541 section 4.2: what a peer that says nothing allows; a larger table is of no use to us.
    static let maximumSize = 4_096
    /// The number of the newest dynamic entry: 1 to 61 are the static table (RFC 7541 section 2.3.3).
    private static let firstIndex = 62
    /// What an entry counts beyond its bytes (RFC 7541 section 4.1).
    private static let overhead = 32

    private struct Entry {
        let name: HeaderName
        let value: String
    }

    private var entries: [Entry] = []
    private var size = 0
    private(set) var limit = maximumSize

    func index(of name: HeaderName, _ value: String) -> Int? {
        for (offset, entry) in entries.enumerated() where entry.name == name && entry.value == value {
            return Self.firstIndex + offset
        }
        return nil
    }

    /// Whether the field was taken; `false` when the table has no room left.
    mutating func insert(_ name: HeaderName, _ value: String) -> Bool {
        let added = name.rawValue.utf8.count + value.utf8.count + Self.overhead
        guard size + added <= limit else { return false }
        size += added
        entries.insert(Entry(name: name, value: value), at: 0)
        return true
    }

    mutating func reset(limit: Int) {
        entries.removeAll(keepingCapacity: true)
        size = 0
        self.limit = limit
    }
}

/// The header fields that a push has, beside `:method` and `:scheme`.
enum HeaderName: String {
    case authority = ":authority"
    case path = ":path"
    case authorization
    case topic = "apns-topic"
    case pushType = "apns-push-type"
    case priority = "apns-priority"
    case id = "apns-id"
    case expiration = "apns-expiration"
    case collapseID = "apns-collapse-id"

    /// The entry of the static table with this name (RFC 7541 appendix A), or 0.
    var staticIndex: Int {
        switch self {
        case .authority: 1
        case .path: 4
        case .authorization: 23
        case .topic, .pushType, .priority, .id, .expiration, .collapseID: 0
        }
    }
}
