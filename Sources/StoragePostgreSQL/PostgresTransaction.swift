import CLibPQ
import StorageSQL

/// The statements of one transaction on a session.
///
/// Statements whose results nobody waits for are sent with the next that somebody does, or with the commit. So a
/// transaction takes as many round trips as it has queries.
final class PostgresTransaction: SQLTransaction {
    let session: PostgresSession
    private let texts: Texts
    private var rows = 0
    /// Bytes by which the server's log grew since the transaction before.
    var loggedBytes = 0

    /// The statements of one session as PostgreSQL takes them, each made once.
    final class Texts {
        fileprivate var statements: [String: String] = [:]
        fileprivate var upserts: [Int: String] = [:]
    }

    init(_ session: PostgresSession, _ texts: Texts) {
        self.session = session
        self.texts = texts
    }

    /// The bytes are those from the begin of the transaction before to the begin of this one: whole pages after a
    /// checkpoint and what other sessions of the server write are among them.
    var written: SQLWritten { SQLWritten(rows: rows, bytes: loggedBytes) }

    func query(_ text: String, _ arguments: [SQLArgument], _ body: (SQLCursor) throws -> Void) throws {
        try withoutActuallyEscaping(body) { body in
            try send(text, arguments) { result in
                var place = PostgresRow(result: result.pointer, row: 0)
                try withUnsafeMutablePointer(to: &place) { place in
                    for row in 0..<result.rows {
                        place.pointee.row = CInt(row)
                        try body(SQLCursor(OpaquePointer(place), PostgresRow.functions))
                    }
                }
            }
            try receive()
        }
    }

    func execute(_ text: String, _ arguments: [SQLArgument]) throws -> Int {
        var changed = 0
        try send(text, arguments) { changed = $0.changed }
        try receive()
        rows += changed
        return changed
    }

    func run(_ text: String, _ arguments: [SQLArgument]) throws {
        rows += 1
        try send(text, arguments) { [self] in rows += $0.changed - 1 }
    }

    func upsert(_ table: SQLUpsert, count: Int, bind: (Int, inout RowBinder) -> Void) throws {
        let columns = PostgresColumns(count: table.columns.count)
        for index in 0..<count {
            var binder = RowBinder(columns.place, PostgresColumns.functions, first: 0)
            bind(index, &binder)
        }
        let text: String
        if let made = texts.upserts[table.number] {
            text = made
        } else {
            text = PostgresText.of(table, columns.arrays)
            texts.upserts[table.number] = text
        }
        var parameters = PostgresParameters()
        for array in columns.arrays { parameters.add(array) }
        rows += count
        try converting { try session.send(text, parameters) }
    }

    private func send(
        _ text: String, _ arguments: [SQLArgument], _ take: @escaping (PostgresResult) throws -> Void
    ) throws {
        let made: String
        if let known = texts.statements[text] {
            made = known
        } else {
            made = PostgresText.of(text, arguments)
            texts.statements[text] = made
        }
        try converting { try session.send(made, PostgresParameters(arguments), take) }
    }

    private func receive() throws { try converting { try session.receive() } }

    private func converting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as PostgresError {
            throw SQLError.of(error)
        }
    }
}

extension SQLError {
    /// Returns an error of PostgreSQL.
    static func of(_ error: PostgresError) -> SQLError {
        switch error {
        case .refused, .lost, .late: SQLError(.other, error.words)
        case .answered(let answer):
            switch answer.code {
            // Class 23 is about integrity constraints.
            case _ where answer.code.hasPrefix("23"): SQLError(.conflict, error.words)
            // data_corrupted, index_corrupted
            case "XX001", "XX002": SQLError(.corrupt, error.words)
            case "57014": SQLError(.interrupted, error.words)
            default: SQLError(.other, error.words)
            }
        }
    }
}

/// A row of a result, as `SQLCursor` reads it.
private struct PostgresRow {
    let result: OpaquePointer
    var row: CInt

    private static func at(_ place: OpaquePointer?) -> Self {
        UnsafeMutablePointer<Self>(place).unsafelyUnwrapped.pointee
    }

    nonisolated(unsafe) static let functions: UnsafePointer<SQLCursor.Functions> = {
        let functions = UnsafeMutablePointer<SQLCursor.Functions>.allocate(capacity: 1)
        functions.initialize(
            to: SQLCursor.Functions(
                isNull: { place, column in
                    let row = PostgresRow.at(place)
                    return PQgetisnull(row.result, row.row, column) == 1
                },
                int: { place, column in
                    let row = PostgresRow.at(place)
                    // A sum of numbers is of another type: a statement must cast it.
                    assert([16, 20, 23].contains(PQftype(row.result, column)), "a column is no integer")
                    guard let start = PQgetvalue(row.result, row.row, column) else { return 0 }
                    let value = UnsafeRawPointer(start)
                    // int8, int4, and the bool of a condition.
                    switch PQgetlength(row.result, row.row, column) {
                    case 8: return Int64(bigEndian: value.loadUnaligned(as: Int64.self))
                    case 4: return Int64(Int32(bigEndian: value.loadUnaligned(as: Int32.self)))
                    case 1: return Int64(value.load(as: UInt8.self))
                    default: return 0
                    }
                },
                double: { place, column in
                    let row = PostgresRow.at(place)
                    guard let start = PQgetvalue(row.result, row.row, column),
                        PQgetlength(row.result, row.row, column) == 8
                    else { return 0 }
                    return Double(
                        bitPattern: UInt64(bigEndian: UnsafeRawPointer(start).loadUnaligned(as: UInt64.self)))
                },
                bytes: { place, column in
                    let row = PostgresRow.at(place)
                    guard PQgetisnull(row.result, row.row, column) == 0 else { return nil }
                    return UnsafeRawPointer(PQgetvalue(row.result, row.row, column))
                },
                count: { place, column in
                    let row = PostgresRow.at(place)
                    return PQgetlength(row.result, row.row, column)
                }))
        return UnsafePointer(functions)
    }()
}

/// The columns of rows that one statement writes.
private final class PostgresColumns {
    fileprivate var arrays: [PostgresArray]

    init(count: Int) {
        arrays = Array(repeating: PostgresArray(.int), count: count)
    }

    var place: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    private static func at(_ place: OpaquePointer?) -> PostgresColumns {
        Unmanaged<PostgresColumns>.fromOpaque(UnsafeRawPointer(place.unsafelyUnwrapped)).takeUnretainedValue()
    }

    nonisolated(unsafe) static let functions: UnsafePointer<RowBinder.Functions> = {
        let functions = UnsafeMutablePointer<RowBinder.Functions>.allocate(capacity: 1)
        functions.initialize(
            to: RowBinder.Functions(
                int: { PostgresColumns.at($0).arrays[Int($1)].append($2) },
                double: { PostgresColumns.at($0).arrays[Int($1)].append($2) },
                text: { place, column, start, count in
                    PostgresColumns.at(place).arrays[Int(column)].append(
                        UnsafeRawBufferPointer(start: start, count: count), .text)
                },
                blob: { place, column, start, count in
                    PostgresColumns.at(place).arrays[Int(column)].append(
                        UnsafeRawBufferPointer(start: start, count: count), .blob)
                },
                null: { place, column, type in
                    PostgresColumns.at(place).arrays[Int(column)].appendNull(SQLType(rawValue: type) ?? .int)
                }))
        return UnsafePointer(functions)
    }()
}
