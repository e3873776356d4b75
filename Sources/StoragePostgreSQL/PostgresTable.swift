import LiveActivityStorage
import StorageSQL

/// A table as the catalog describes it.
struct PostgresTable {
    struct Column {
        let name: String
        let type: SQLType
    }

    let name: String
    private(set) var columns: [Column] = []
    /// Names of the columns of the primary key, in its order.
    private(set) var key: [String] = []

    /// Tables that say something about this database alone.
    private static let own = ["schema_version", "writer", "node"]

    /// Returns the tables that contain what the engine keeps.
    static func all(_ transaction: PostgresTransaction) throws -> [Self] {
        var tables: [Self] = []
        var keys: [(place: Int64, name: String)] = []
        func finish() {
            guard !tables.isEmpty else { return }
            tables[tables.count - 1].key = keys.sorted { $0.place < $1.place }.map(\.name)
            keys = []
        }
        try transaction.query(
            """
            SELECT c.relname::text, a.attname::text, a.atttypid::bigint,
                array_position(i.indkey::smallint[], a.attnum)::bigint
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
            WHERE n.nspname = ? AND c.relkind = 'r' AND c.relname::text NOT IN (SELECT value FROM list(?))
            ORDER BY c.relname, a.attnum
            """, [.text(PostgresSchema.name), .texts(own)]
        ) { row in
            let name = row.text(0)
            if tables.last?.name != name {
                finish()
                tables.append(Self(name: name))
            }
            let column = Column(name: row.text(1), type: try type(of: row.number(2), name))
            tables[tables.count - 1].columns.append(column)
            if !row.isNull(3) { keys.append((row.number(3), column.name)) }
        }
        finish()
        return tables
    }

    /// Types by their numbers in PostgreSQL's catalog `pg_type`.
    private static func type(of number: Int64, _ table: String) throws -> SQLType {
        switch number {
        case 20: .int
        case 701: .double
        case 25: .text
        case 17: .blob
        default: throw StorageError.failed("the table `\(table)` has a column of the type \(number)")
        }
    }

    func isEmpty(_ transaction: PostgresTransaction) throws -> Bool {
        var hasRows = false
        try transaction.query("SELECT count(*) FROM (SELECT 1 FROM \(quoted(name)) LIMIT 1) AS first", []) {
            hasRows = $0.number > 0
        }
        return !hasRows
    }

    private func quoted(_ name: String) -> String { "\"\(name)\"" }

    private var columnList: String { columns.map { quoted($0.name) }.joined(separator: ", ") }

    /// Statement for all rows in the order of the primary key, for both databases.
    private var selection: String {
        "SELECT \(columnList) FROM \(quoted(name)) ORDER BY \(key.map(quoted).joined(separator: ", "))"
    }

    // MARK: - Rows

    /// Signature, flags, and length of the extension (https://www.postgresql.org/docs/15/sql-copy.html, Binary Format).
    private static let header = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8)
    private static let trailer: [UInt8] = [0xFF, 0xFF]
    private static let bytesPerPiece = 1 << 18
    private static let rowsPerFetch = 2000

    /// Copies all rows of the source, and returns their number.
    func load(from source: any SQLTransaction, into target: PostgresTransaction, wait: Duration) throws -> Int {
        var rows = 0
        try target.session.receive(isEnd: true)
        try target.session.copy(
            "COPY \(PostgresSchema.name).\(quoted(name)) (\(columnList)) FROM STDIN (FORMAT binary)", wait: wait
        ) { put in
            var piece = Self.header
            try source.query(selection, []) { row in
                append(row, to: &piece)
                rows += 1
                if piece.count >= Self.bytesPerPiece {
                    try piece.withUnsafeBytes(put)
                    piece.removeAll(keepingCapacity: true)
                }
            }
            piece += Self.trailer
            try piece.withUnsafeBytes(put)
        }
        return rows
    }

    /// Compares all rows with those of the source.
    ///
    /// - Throws: `SQLError` if a row differs or is missing.
    func compare(
        _ source: any SQLTransaction, _ target: PostgresTransaction, rows: Int, wait: Duration
    ) throws {
        let cursor = "moved_rows"
        target.session.deadline = .now + wait
        try target.run("DECLARE \(cursor) NO SCROLL CURSOR FOR \(selection)", [])
        var expected: [UInt8] = []
        var count = 0
        var total = 0
        func check() throws {
            var found: [UInt8] = []
            found.reserveCapacity(expected.count)
            target.session.deadline = .now + wait
            try target.query("FETCH \(Self.rowsPerFetch) FROM \(cursor)", []) { append($0, to: &found) }
            guard found == expected else {
                throw SQLError(.corrupt, "rows differ after copying, among the \(count) after row \(total)")
            }
            total += count
            expected.removeAll(keepingCapacity: true)
            count = 0
        }
        try source.query(selection, []) { row in
            append(row, to: &expected)
            count += 1
            if count == Self.rowsPerFetch { try check() }
        }
        // Also finds rows that the source does not have.
        try check()
        guard total == rows else { throw SQLError(.other, "it changed meanwhile") }
        try target.run("CLOSE \(cursor)", [])
    }

    /// Appends a row in the binary format of `COPY`.
    private func append(_ row: SQLCursor, to bytes: inout [UInt8]) {
        func append(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(Int16(columns.count))
        for (index, column) in columns.enumerated() {
            let place = CInt(index)
            guard !row.isNull(place) else {
                append(Int32(-1))
                continue
            }
            switch column.type {
            case .int:
                append(Int32(8))
                append(row.number(place))
            case .double:
                append(Int32(8))
                append(row.double(place).bitPattern)
            case .text, .blob:
                let value = row.bytes(place)
                append(Int32(value.count))
                bytes.append(contentsOf: value)
            }
        }
    }
}
