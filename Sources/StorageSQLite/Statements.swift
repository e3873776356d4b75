import APNSModel
import Foundation
import GRDB
import GRDBSQLite
import LiveActivityCore
import Synchronization

/// Prepared statements run straight on SQLite.
///
/// A fan-out reads and writes millions of rows of twenty numbers; by boxed values and column names that costs several
/// times what SQLite itself does. GRDB keeps connections, transactions, migrations and the cache of statements.
struct Statements {
    enum Argument {
        case int(Int64)
        case text(String)
        case blob([UInt8])
        case null
    }

    let db: Database
    /// What tokens are sealed and opened with.
    let sealing: TokenSealing
    /// Where rows that cannot be read are noted and passed over; `nil`: the first of them fails the query.
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

    /// A row that holds a token. One that does not open counts as one that is not there, so that the next token of its
    /// phone takes its place; unless it is asked for strictly.
    func token<Row>(_ isStrict: Bool, _ read: () throws -> Row) throws -> Row? {
        guard !isStrict else { return try read() }
        do {
            return try read()
        } catch let row as DamagedRow where row.isSealed {
            sealing.noteDamage()
            return nil
        }
    }

    /// The first column of the first row.
    func number(_ text: String, _ arguments: [Argument] = []) throws -> Int64? {
        var found: Int64?
        try query(text, arguments) { row in found = row.intOrNil() }
        return found
    }

    /// The number of rows that it changed.
    @discardableResult func execute(_ text: String, _ arguments: [Argument] = []) throws -> Int {
        let before = sqlite3_total_changes(db.sqliteConnection)
        try run(text, arguments) { statement in try check(sqlite3_step(statement)) }
        return Int(sqlite3_total_changes(db.sqliteConnection) - before)
    }

    /// Writes rows, many with one statement.
    ///
    /// - Parameter leavesPlaces: In none of them has a column of `placeColumns` changed.
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

    /// Removes rows by their keys, given as one JSON array.
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

/// A row of one table, read and written by the places of its columns.
protocol StoredRow {
    static var table: String { get }
    /// In the order in which they are read and bound.
    static var columns: [String] { get }
    static var keyColumns: [String] { get }
    /// Never changed once the row is there, and so left out of updates: their indexes stay untouched.
    static var fixedColumns: Set<String> { get }
    /// Of the others those that indexes hold and that seldom change: left out of the updates of rows in which they have
    /// not, since an index is written anew for whatever is set, changed or not.
    static var placeColumns: Set<String> { get }
    /// Expressions over the row of an alias: read behind its columns, and never written.
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

/// The texts of the statements that write a number of rows: made once for each.
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

/// Reads the columns of a row one after another.
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

    /// The bytes of a column where they lie, until the row is left; `nil` when it is empty.
    mutating func placeOrNil() -> UnsafeRawBufferPointer? {
        defer { index += 1 }
        guard let start = sqlite3_column_blob(statement, index) else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
    }

    /// The bytes of a column, without a copy.
    mutating func bytes<Value>(_ read: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        defer { index += 1 }
        let start = sqlite3_column_blob(statement, index)
        let count = Int(sqlite3_column_bytes(statement, index))
        return try read(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

    /// Whether the row of a table on the right of a `LEFT JOIN` is there: one that is not is passed over.
    mutating func has<Row: StoredRow>(_ type: Row.Type) -> Bool {
        guard sqlite3_column_type(statement, index) == SQLITE_NULL else { return true }
        index += CInt(Row.columns.count + Row.derived(from: "").count)
        return false
    }

    /// A number that is read later.
    func peek(_ place: Int) -> Int64 { sqlite3_column_int64(statement, CInt(place)) }

    mutating func text() -> String { textOrNil() ?? "" }
    mutating func blob() -> [UInt8] { blobOrNil() ?? [] }
    mutating func bool() -> Bool { int() != 0 }
    mutating func boolOrNil() -> Bool? { intOrNil().map { $0 != 0 } }
    mutating func time() -> UnixTime { UnixTime(milliseconds: int()) }
    mutating func timeOrNil() -> UnixTime? { intOrNil().map(UnixTime.init(milliseconds:)) }
}

/// Binds the columns of a row one after another.
struct RowBinder {
    private let statement: OpaquePointer
    private var index: CInt = 1
    /// SQLite copies what it is given: our bytes are gone when it runs.
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
