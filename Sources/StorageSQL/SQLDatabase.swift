package import APNSModel
package import LiveActivityStorage

/// A database that the engine keeps its tables in.
///
/// The engine writes its statements once, for SQLite and PostgreSQL. A database runs them, and says what became of a
/// transaction. See `SQLTransaction` for what statements may contain.
package protocol SQLDatabase: Sendable {
    /// Name of the database's thread for writing.
    var name: String { get }

    /// Runs `body` in a transaction and commits it. Only one thread calls it at a time.
    ///
    /// - Returns: Amount that the transaction has written, its commit included.
    /// - Throws: What `body` threw, after a rollback; otherwise an `SQLError`. Once `body` has returned, an error other
    ///   than `rolledBack` and `conflict` means that nobody knows whether the transaction was committed.
    func write(_ body: (any SQLTransaction) throws -> Void) throws -> SQLWritten

    /// Runs `body` on one consistent state of the database, which contains every commit that was answered before.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any SQLTransaction) throws -> Value) async throws -> Value

    /// Calls `body` on another thread, once, with a transaction as in `read` or the reason why there is none.
    func beginRead(_ body: @escaping @Sendable (Result<any SQLTransaction, any Error>) -> Void)

    /// Reads while the calling thread waits: for what must be known before the store opens.
    func readNow<Value>(_ body: (any SQLTransaction) throws -> Value) throws -> Value

    /// Locks the database against other processes with the same purpose; `nil` if one of them holds the lock.
    func lock(_ purpose: SQLLockPurpose) throws(StorageError) -> (any SQLLock)?

    /// An element when nothing can be written any more. For one reader.
    var losses: AsyncStream<DatabaseLoss> { get }

    /// What was assumed when the database was opened, because it was restored or lacks changes; `nil` if nothing was.
    var assumedRestore: AssumedRestore? { get }

    /// Ends all connections. Nothing may be running.
    func close()
}

extension SQLDatabase {
    /// Nothing: the database of a file is locked as long as the process runs.
    package var losses: AsyncStream<DatabaseLoss> { AsyncStream { _ in } }

    /// Nothing: `islet restore` makes a file safe.
    package var assumedRestore: AssumedRestore? { nil }
}

/// The reason why a process can write nothing any more.
package enum DatabaseLoss: Sendable {
    /// Another process has taken the database over.
    case takenOver
    /// The database lacks changes that were committed. When it is opened again, it counts as restored.
    case changesLost
}

/// A restore that a process has assumed, and made safe, when it opened a database.
package struct AssumedRestore: Sendable {
    /// Why it was assumed.
    package var reason: String
    /// Time of the last change in the database.
    package var madeAt: UnixTime
    package var changes: BackupSafety.Changes

    package init(reason: String, madeAt: UnixTime, changes: BackupSafety.Changes) {
        self.reason = reason
        self.madeAt = madeAt
        self.changes = changes
    }
}

/// Work that only one process at a time may do.
package enum SQLLockPurpose: Sendable {
    /// To serve the database.
    case serving
    /// To rotate its token keys.
    case rotation
}

/// A lock that other processes see. It ends with the process at the latest.
package protocol SQLLock: Sendable {
    func unlock()
}

/// Statements within one transaction or read, on one connection and one thread.
///
/// Statements are SQL that both databases understand. Beyond that:
///
/// - `?` is the next argument, and `?2` the second.
/// - `list(?)` is a table with one column `value`, from `SQLArgument.list` or `.texts`. `pairs(?)` is a table with the
///   columns `a` and `b`, from `.pairs`, and `tuples(?)` one with the columns `a` to `d`, from `.tuples`.
/// - `INDEXED BY`, `NOT INDEXED` and `CROSS JOIN … ON` say how SQLite should search. They mean the same without.
package protocol SQLTransaction: AnyObject {
    /// Calls `body` for each row.
    func query(
        _ text: String, _ arguments: [SQLArgument], _ body: (SQLCursor) throws -> Void
    ) throws
    /// Runs a statement and returns the number of changed rows.
    func execute(_ text: String, _ arguments: [SQLArgument]) throws -> Int
    /// Runs a statement whose result nobody needs. An error may be thrown later in the transaction.
    func run(_ text: String, _ arguments: [SQLArgument]) throws
    /// Inserts rows, or updates those whose key exists.
    func upsert(_ table: SQLUpsert, count: Int, bind: (Int, inout RowBinder) -> Void) throws
    /// Amount that this transaction has written since it was handed out.
    var written: SQLWritten { get }
}

/// Amount of writing.
package struct SQLWritten: Sendable, Equatable {
    package var rows: Int
    /// Bytes that were or will be written to the log, as far as the database knows.
    package var bytes: Int

    package init(rows: Int = 0, bytes: Int = 0) {
        self.rows = rows
        self.bytes = bytes
    }
}

package enum SQLArgument: Sendable {
    case int(Int64)
    case text(String)
    case blob([UInt8])
    case null
    case list([Int64])
    case texts([String])
    case pairs([(Int64, Int64)])
    case tuples([(Int64, String, Int64?, Int64?)])
}

/// The columns of a table that `upsert` writes.
package struct SQLUpsert: Sendable {
    package let table: String
    /// All columns, in the order in which they are bound.
    package let columns: [String]
    package let keyColumns: [String]
    /// Columns that a row with an existing key gets anew. The others keep their values.
    package let updated: [String]
    /// Number that no other `SQLUpsert` of the process has.
    package let number: Int
}

