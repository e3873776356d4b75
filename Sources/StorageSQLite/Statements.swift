import APNSModel
import Foundation
import GRDB
import GRDBSQLite
import LiveActivityCore
import Synchronization

/// Prepared statements that run directly on SQLite.
///
/// A fan-out reads and writes millions of rows with about twenty numbers each. Boxed values and column names would cost
/// several times as much as SQLite itself. GRDB still manages connections, transactions, migrations and the statement
/// cache.
struct Statements {
    enum Argument {
        case int(Int64)
        case text(String)
        case blob([UInt8])
        case null
    }

    let db: Database
    /// Seals and opens tokens.
    let sealing: TokenSealing
    /// Collects damaged rows, which are then skipped. If it is `nil`, the first damaged row fails the query.
    var damage: DamageNotes?

    /// Calls `body` for each row.
    func query(_ text: String, _ arguments: [Argument] = [], _ body: (inout RowReader) throws -> Void) throws {
        try run(text, arguments) { statement in
            while true {
                let code = sqlite3_step(statement)
                guard code == SQLITE_ROW else { return try check(code) }
                var row = RowReader(statement, sealing)
                do {
                    try body(&row)
                } catch let row as DamagedRow {
                    guard let damage else { throw row }
                    damage.note(row)
                }
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
    @discardableResult func execute(_ text: String, _ arguments: [Argument] = []) throws -> Int {
        let before = sqlite3_total_changes(db.sqliteConnection)
        try run(text, arguments) { statement in try check(sqlite3_step(statement)) }
        return Int(sqlite3_total_changes(db.sqliteConnection) - before)
    }

    /// Writes rows, many with each statement.
    ///
    /// - Parameter leavesPlaces: `true` if no column in `placeColumns` has changed in these rows.
    func write<Row: StoredRow>(_ rows: [Row], leavesPlaces: Bool = false) throws {
        guard !rows.isEmpty else { return }
        var rest = rows[...]
        for size in [256, 64, 16, 4, 1] {
            while rest.count >= size {
                try run(UpsertText.of(Row.self, size, leavesPlaces), []) { statement in
                    var binder = RowBinder(statement)
                    for row in rest.prefix(size) { row.bind(&binder) }
                    try check(sqlite3_step(statement))
                }
                rest = rest.dropFirst(size)
            }
        }
    }

    /// Deletes rows by their keys, given as one JSON array.
    func delete(_ text: String, _ list: String, count: Int) throws {
        guard count > 0 else { return }
        try run(text, [.text(list)]) { statement in try check(sqlite3_step(statement)) }
    }

    private func run(_ text: String, _ arguments: [Argument], _ body: (OpaquePointer) throws -> Void) throws {
        let statement = try db.cachedStatement(sql: text).sqliteStatement
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        var binder = RowBinder(statement)
        for argument in arguments {
            switch argument {
            case .int(let value): binder.int(value)
            case .text(let value): binder.text(value)
            case .blob(let value): binder.blob(value)
            case .null: binder.blob(nil)
            }
        }
        try body(statement)
    }

    private func check(_ code: CInt) throws {
        guard code != SQLITE_DONE, code != SQLITE_ROW, code != SQLITE_OK else { return }
        throw DatabaseError(
            resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(db.sqliteConnection)))
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

/// Cached texts of the statements that write a number of rows.
private struct UpsertText: Hashable {
    let table: String
    let count: Int
    let leavesPlaces: Bool

    private static let made = Mutex<[UpsertText: String]>([:])

    static func of<Row: StoredRow>(_ row: Row.Type, _ count: Int, _ leavesPlaces: Bool) -> String {
        made.withLock { texts in
            let key = UpsertText(table: Row.table, count: count, leavesPlaces: leavesPlaces)
            if let text = texts[key] { return text }
            let text = make(row, count, leavesPlaces)
            texts[key] = text
            return text
        }
    }

    private static func make<Row: StoredRow>(_ row: Row.Type, _ count: Int, _ leavesPlaces: Bool) -> String {
        let places = "(" + Array(repeating: "?", count: Row.columns.count).joined(separator: ",") + ")"
        let values = Array(repeating: places, count: count).joined(separator: ",")
        let left = Row.fixedColumns.union(Row.keyColumns).union(leavesPlaces ? Row.placeColumns : [])
        let changed = Row.columns.filter { !left.contains($0) }
        let update =
            changed.isEmpty
            ? "DO NOTHING" : "DO UPDATE SET " + changed.map { "\($0)=excluded.\($0)" }.joined(separator: ",")
        return "INSERT INTO \(Row.table) (\(Row.columns.joined(separator: ","))) VALUES \(values) "
            + "ON CONFLICT (\(Row.keyColumns.joined(separator: ","))) \(update)"
    }
}

/// Reads the columns of a row in order.
struct RowReader {
    let sealing: TokenSealing
    private let statement: OpaquePointer
    private var index: CInt = 0

    init(_ statement: OpaquePointer, _ sealing: TokenSealing) {
        self.statement = statement
        self.sealing = sealing
    }

    mutating func int() -> Int64 {
        defer { index += 1 }
        return sqlite3_column_int64(statement, index)
    }

    mutating func intOrNil() -> Int64? {
        defer { index += 1 }
        guard sqlite3_column_type(statement, index) != SQLITE_NULL else { return nil }
        return sqlite3_column_int64(statement, index)
    }

    mutating func doubleOrNil() -> Double? {
        defer { index += 1 }
        guard sqlite3_column_type(statement, index) != SQLITE_NULL else { return nil }
        return sqlite3_column_double(statement, index)
    }

    mutating func textOrNil() -> String? {
        defer { index += 1 }
        guard let start = sqlite3_column_text(statement, index) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    mutating func blobOrNil() -> [UInt8]? {
        defer { index += 1 }
        guard sqlite3_column_type(statement, index) != SQLITE_NULL else { return nil }
        guard let start = sqlite3_column_blob(statement, index) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
    }

    /// Returns the bytes of a column in place, valid until the next row, or `nil` if the column is empty.
    mutating func placeOrNil() -> UnsafeRawBufferPointer? {
        defer { index += 1 }
        guard let start = sqlite3_column_blob(statement, index) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
    }

    /// Passes the bytes of a column without copying them.
    mutating func bytes<Value>(_ read: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        defer { index += 1 }
        let start = sqlite3_column_blob(statement, index)
        let count = Int(sqlite3_column_bytes(statement, index))
        return try read(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    /// Returns `true` if the right side of a `LEFT JOIN` has a row. Otherwise skips its columns.
    mutating func has<Row: StoredRow>(_ type: Row.Type) -> Bool {
        guard sqlite3_column_type(statement, index) == SQLITE_NULL else { return true }
        index += CInt(Row.columns.count + Row.derived(from: "").count)
        return false
    }

    /// Returns a number without advancing to its column.
    func peek(_ place: Int) -> Int64 { sqlite3_column_int64(statement, CInt(place)) }

    mutating func text() -> String { textOrNil() ?? "" }
    mutating func blob() -> [UInt8] { blobOrNil() ?? [] }
    mutating func bool() -> Bool { int() != 0 }
    mutating func boolOrNil() -> Bool? { intOrNil().map { $0 != 0 } }
    mutating func time() -> UnixTime { UnixTime(milliseconds: int()) }
    mutating func timeOrNil() -> UnixTime? { intOrNil().map(UnixTime.init(milliseconds:)) }
}

/// Binds the columns of a row in order.
struct RowBinder {
    private let statement: OpaquePointer
    private var index: CInt = 1
    /// SQLite copies the bytes, because they no longer exist when it runs the statement.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    mutating func int(_ value: Int64) {
        sqlite3_bind_int64(statement, index, value)
        index += 1
    }

    mutating func int(_ value: Int64?) {
        guard let value else { return null() }
        int(value)
    }

    mutating func double(_ value: Double?) {
        guard let value else { return null() }
        sqlite3_bind_double(statement, index, value)
        index += 1
    }

    mutating func text(_ value: String?) {
        guard var value else { return null() }
        value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                _ = sqlite3_bind_text(
                    statement, index, characters.baseAddress, CInt(characters.count), Self.transient)
            }
        }
        index += 1
    }

    mutating func blob(_ value: [UInt8]?) {
        guard let value else { return null() }
        value.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                _ = sqlite3_bind_blob(statement, index, start, CInt(bytes.count), Self.transient)
            } else {
                _ = sqlite3_bind_zeroblob(statement, index, 0)
            }
        }
        index += 1
    }

    mutating func bool(_ value: Bool) { int(value ? 1 : 0) }
    mutating func bool(_ value: Bool?) { int(value.map { $0 ? 1 : 0 }) }
    mutating func time(_ value: UnixTime) { int(value.milliseconds) }
    mutating func time(_ value: UnixTime?) { int(value?.milliseconds) }

    private mutating func null() {
        sqlite3_bind_null(statement, index)
        index += 1
    }
}
