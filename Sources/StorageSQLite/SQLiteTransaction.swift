import Foundation
import GRDB
import GRDBSQLite
import JSONText
import StorageSQL
import Synchronization

/// Prepared statements that run directly on SQLite. GRDB manages connections, transactions, migrations and the cache of
/// statements.
final class SQLiteTransaction: SQLTransaction {
    /// Size in bytes of the frame header before each page of the WAL
    /// (https://www.sqlite.org/fileformat2.html#walformat).
    private static let frameHeaderBytes = 24

    let db: Database
    // SQLite's own counters have 32 bits and wrap.
    private let rowsBefore: Int32
    private let pagesBefore: Int32

    init(_ db: Database) {
        self.db = db
        rowsBefore = sqlite3_total_changes(db.sqliteConnection)
        pagesBefore = Self.pagesWritten(db)
    }

    func query(_ text: String, _ arguments: [SQLArgument], _ body: (SQLCursor) throws -> Void) throws {
        try withStatement(SQLiteText.of(text), arguments) { statement in
            while true {
                let code = sqlite3_step(statement)
                guard code == SQLITE_ROW else { return try check(code) }
                try body(SQLCursor(statement, Self.cursor))
            }
        }
    }

    func execute(_ text: String, _ arguments: [SQLArgument]) throws -> Int {
        let before = sqlite3_total_changes(db.sqliteConnection)
        try run(text, arguments)
        return Int(sqlite3_total_changes(db.sqliteConnection) &- before)
    }

    func run(_ text: String, _ arguments: [SQLArgument]) throws {
        try withStatement(SQLiteText.of(text), arguments) { statement in try check(sqlite3_step(statement)) }
    }

    func upsert(_ table: SQLUpsert, count: Int, bind: (Int, inout RowBinder) -> Void) throws {
        var done = 0
        for size in [256, 64, 16, 4, 1] {
            while count - done >= size {
                try withStatement(SQLiteText.of(table, size), []) { statement in
                    var binder = RowBinder(statement, Self.binder, first: 1)
                    for index in done..<done + size { bind(index, &binder) }
                    try check(sqlite3_step(statement))
                }
                done += size
            }
        }
    }

    var written: SQLWritten {
        let pages = Int(Self.pagesWritten(db) &- pagesBefore)
        return SQLWritten(
            rows: Int(sqlite3_total_changes(db.sqliteConnection) &- rowsBefore),
            bytes: pages == 0 ? 0 : pages * (pageBytes + Self.frameHeaderBytes))
    }

    private var pageBytes: Int { (try? Int.fetchOne(db.cachedStatement(sql: "PRAGMA page_size"))) ?? 4096 }

