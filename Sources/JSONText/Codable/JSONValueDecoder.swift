import IsletBasics

extension JSONValue {
    /// Returns the value as a `Decodable` type. Decoding is strict: the type must ask for every member of every object.
    ///
    /// - An optional field may be absent or null.
    /// - `5`, `5.0` and `1e3` are integers; `5.5` is not.
    /// - Fields of type ``JSONValue`` and ``JSONObject`` receive their part unchanged.
    ///
    /// - Throws: ``JSONDecodingError`` with the pointer to the first mistake. Fields are checked in the order in which
    ///   the type asks for them, and unknown members after them.
    public func decode<Decoded: Decodable>(_ type: Decoded.Type) throws(JSONDecodingError) -> Decoded {
        try JSONValueDecoder.decode(type, from: self, at: [])
    }
}

/// A decoder of one value, which remembers the members that the type asked for.
final class JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    /// The members, if the type asks for members. A type that takes the whole value does not.
    private var object: JSONObject?
    /// `true` for each member, by its position, that the type asked for.
    private var isAsked: [Bool] = []
    /// The keys that the type asked for, some more than once.
    private var asked: [String] = []
    private var nested: [JSONValueDecoder] = []

    init(_ value: JSONValue, at codingPath: [any CodingKey]) {
        self.value = value
        self.codingPath = codingPath
    }

    static func decode<Decoded: Decodable>(
        _ type: Decoded.Type, from value: JSONValue, at path: [any CodingKey]
    ) throws(JSONDecodingError) -> Decoded {
        let decoder = JSONValueDecoder(value, at: path)
        if let scalar = type as? any JSONScalar.Type {
            guard let decoded = scalar.init(json: value) as? Decoded else {
                throw decoder.wrongType(scalar.expectation)
            }
            return decoded
        }
        let decoded: Decoded
        do {
            decoded = try Decoded(from: decoder)
        } catch {
            throw decoder.explain(error, decoding: type)
        }
        try decoder.refuseUnknownMembers()
        return decoded
    }

    var allKeys: [String] { object?.keys ?? [] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try keyed()
        return KeyedDecodingContainer(JSONKeyedDecoding(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.array else { throw wrongType("array") }
        return JSONUnkeyedDecoding(decoder: self, elements: elements)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        JSONSingleValueDecoding(decoder: self)
    }

    /// Returns a decoder for a part that the type takes apart without a separate type.
    func nest(_ value: JSONValue, at key: any CodingKey) -> JSONValueDecoder {
        let decoder = JSONValueDecoder(value, at: codingPath + [key])
        nested.append(decoder)
        return decoder
    }

    /// Returns the member with this key, and remembers that the type asked for it.
    func ask(for key: any CodingKey) -> JSONValue? {
        let name = key.stringValue
        asked.append(name)
        guard let object, let position = object.position(of: name) else { return nil }
        isAsked[position] = true
        return object.value(at: position)
    }

    func missing<Expected: Decodable>(_ key: any CodingKey, _ type: Expected.Type) -> JSONDecodingError {
        let pointer = pointer.appending(key.stringValue)
        return JSONDecodingError(pointer: pointer, code: .missing, expected: Expectation.of(type), given: "nothing")
    }

    private var pointer: JSONPointer { JSONPointer(tokens: codingPath.map(\.stringValue)) }

    private func keyed() throws(JSONDecodingError) {
        guard let object = value.object else { throw wrongType("object") }
        if self.object == nil {
            self.object = object
            isAsked = Array(repeating: false, count: object.count)
        }
    }

    private func wrongType(_ expected: String) -> JSONDecodingError {
        let given = JSONDecodingError.quote(value, at: pointer)
        return JSONDecodingError(pointer: pointer, code: .wrongType, expected: expected, given: given)
    }

    private func refuseUnknownMembers() throws(JSONDecodingError) {
        for decoder in nested { try decoder.refuseUnknownMembers() }
        guard let object else { return }
        for (position, (key, _)) in object.enumerated() where !isAsked[position] {
            var names: Set<ExactText> = []
            let known = asked.filter { names.insert(ExactText($0)).inserted }
            throw JSONDecodingError(
                pointer: pointer.appending(key), code: .unknownField, expected: "a known field",
                given: "`\(shortened(key))`",
                fix: Spelling.advice(for: key, among: known, called: "known fields")
            )
        }
    }

    /// Returns the error of a type's own `init(from:)` as a ``JSONDecodingError``.
    private func explain(_ error: any Error, decoding type: Any.Type) -> JSONDecodingError {
        if let error = error as? JSONDecodingError {
            guard let choices = Expectation.choices(of: type), error.pointer == pointer else { return error }
            return refusal(choices: choices, code: error.code)
        }
        switch error as? DecodingError {
        case .dataCorrupted(let context):
            if let choices = Expectation.choices(of: type) { return refusal(choices: choices, code: .invalidValue) }
            return refusal(at: context, code: .invalidValue)
        case .typeMismatch(_, let context): return refusal(at: context, code: .wrongType)
        case .valueNotFound(_, let context): return refusal(at: context, code: .missing)
        case .keyNotFound(let key, _): return missing(key, JSONValue.self)
        case nil: return refusal(at: nil, code: .invalidValue)
        @unknown default: return refusal(at: nil, code: .invalidValue)
        }
    }

    private func refusal(at context: DecodingError.Context?, code: JSONDecodingError.Code) -> JSONDecodingError {
        var tokens = context?.codingPath.map(\.stringValue) ?? []
        // A type may report a path that does not lead to this value. In that case, the error points to the value
        // itself.
        if !tokens.starts(with: pointer.tokens) { tokens = pointer.tokens }
        let place = JSONPointer(tokens: tokens)
        let below = JSONPointer(tokens: Array(tokens.dropFirst(codingPath.count)))
        let given = value[below].map { JSONDecodingError.quote($0, at: place) } ?? "nothing"
        let expected = context?.debugDescription ?? "a valid value"
        return JSONDecodingError(pointer: place, code: code, expected: expected, given: given)
    }

    private func refusal(choices: [String], code: JSONDecodingError.Code) -> JSONDecodingError {
        let near = value.string.flatMap { Spelling.nearest(to: $0, among: choices) }
        return JSONDecodingError(
            pointer: pointer, code: code, expected: "one of " + Spelling.list(choices),
            given: JSONDecodingError.quote(value, at: pointer), fix: near.map { "did you mean `\($0)`?" }
        )
    }
}

extension JSONValue: Decodable {
    /// Creates a value from a decoder.
    ///
    /// From a decoder of another library, integers beyond 64 bits become doubles.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            self = decoder.value
        } else if let container = try? decoder.container(keyedBy: JSONKey.self) {
            var object = JSONObject()
            for key in container.allKeys { object[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
            self = .object(object)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(Int.self) { return .number(JSONNumber(value)) }
        if let value = try? container.decode(Double.self), let number = JSONNumber(value) { return .number(number) }
        return .string(try container.decode(String.self))
    }
}

extension JSONObject: Decodable {
    /// Creates an object from a decoder, with its members unchanged.
    public init(from decoder: any Decoder) throws {
        guard let object = try JSONValue(from: decoder).object else {
            throw DecodingError.typeMismatch(
                JSONObject.self, .init(codingPath: decoder.codingPath, debugDescription: "object")
            )
        }
        self = object
    }
}
