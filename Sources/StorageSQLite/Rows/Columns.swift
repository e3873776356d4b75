public import APNSModel
public import GRDB
import LiveActivityCore

extension UnixTime: DatabaseValueConvertible, SQLExpressible, StatementBinding {
    /// Milliseconds since 1970.
    public var databaseValue: DatabaseValue { milliseconds.databaseValue }

    /// `nil` for a value that is not a whole number.
    public static func fromDatabaseValue(_ value: DatabaseValue) -> UnixTime? {
        Int64.fromDatabaseValue(value).map(UnixTime.init(milliseconds:))
    }

    /// Binds the milliseconds without a detour.
    public func bind(to sqliteStatement: SQLiteStatement, at index: CInt) -> CInt {
        milliseconds.bind(to: sqliteStatement, at: index)
    }
}

extension Duration {
    var columnValue: Int64 { wholeMilliseconds }
}

/// A row that does not hold what this version writes: reported, never guessed at.
struct DamagedRow: Error, CustomStringConvertible {
    let table: String
    let column: String

    var description: String { "a row of `\(table)` holds a value in `\(column)` that cannot be read" }
}

/// The value of a case by its stored name.
func decodeCase<Value: RawRepresentable>(
    _ raw: Value.RawValue?, _ table: String, _ column: String
) throws -> Value {
    guard let raw, let value = Value(rawValue: raw) else { throw DamagedRow(table: table, column: column) }
    return value
}

/// The same for a column that may be empty.
func decodeCase<Value: RawRepresentable>(
    ifPresent raw: Value.RawValue?, _ table: String, _ column: String
) throws -> Value? {
    try raw.map { raw in try decodeCase(raw, table, column) }
}

func decodeReason(_ text: String?, _ table: String, _ column: String) throws -> Reason? {
    guard let text else { return nil }
    guard let reason = Reason(stored: text) else { throw DamagedRow(table: table, column: column) }
    return reason
}

func decodeBundleID(_ text: String, _ table: String) throws -> BundleID {
    guard let id = BundleID(text) else { throw DamagedRow(table: table, column: "app") }
    return id
}

/// A list for `IN (SELECT value FROM json_each(?))`: one statement whatever the count.
func jsonList(_ values: some Sequence<Int64>) -> String {
    "[" + values.map(String.init).joined(separator: ",") + "]"
}