    /// Returns the number of pages that this connection wrote to the WAL
    /// (https://www.sqlite.org/c3ref/c_dbstatus_options.html).
    private static func pagesWritten(_ db: Database) -> Int32 {
        var now: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0)
        return now
    }

    // MARK: - Statements

    private func withStatement(
        _ text: String, _ arguments: [SQLArgument], _ body: (OpaquePointer) throws -> Void
    ) throws {
        let statement = try cached(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        if !arguments.isEmpty {
            var binder = RowBinder(statement, Self.binder, first: 1)
            for argument in arguments {
                switch argument {
                case .int(let value): binder.int(value)
                case .text(let value): binder.text(value)
                case .blob(let value): binder.blob(value)
                case .null: binder.blob(nil)
                case .list, .texts, .pairs, .tuples: binder.text(argument.json)
                }
            }
        }
        try body(statement)
    }

    private func cached(_ text: String) throws -> OpaquePointer {
        do {
            return try db.cachedStatement(sql: text).sqliteStatement
        } catch {
            throw SQLError.of(error)
        }
    }

    private func check(_ code: CInt) throws {
        guard code != SQLITE_DONE, code != SQLITE_ROW, code != SQLITE_OK else { return }
        throw SQLError.of(
            DatabaseError(
                resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(db.sqliteConnection))))
    }

    // MARK: - Columns

    nonisolated(unsafe) private static let cursor: UnsafePointer<SQLCursor.Functions> = {
        let functions = UnsafeMutablePointer<SQLCursor.Functions>.allocate(capacity: 1)
        functions.initialize(
            to: SQLCursor.Functions(
                isNull: { sqlite3_column_type($0, $1) == SQLITE_NULL },
                int: { sqlite3_column_int64($0, $1) },
                double: { sqlite3_column_double($0, $1) },
                bytes: { sqlite3_column_blob($0, $1) },
                count: { sqlite3_column_bytes($0, $1) }))
        return UnsafePointer(functions)
    }()

    nonisolated(unsafe) private static let binder: UnsafePointer<RowBinder.Functions> = {
        // SQLite copies the bytes, because they no longer exist when it runs the statement.
        let functions = UnsafeMutablePointer<RowBinder.Functions>.allocate(capacity: 1)
        functions.initialize(
            to: RowBinder.Functions(
                int: { sqlite3_bind_int64($0, $1, $2) },
                double: { sqlite3_bind_double($0, $1, $2) },
                text: { statement, index, start, count in
                    let text = start?.assumingMemoryBound(to: CChar.self)
                    sqlite3_bind_text(
                        statement, index, text, CInt(count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
                },
                blob: { statement, index, start, count in
                    if let start {
                        sqlite3_bind_blob(
                            statement, index, start, CInt(count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
                    } else {
                        sqlite3_bind_zeroblob(statement, index, 0)
                    }
                },
                null: { statement, index, _ in sqlite3_bind_null(statement, index) }))
        return UnsafePointer(functions)
    }()
}

extension SQLArgument {
    /// The rows of a list, for `json_each`.
    fileprivate var json: String {
        switch self {
        case .list(let values): "[" + values.map(String.init).joined(separator: ",") + "]"
        case .texts(let values): "[" + values.map(Self.quoted).joined(separator: ",") + "]"
        case .pairs(let values): "[" + values.map { "[\($0.0),\($0.1)]" }.joined(separator: ",") + "]"
        case .tuples(let values):
            "["
                + values.map { row in
                    "[\(row.0),\(Self.quoted(row.1)),\(row.2.map { "\($0)" } ?? "null"),"
                        + "\(row.3.map { "\($0)" } ?? "null")]"
                }.joined(separator: ",") + "]"
        case .int, .text, .blob, .null: "[]"
        }
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }
}

/// The texts of statements as SQLite takes them, each made once.
private enum SQLiteText {
    private struct Upsert: Hashable {
        let number: Int
        let rows: Int
    }

    private static let texts = Mutex<[String: String]>([:])
    private static let upserts = Mutex<[Upsert: String]>([:])

    /// Replaces the tables of lists by `json_each`.
    static func of(_ text: String) -> String {
        return texts.withLock { texts in
            if let made = texts[text] { return made }
            let made = text.replacing("FROM list(?", with: "FROM json_each(?")
                .replacing(#/FROM pairs\((\?\d*)\)/#) { match in
                    "FROM (SELECT value ->> 0 AS a, value ->> 1 AS b FROM json_each(\(match.1)))"
                }
                .replacing(#/FROM tuples\((\?\d*)\)/#) { match in
                    "FROM (SELECT value ->> 0 AS a, value ->> 1 AS b, value ->> 2 AS c, value ->> 3 AS d "
                        + "FROM json_each(\(match.1)))"
                }
            texts[text] = made
            return made
        }
    }

    static func of(_ table: SQLUpsert, _ rows: Int) -> String {
        upserts.withLock { texts in
            let key = Upsert(number: table.number, rows: rows)
            if let text = texts[key] { return text }
            let text = make(table, rows)
            texts[key] = text
            return text
        }
    }

    private static func make(_ table: SQLUpsert, _ rows: Int) -> String {
        let places = "(" + Array(repeating: "?", count: table.columns.count).joined(separator: ",") + ")"
        let values = Array(repeating: places, count: rows).joined(separator: ",")
        let update =
            table.updated.isEmpty
            ? "DO NOTHING" : "DO UPDATE SET " + table.updated.map { "\($0)=excluded.\($0)" }.joined(separator: ",")
        return "INSERT INTO \(table.table) (\(table.columns.joined(separator: ","))) VALUES \(values) "
            + "ON CONFLICT (\(table.keyColumns.joined(separator: ","))) \(update)"
    }
}
