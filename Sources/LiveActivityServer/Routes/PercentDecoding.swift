/// Percent-encoding of paths and queries (RFC 3986 section 2.1).
enum PercentEncoding {
    /// Decodes a text. Returns `nil` for a broken escape or for bytes that are not UTF-8. `+` stays a plus sign.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Decodes each parameter of a path.
    ///
    /// - Throws: `invalid_path`.
    static func decode(_ parameters: [String: Substring]) throws(Problem) -> [String: String] {
        var decoded: [String: String] = [:]
        for (name, text) in parameters {
            guard let value = decode(text) else {
                throw Problem(.invalidPath, "the `\(name)` in the path is not percent-encoded UTF-8")
            }
            decoded[name] = value
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The query of a request, limited to the parameters that its call knows.
struct Query: Sendable {
    private var values: [String: String] = [:]

    init() {}

    /// - Throws: `invalid_query` for an unknown parameter, a repeated parameter, or a broken encoding.
    init(_ text: String?, known: [String]) throws(Problem) {
        for part in (text ?? "").split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(pair[0]),
                let value = PercentEncoding.decode(pair.count > 1 ? pair[1] : "")
            else { throw Problem(.invalidQuery, "the query is not percent-encoded UTF-8") }
            guard known.contains(name) else {
                let list = known.map { "`\($0)`" }.joined(separator: ", ")
                throw Problem(
                    .invalidQuery, "this call does not know the query parameter `\(Problem.quotable(name))`",
                    fix: known.isEmpty ? "it takes none" : "it takes \(list)")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem(.invalidQuery, "the query parameter `\(name)` is given twice")
            }
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// All parameters, sorted by name.
    var sorted: [(key: String, value: String)] { values.sorted { $0.key < $1.key } }

    /// - Throws: `invalid_query` for a value other than `true` and `false`.
    func flag(_ name: String) throws(Problem) -> Bool {
        switch values[name] {
        case nil, "false": return false
        case "true": return true
        default: throw Problem(.invalidQuery, "`\(name)` is `true` or `false`", expected: "true or false")
        }
    }

    /// Returns the maximum number of items in the answer.
    ///
    /// - Throws: `invalid_query` for a value that is not a number from 1 to `maximum`.
    func limit(default standard: Int, maximum: Int) throws(Problem) -> Int {
        guard let text = values["limit"] else { return standard }
        guard let limit = Int(text), 1...maximum ~= limit else {
            throw Problem(.invalidQuery, "`limit` is a number from 1 to \(maximum)", expected: "1 to \(maximum)")
        }
        return limit
    }
}
