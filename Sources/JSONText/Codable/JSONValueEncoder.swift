extension JSONValue {
    /// Creates the JSON that an `Encodable` value writes, with members in the order in which it writes them.
    ///
    /// Optionals that are `nil` and that the type skips are absent.
    ///
    /// - Throws: ``JSONEncodingError`` for a number that is not finite, and for a type that writes nothing or throws.
    public init(encoding value: some Encodable) throws(JSONEncodingError) {
        let encoder = JSONValueEncoder(at: [])
        do {
            try encoder.write(value)
            self = try encoder.result()
        } catch {
            throw (error as? JSONEncodingError) ?? JSONEncodingError(pointer: .root, detail: String(describing: error))
        }
    }
}

/// An encoder of one value. Containers write into separate encoders, which are joined at the end.
final class JSONValueEncoder: Encoder {
    private enum Content {
        case nothing
        case value(JSONValue)
        case object([(key: String, encoder: JSONValueEncoder)])
        case array([JSONValueEncoder])
    }

    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private var content = Content.nothing

    init(at codingPath: [any CodingKey]) {
        self.codingPath = codingPath
    }

    var count: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        beginObject()
        return KeyedEncodingContainer(JSONKeyedEncoding(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = content {} else { content = .array([]) }
        return JSONUnkeyedEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingleValueEncoding(encoder: self) }

    func write<Encoded: Encodable>(_ value: Encoded) throws {
        guard let scalar = value as? any JSONScalar else { return try value.encode(to: self) }
        guard let json = scalar.json else {
            let pointer = JSONPointer(tokens: codingPath.map(\.stringValue))
            throw JSONEncodingError(pointer: pointer, detail: "JSON has no number for \(value)")
        }
        content = .value(json)
    }

    func write(whole value: JSONValue) { content = .value(value) }

    func member(_ key: any CodingKey) -> JSONValueEncoder {
        beginObject()
        let encoder = JSONValueEncoder(at: codingPath + [key])
        if case .object(var members) = content {
            content = .nothing
            members.append((key.stringValue, encoder))
            content = .object(members)
        }
        return encoder
    }

    func element() -> JSONValueEncoder {
        let encoder = JSONValueEncoder(at: codingPath + [JSONKey(intValue: count)])
        if case .array(var elements) = content {
            content = .nothing
            elements.append(encoder)
            content = .array(elements)
        }
        return encoder
    }

    func result() throws(JSONEncodingError) -> JSONValue {
        switch content {
        case .nothing:
            let pointer = JSONPointer(tokens: codingPath.map(\.stringValue))
            throw JSONEncodingError(pointer: pointer, detail: "the value encoded nothing")
        case .value(let value): return value
        case .array(let elements):
            var values: [JSONValue] = []
            for element in elements { values.append(try element.result()) }
            return .array(values)
        case .object(let members):
            var object = JSONObject()
            for (key, encoder) in members { object[key] = try encoder.result() }
            return .object(object)
        }
    }

    /// Begins an object, or continues one: a type may write its members and then those of one of its parts.
    private func beginObject() {
        if case .object = content {} else { content = .object([]) }
    }
}

// One generic `encode` in each container answers all requirements of the protocol, one for each standard type.

struct JSONKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { encoder.member(key).write(whole: .null) }
    func encode<Encoded: Encodable>(_ value: Encoded, forKey key: Key) throws { try encoder.member(key).write(value) }
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        encoder.member(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.member(key).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { encoder.member(JSONKey.parent) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.member(key) }
}

struct JSONUnkeyedEncoding: UnkeyedEncodingContainer {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() throws { encoder.element().write(whole: .null) }
    func encode<Encoded: Encodable>(_ value: Encoded) throws { try encoder.element().write(value) }
    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        encoder.element().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.element().unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.element() }
}

struct JSONSingleValueEncoding: SingleValueEncodingContainer {
    let encoder: JSONValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { encoder.write(whole: .null) }
    func encode<Encoded: Encodable>(_ value: Encoded) throws { try encoder.write(value) }
}

extension JSONValue: Encodable {
    /// Writes the whole value.
    ///
    /// Into an encoder of another library, integers beyond 64 bits are written as doubles.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? JSONValueEncoder { return encoder.write(whole: self) }
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: JSONKey.self)
            for (key, value) in object { try container.encode(value, forKey: JSONKey(stringValue: key)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null, .bool, .number, .string:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private func encodeScalar(into container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .string(let text): try container.encode(text)
        case .number(let number):
            if let integer = number.int { try container.encode(integer) } else { try container.encode(number.double) }
        case .null, .array, .object: try container.encodeNil()
        }
    }
}

extension JSONObject: Encodable {
    /// Writes the members in their order.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self).encode(to: encoder)
    }
}