/// A row of a result. It is valid until the next row, and its columns count from 0.
///
/// The functions are pointers, because a call through a protocol counts references, and a fan-out reads some twenty
/// columns of each phone.
package struct SQLCursor {
    package struct Functions: @unchecked Sendable {
        package let isNull: @convention(c) (OpaquePointer?, CInt) -> Bool
        /// Returns a number; 0 for `NULL`.
        package let int: @convention(c) (OpaquePointer?, CInt) -> Int64
        package let double: @convention(c) (OpaquePointer?, CInt) -> Double
        /// Returns the bytes of a text or blob in place. `NULL` and no bytes may give `nil`.
        package let bytes: @convention(c) (OpaquePointer?, CInt) -> UnsafeRawPointer?
        /// Returns the number of bytes. Called after `bytes`.
        package let count: @convention(c) (OpaquePointer?, CInt) -> CInt

        package init(
            isNull: @convention(c) (OpaquePointer?, CInt) -> Bool,
            int: @convention(c) (OpaquePointer?, CInt) -> Int64,
            double: @convention(c) (OpaquePointer?, CInt) -> Double,
            bytes: @convention(c) (OpaquePointer?, CInt) -> UnsafeRawPointer?,
            count: @convention(c) (OpaquePointer?, CInt) -> CInt
        ) {
            self.isNull = isNull
            self.int = int
            self.double = double
            self.bytes = bytes
            self.count = count
        }
    }

    let row: OpaquePointer?
    let functions: UnsafePointer<Functions>

    package init(_ row: OpaquePointer?, _ functions: UnsafePointer<Functions>) {
        self.row = row
        self.functions = functions
    }

    /// The number in the first column.
    package var number: Int64 { number(0) }
    /// The number in a column; 0 for `NULL`.
    package func number(_ column: CInt) -> Int64 { functions.pointee.int(row, column) }
    package func isNull(_ column: CInt) -> Bool { functions.pointee.isNull(row, column) }
    /// The number in a column of floating-point numbers; 0 for `NULL`.
    package func double(_ column: CInt) -> Double { functions.pointee.double(row, column) }
    /// The bytes of a text or a blob, in place; empty for `NULL`.
    package func bytes(_ column: CInt) -> UnsafeRawBufferPointer {
        guard let start = functions.pointee.bytes(row, column) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: start, count: Int(functions.pointee.count(row, column)))
    }
    /// The text in a column; empty for `NULL`.
    package func text(_ column: CInt) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }
}

/// Takes the values of a row in the order of the columns.
package struct RowBinder {
    /// Functions that take one value each, with the place that `RowBinder.init` got and the number of the value.
    package struct Functions: @unchecked Sendable {
        package let int: @convention(c) (OpaquePointer?, CInt, Int64) -> Void
        package let double: @convention(c) (OpaquePointer?, CInt, Double) -> Void
        package let text: @convention(c) (OpaquePointer?, CInt, UnsafeRawPointer?, Int) -> Void
        package let blob: @convention(c) (OpaquePointer?, CInt, UnsafeRawPointer?, Int) -> Void
        /// Takes `NULL`, with the case of `SQLType` of what else the column may hold.
        package let null: @convention(c) (OpaquePointer?, CInt, UInt8) -> Void

        package init(
            int: @convention(c) (OpaquePointer?, CInt, Int64) -> Void,
            double: @convention(c) (OpaquePointer?, CInt, Double) -> Void,
            text: @convention(c) (OpaquePointer?, CInt, UnsafeRawPointer?, Int) -> Void,
            blob: @convention(c) (OpaquePointer?, CInt, UnsafeRawPointer?, Int) -> Void,
            null: @convention(c) (OpaquePointer?, CInt, UInt8) -> Void
        ) {
            self.int = int
            self.double = double
            self.text = text
            self.blob = blob
            self.null = null
        }
    }

    private let place: OpaquePointer?
    private let functions: UnsafePointer<Functions>
    /// Number of the next value.
    package private(set) var index: CInt

    package init(_ place: OpaquePointer?, _ functions: UnsafePointer<Functions>, first index: CInt) {
        self.place = place
        self.functions = functions
        self.index = index
    }

    package mutating func int(_ value: Int64?) {
        if let value {
            functions.pointee.int(place, index, value)
        } else {
            functions.pointee.null(place, index, SQLType.int.rawValue)
        }
        index += 1
    }

    package mutating func double(_ value: Double?) {
        if let value {
            functions.pointee.double(place, index, value)
        } else {
            functions.pointee.null(place, index, SQLType.double.rawValue)
        }
        index += 1
    }

    package mutating func text(_ value: String?) {
        if var value {
            value.withUTF8 { functions.pointee.text(place, index, $0.baseAddress, $0.count) }
        } else {
            functions.pointee.null(place, index, SQLType.text.rawValue)
        }
        index += 1
    }

    package mutating func blob(_ value: [UInt8]?) {
        if let value {
            value.withUnsafeBytes { functions.pointee.blob(place, index, $0.baseAddress, $0.count) }
        } else {
            functions.pointee.null(place, index, SQLType.blob.rawValue)
        }
        index += 1
    }
}

/// Type of a column.
package enum SQLType: UInt8, Sendable {
    case int, double, text, blob
}

/// The failure of a statement or of a commit, as the database reports it.
package struct SQLError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// A constraint was violated, such as uniqueness.
        case conflict
        /// Stored data contradicts itself.
        case corrupt
        /// The reader was ended, because its task was cancelled.
        case interrupted
        /// The transaction is certainly not committed.
        case rolledBack
        case other
    }

    package let kind: Kind
    /// The database's words, without arguments of the statement, which may contain tokens.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
