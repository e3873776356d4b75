extension JSONValue {
    /// The value that a pointer names, or `nil` if there is none (RFC 6901 section 4).
    ///
    /// Array indices have no leading zeros. `-`, the element after the last, names no value.
    public subscript(_ pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let member = object[token] else { return nil }
                value = member
            case .array(let elements):
                guard let index = Self.index(token), index < elements.count else { return nil }
                value = elements[index]
            case .null, .bool, .number, .string: return nil
            }
        }
        return value
    }

    /// Stores a value at the place that a pointer names, and replaces the value there.
    ///
    /// Missing members on the path are created as objects. An existing element of an array is replaced; `-` appends an
    /// element.
    ///
    /// - Throws: ``JSONPointerError``, without any change, if the path leads through a string, number, boolean or null.
    ///   The same holds for an array element that does not exist.
    public mutating func set(_ value: JSONValue, at pointer: JSONPointer) throws(JSONPointerError) {
        self = try setting(value, at: pointer.tokens[...], of: pointer)
    }

    private func setting(
        _ value: JSONValue, at rest: ArraySlice<String>, of pointer: JSONPointer
    ) throws(JSONPointerError) -> JSONValue {
        guard let token = rest.first else { return value }
        let below = rest.dropFirst()
        switch self {
        case .object(var object):
            object[token] = try (object[token] ?? .object([:])).setting(value, at: below, of: pointer)
            return .object(object)
        case .array(var elements):
            if token == "-" {
                elements.append(try JSONValue.object([:]).setting(value, at: below, of: pointer))
            } else if let index = Self.index(token), index < elements.count {
                elements[index] = try elements[index].setting(value, at: below, of: pointer)
            } else {
                throw JSONPointerError(code: .noSuchElement, detail: "`\(pointer)` names no element of its array")
            }
            return .array(elements)
        case .null, .bool, .number, .string:
            let parent = JSONPointer(tokens: Array(pointer.tokens[..<rest.startIndex]))
            let detail = "`\(pointer)` cannot be set: the value at `\(parent)` is a \(kind), not an object"
            throw JSONPointerError(code: .notAContainer, detail: detail)
        }
    }

    private static func index(_ token: String) -> Int? {
        let digits = token.utf8
        guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        return Int(token)
    }
}
