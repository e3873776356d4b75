import JSONText

/// Writes the `aps` object by hand: one JSON encode per push would cost many times the send itself.
struct PayloadText {
    private(set) var bytes: [UInt8]
    private var isFirst = true

    init(reserving capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes += #"{"aps":{"#.utf8
    }

    /// Whether `aps` has no member yet.
    var isEmpty: Bool { isFirst }

    mutating func member(_ key: StaticString, _ number: Int64) {
        begin(key)
        bytes += String(number).utf8
    }

    mutating func member(_ key: StaticString, _ text: String) {
        begin(key)
        bytes += JSONValue.string(text).bytes
    }

    mutating func member(_ key: StaticString, encoded: [UInt8]) {
        begin(key)
        bytes += encoded
    }

    mutating func member(_ key: StaticString, _ number: RelevanceScore) {
        begin(key)
        bytes += number.text.utf8
    }

    /// Closes `aps` and the payload; members of the app's own stand beside `aps`.
    ///
    /// - Throws: `PayloadError.tooLarge` when it passes `limit` bytes.
    consuming func finished(
        limit: Int, parts: [PayloadError.Part] = [], beside data: JSONObject = [:]
    ) throws(PayloadError) -> [UInt8] {
        guard data["aps"] == nil else { throw .dataNamesAPS }
        var bytes = bytes
        bytes.append(UInt8(ascii: "}"))
        for (key, value) in data {
            bytes.append(UInt8(ascii: ","))
            bytes += JSONValue.string(key).bytes
            bytes.append(UInt8(ascii: ":"))
            bytes += value.bytes
        }
        bytes.append(UInt8(ascii: "}"))
        guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit, parts: parts) }
        return bytes
    }

    private mutating func begin(_ key: StaticString) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        bytes.append(UInt8(ascii: "\""))
        key.withUTF8Buffer { bytes += $0 }
        bytes += "\":".utf8
    }
}

/// Why a payload cannot be made.
public enum PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Over Apple's limit; says how large the parts are that a caller can make smaller.
    case tooLarge(bytes: Int, limit: Int, parts: [Part])
    /// A start needs an alert with a title: without one APNs answers 200 and the device drops it.
    case missingAlertTitle
    /// The type's name is empty.
    case missingAttributesType
    /// Not a finite number.
    case badRelevanceScore
    /// The app's own data has a member `aps`, which is Apple's.
    case dataNamesAPS
    /// There is nothing in it: APNs refuses such a push with PayloadEmpty.
    case empty
    /// A value outside of what Apple's table allows.
    case outOfRange(field: String, allowed: String)

    /// A part of a payload and its size in bytes.
    public struct Part: Sendable, Hashable {
        /// What the caller gave: `content-state`, `attributes`, `alert`, `data`.
        public let name: String
        /// Its size as JSON text.
        public let bytes: Int
    }

    /// A sentence for the person who made the payload: sizes and limits, nothing of the content.
    public var description: String {
        switch self {
        case .tooLarge(let bytes, let limit, let parts):
            "the payload has \(bytes) bytes, APNs takes at most \(limit)"
                + (parts.isEmpty ? "" : ": " + parts.map { "\($0.name) \($0.bytes)" }.joined(separator: ", "))
        case .missingAlertTitle: "a start needs an alert with a title that is not empty"
        case .missingAttributesType: "a start needs the Swift name of the attributes type"
        case .badRelevanceScore: "a relevance score is a finite number"
        case .dataNamesAPS: "`aps` is Apple's own member: the app's data goes beside it under other names"
        case .empty: "the payload has nothing to show, to play or to do"
        case .outOfRange(let field, let allowed): "`\(field)` is \(allowed)"
        }
    }
}

/// How an app orders its own Live Activities: the highest takes the Dynamic Island. Any scale; Apple shows 100 and 50.
public struct RelevanceScore: Sendable, Hashable {
    /// The number as it was given, always finite.
    public let value: Double
    let text: String

    /// - Throws: `PayloadError.badRelevanceScore` for a number that JSON cannot hold.
    public init(_ value: Double) throws(PayloadError) {
        guard let number = JSONNumber(value) else { throw .badRelevanceScore }
        self.value = value
        text = number.canonicalText
    }
}
