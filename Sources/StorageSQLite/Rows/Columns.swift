import APNSModel
import JSONText
import LiveActivityCore
import Synchronization

/// A row that does not hold what this version writes: reported, never guessed at.
struct DamagedRow: Error, CustomStringConvertible {
    let table: String
    let column: String
    /// It is a token that does not open.
    var isSealed = false
    /// The number of the format that it says it has, where this version does not know that one.
    var newerFormat: UInt64?

    var description: String {
        let words = "a row of `\(table)` holds a value in `\(column)` that cannot be read"
        guard let newerFormat else { return words }
        return words + ": its format \(newerFormat) is of a newer version of islet"
    }
}

/// The value of a case by its stored name.
func decodeCase<Value: RawRepresentable>(
    _ raw: Value.RawValue?, _ table: String, _ column: String
) throws -> Value {
    guard let raw, let value = Value(rawValue: raw) else { throw DamagedRow(table: table, column: column) }
    return value
}

func decodeCase<Value: RawRepresentable<Int>>(_ raw: Int64, _ table: String, _ column: String) throws -> Value {
    try decodeCase(Int(truncatingIfNeeded: raw), table, column)
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
    if let known = knownApps.withLock({ $0[text] }) { return known }
    guard let id = BundleID(text) else { throw DamagedRow(table: table, column: "app") }
    knownApps.withLock { apps in if apps.count < maximumKnownApps { apps[text] = id } }
    return id
}

/// A database has few apps and very many rows of each: an id is checked once.
private let knownApps = Mutex<[String: BundleID]>([:])
private let maximumKnownApps = 256

/// Pairs for `(SELECT value ->> 0, value ->> 1 FROM json_each(?))`.
func jsonPairs(_ values: [(Int64, Int64)]) -> String {
    "[" + values.map { "[\($0.0),\($0.1)]" }.joined(separator: ",") + "]"
}

/// The same of a number and a text.
func jsonPairs(_ values: [(Int64, String)]) -> String {
    JSONValue.array(values.map { .array([.number(JSONNumber(Int($0.0))), .string($0.1)]) }).text
}

/// Texts for `(SELECT value FROM json_each(?))`.
func jsonTexts(_ values: [String]) -> String {
    JSONValue.array(values.map(JSONValue.string)).text
}

/// A list for `IN (SELECT value FROM json_each(?))`: one statement whatever the count.
func jsonList(_ values: some Sequence<Int64>) -> String {
    "[" + values.map(String.init).joined(separator: ",") + "]"
}
