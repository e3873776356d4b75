import APNSModel
import LiveActivityCore
import Synchronization

/// The statements of one transaction or read, with what opens and seals its tokens.
///
/// A fan-out reads and writes millions of rows with about twenty numbers each. Boxed values and column names would cost
/// several times as much as the database itself, so columns are read and bound by their position.
struct Statements {
    typealias Argument = SQLArgument

    let transaction: any SQLTransaction
    /// Seals and opens tokens.
    let sealing: TokenSealing
    /// Collects damaged rows, which are then skipped. If it is `nil`, the first damaged row fails the query.
    var damage: DamageNotes?

    /// Calls `body` for each row.
    func query(_ text: String, _ arguments: [Argument] = [], _ body: (inout RowReader) throws -> Void) throws {
        try transaction.query(text, arguments) { cursor in
            var row = RowReader(cursor, sealing)
            do {
                try body(&row)
            } catch let row as DamagedRow {
                guard let damage else { throw row }
                damage.note(row)
            }
        }
    }

    /// Reads a row that holds a token.
    ///
    /// A token that does not open counts as missing, so that the phone's next token replaces it. With `isStrict`, it
    /// throws instead.
    func token<Row>(_ isStrict: Bool, _ read: () throws -> Row) throws -> Row? {
        guard !isStrict else { return try read() }
        do {
            return try read()
        } catch let row as DamagedRow where row.isSealed {
            sealing.noteDamage()
            return nil
        }
    }

    /// Returns the first column of the last row, or `nil` if there is no row. Intended for statements with one row.
    func number(_ text: String, _ arguments: [Argument] = []) throws -> Int64? {
        var found: Int64?
        try query(text, arguments) { row in found = row.intOrNil() }
        return found
    }

    /// Runs a statement and returns the number of changed rows.
    func execute(_ text: String, _ arguments: [Argument] = []) throws -> Int {
        try transaction.execute(text, arguments)
    }

    /// Runs a statement whose number of changed rows nobody needs.
    func run(_ text: String, _ arguments: [Argument] = []) throws {
        try transaction.run(text, arguments)
    }

    /// Writes rows, many with each statement.
    ///
    /// - Parameter leavesPlaces: `true` if no column in `placeColumns` has changed in these rows.
    func write<Row: StoredRow>(_ rows: [Row], leavesPlaces: Bool = false) throws {
        guard !rows.isEmpty else { return }
        try transaction.upsert(Upserts.of(Row.self, leavesPlaces), count: rows.count) { index, row in
            rows[index].bind(&row)
        }
    }

    /// Deletes the rows whose keys are listed. Without keys, it does nothing.
    func delete(_ text: String, _ keys: Argument) throws {
        switch keys {
        case .list(let keys) where keys.isEmpty: return
        case .texts(let keys) where keys.isEmpty: return
        case .pairs(let keys) where keys.isEmpty: return
        case .tuples(let keys) where keys.isEmpty: return
        case .list, .texts, .pairs, .tuples, .int, .text, .blob, .null: try run(text, [keys])
        }
    }
}

/// A row of one table, read and written by the position of its columns.
protocol StoredRow {
    static var table: String { get }
    /// The columns, in the order in which they are read and bound.
    static var columns: [String] { get }
    static var keyColumns: [String] { get }
    /// Columns that never change after insertion. Updates leave them out, so their indexes stay untouched.
    static var fixedColumns: Set<String> { get }
    /// Indexed columns that seldom change. Updates of rows in which they did not change leave them out, because SQLite
    /// rewrites an index entry even if the value stays the same.
    static var placeColumns: Set<String> { get }
    /// Expressions over the aliased row. They are read after its columns, and never written.
    static func derived(from alias: String) -> [String]
    init(_ row: inout RowReader) throws
    func bind(_ row: inout RowBinder)
}

extension StoredRow {
    static var fixedColumns: Set<String> { [] }
    static var placeColumns: Set<String> { [] }
    static func derived(from alias: String) -> [String] { [] }
    static var list: String { (columns + derived(from: table)).joined(separator: ", ") }
    static func list(of alias: String) -> String {
        (columns.map { "\(alias).\($0)" } + derived(from: alias)).joined(separator: ", ")
    }
}

