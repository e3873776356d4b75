import APNSModel
import JSONText
import LiveActivityCore

/// A row with a value that this version cannot read. Such rows are reported, and their values are never guessed.
struct DamagedRow: Error, CustomStringConvertible {
    let table: String
    let column: String
    /// `true` if the value is a token that does not open.
    var isSealed = false
    /// The format number of the value, if this version does not know that format.
    var newerFormat: UInt64?

    var description: String {
        let words = "a row of `\(table)` holds a value in `\(column)` that cannot be read"
        guard let newerFormat else { return words }
        return words + ": its format \(newerFormat) comes from a newer version of islet"
    }
}

/// Returns the case with a stored raw value.
func decodeCase<Value: RawRepresentable>(
    _ raw: Value.RawValue?, _ table: String, _ column: String
) throws -> Value {
    guard let raw, let value = Value(rawValue: raw) else { throw DamagedRow(table: table, column: column) }
    return value
}

func decodeCase<Value: RawRepresentable<Int>>(_ raw: Int64, _ table: String, _ column: String) throws -> Value {
    try decodeCase(Int(truncatingIfNeeded: raw), table, column)
}

/// Returns the case with a stored raw value, or `nil` for an empty column.
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
