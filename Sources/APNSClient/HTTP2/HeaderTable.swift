/// The fields that the peer's HPACK decoder stores for this connection (RFC 7541 section 2.3.2), newest first.
///
/// The table never evicts. It accepts a field only while there is room, and a reset empties it completely. An index
/// therefore changes only with an insertion, and its field never disappears alone.
struct HeaderTable {
    /// Maximum size in bytes. It is the initial value for a peer that sets none (RFC 7541 section 4.2). A larger table
    /// has no use.
    static let maximumSize = 4_096
    /// The index of the newest dynamic entry. Indices 1 to 61 are the static table (RFC 7541 section 2.3.3).
    private static let firstIndex = 62
    /// Size in bytes that each entry adds to its text (RFC 7541 section 4.1).
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

    /// Inserts a field. Returns `false` if the table has no room for it.
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

/// The header fields of a push, besides `:method` and `:scheme`.
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
