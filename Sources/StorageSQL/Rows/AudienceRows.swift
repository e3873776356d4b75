import APNSModel
import LiveActivityCore

/// A person in an activity's audience.
struct MemberRow: StoredRow {
    static let table = "member"
    static let columns = ["activity", "user", "mark"]
    static let keyColumns = ["activity", "user"]

    let key: Snapshot.MemberKey
    let mark: Int64

    init(_ key: Snapshot.MemberKey, mark: Int64) {
        self.key = key
        self.mark = mark
    }

    init(_ row: inout RowReader) throws {
        key = Snapshot.MemberKey(row.int(), row.int())
        mark = row.int()
    }

    func bind(_ row: inout RowBinder) {
        row.int(key.activity)
        row.int(key.user)
        row.int(mark)
    }
}

extension AudienceRecord: StoredRow {
    static let table = "audience"
    static let columns = ["activity", "members", "mark", "session", "closed", "replaced"]
    static let keyColumns = ["activity"]

    init(_ row: inout RowReader) throws {
        self.init(activity: row.int())
        members = Int(row.int())
        mark = row.int()
        session = row.textOrNil()
        isClosed = row.bool()
        replaced = try row.textOrNil().map(ActivityCoding.alertIDs) ?? []
    }

    func bind(_ row: inout RowBinder) {
        row.int(activity)
        row.int(Int64(members))
        row.int(mark)
        row.text(session)
        row.bool(isClosed)
        row.text(ActivityCoding.text(replaced))
    }
}

extension IdempotencyRecord: StoredRow {
    static let table = "idempotency"
    static let columns = ["app", "key_hash", "digest", "answer", "at"]
    static let keyColumns = ["app", "key_hash"]

    init(_ row: inout RowReader) throws {
        let app = try decodeBundleID(row.text(), Self.table)
        guard let hash = Self.bytes(row.text()) else { throw DamagedRow(table: Self.table, column: "key_hash") }
        self.init(app: app, hash: hash, digest: row.blob(), answer: row.blob(), at: row.time())
    }

    /// Returns the hash as hexadecimal text, so that one JSON list finds many.
    static func text(_ hash: [UInt8]) -> String {
        hash.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { UInt8(truncatingIfNeeded: Character(UnicodeScalar($0)).hexDigitValue ?? 255) }
        guard digits.count.isMultiple(of: 2), !digits.contains(255) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    func bind(_ row: inout RowBinder) {
        row.text(app.text)
        row.text(Self.text(hash))
        row.blob(digest)
        row.blob(answer)
        row.time(at)
    }
}