/// The columns that `write` writes of each table.
private enum Upserts {
    private struct Key: Hashable {
        let table: String
        let leavesPlaces: Bool
    }

    private static let made = Mutex<[Key: SQLUpsert]>([:])

    static func of<Row: StoredRow>(_ row: Row.Type, _ leavesPlaces: Bool) -> SQLUpsert {
        made.withLock { made in
            let key = Key(table: Row.table, leavesPlaces: leavesPlaces)
            if let upsert = made[key] { return upsert }
            let left = Row.fixedColumns.union(Row.keyColumns).union(leavesPlaces ? Row.placeColumns : [])
            let upsert = SQLUpsert(
                table: Row.table, columns: Row.columns, keyColumns: Row.keyColumns,
                updated: Row.columns.filter { !left.contains($0) }, number: made.count)
            made[key] = upsert
            return upsert
        }
    }
}

/// Reads the columns of a row in order.
struct RowReader {
    let sealing: TokenSealing
    private let cursor: SQLCursor
    private var index: CInt = 0

    init(_ cursor: SQLCursor, _ sealing: TokenSealing) {
        self.cursor = cursor
        self.sealing = sealing
    }

    private var functions: SQLCursor.Functions {
        _read { yield cursor.functions.pointee }
    }

    mutating func int() -> Int64 {
        defer { index += 1 }
        return functions.int(cursor.row, index)
    }

    mutating func intOrNil() -> Int64? {
        defer { index += 1 }
        return functions.isNull(cursor.row, index) ? nil : functions.int(cursor.row, index)
    }

    mutating func doubleOrNil() -> Double? {
        defer { index += 1 }
        return functions.isNull(cursor.row, index) ? nil : functions.double(cursor.row, index)
    }

    mutating func textOrNil() -> String? {
        guard let bytes = placeOrNil() else { return functions.isNull(cursor.row, index - 1) ? nil : "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func blobOrNil() -> [UInt8]? {
        guard let bytes = placeOrNil() else { return functions.isNull(cursor.row, index - 1) ? nil : [] }
        return Array(bytes)
    }

    /// Returns the bytes of a column in place, valid until the next row, or `nil` if the column is empty.
    mutating func placeOrNil() -> UnsafeRawBufferPointer? {
        defer { index += 1 }
        guard let start = functions.bytes(cursor.row, index) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(functions.count(cursor.row, index)))
    }

    /// Passes the bytes of a column without copying them.
    mutating func bytes<Value>(_ read: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        try read(placeOrNil() ?? UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Returns `true` if the right side of a `LEFT JOIN` has a row. Otherwise skips its columns.
    mutating func has<Row: StoredRow>(_ type: Row.Type) -> Bool {
        guard functions.isNull(cursor.row, index) else { return true }
        index += CInt(Row.columns.count + Row.derived(from: "").count)
        return false
    }

    /// Passes over columns.
    mutating func skip(_ columns: Int) { index += CInt(columns) }

    /// Returns a number without advancing to its column.
    func peek(_ place: Int) -> Int64 { cursor.functions.pointee.int(cursor.row, CInt(place)) }

    mutating func text() -> String { textOrNil() ?? "" }
    mutating func blob() -> [UInt8] { blobOrNil() ?? [] }
    mutating func bool() -> Bool { int() != 0 }
    mutating func boolOrNil() -> Bool? { intOrNil().map { $0 != 0 } }
    mutating func time() -> UnixTime { UnixTime(milliseconds: int()) }
    mutating func timeOrNil() -> UnixTime? { intOrNil().map(UnixTime.init(milliseconds:)) }
}

extension RowBinder {
    mutating func bool(_ value: Bool) { int(value ? 1 : 0) }
    mutating func bool(_ value: Bool?) { int(value.map { $0 ? 1 : 0 }) }
    mutating func time(_ value: UnixTime) { int(value.milliseconds) }
    mutating func time(_ value: UnixTime?) { int(value?.milliseconds) }
}
