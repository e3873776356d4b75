import JSONText

/// Writes the `aps` object directly as text. A JSON encoder for each push would cost many times as much as sending it.
struct PayloadText {
    private(set) var bytes: [UInt8]
    private var isFirst = true

    init(reserving capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes += #"{"aps":{"#.utf8
    }

    /// `true` if `aps` has no member yet.
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

    /// Closes `aps` and the payload, and adds the app's own members beside `aps`.
    ///
    /// - Throws: `PayloadError.tooLarge` if the payload exceeds `limit` bytes, or `.dataNamesAPS` if the data has a
    ///   member `aps`.
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

/// The reason why a payload cannot be created.
public enum PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The payload exceeds Apple's limit. The parts list the sizes that a caller can reduce.
    case tooLarge(bytes: Int, limit: Int, parts: [Part])
    /// A start needs an alert with a title. Without one, APNs answers 200 and the device drops the push.
    case missingAlertTitle
    /// The name of the attributes type is empty.
    case missingAttributesType
    /// The relevance score is not a finite number.
    case badRelevanceScore
    /// The app's own data has a member `aps`, which is reserved for Apple.
    case dataNamesAPS
    /// The payload is empty. APNs refuses such a push with PayloadEmpty.
    case empty
    /// A value is outside the range of Apple's table.
    case outOfRange(field: String, allowed: String)

    /// A part of a payload and its size.
    public struct Part: Sendable, Hashable {
        /// The part: `content-state`, `attributes`, `alert` or `data`.
        public let name: String
        /// Size of the part as JSON, in bytes.
        public let bytes: Int
    }

    /// A description for people, with sizes and limits but without content.
    public var description: String {
        switch self {
        case .tooLarge(let bytes, let limit, let parts):
            "the payload has \(bytes) bytes, APNs takes at most \(limit)"
                + (parts.isEmpty ? "" : ": " + parts.map { "\($0.name) \($0.bytes)" }.joined(separator: ", "))
        case .missingAlertTitle: "a start needs an alert with a title that is not empty"
        case .missingAttributesType: "a start needs the Swift name of the attributes type"
        case .badRelevanceScore: "a relevance score must be a finite number"
        case .dataNamesAPS: "`aps` is reserved for Apple: put the app's data beside it under other names"
        case .empty: "the payload has nothing to show, to play or to do"
        case .outOfRange(let field, let allowed): "`\(field)` must be \(allowed)"
        }
    }
}

/// The rank of a Live Activity among those of its app. The highest takes the Dynamic Island. Any scale is allowed.
/// Apple's examples use 100 and 50.
public struct RelevanceScore: Sendable, Hashable {
    /// The score, which is always finite.
    public let value: Double
    let text: String

    /// Creates a score.
    ///
    /// - Throws: `PayloadError.badRelevanceScore` if the number is not finite.
    public init(_ value: Double) throws(PayloadError) {
        guard let number = JSONNumber(value) else { throw .badRelevanceScore }
        self.value = value
        text = number.canonicalText
    }
}
