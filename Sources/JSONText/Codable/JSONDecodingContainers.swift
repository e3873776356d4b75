/// A key or an array index on the way to a value.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    static let parent = JSONKey(stringValue: "super")
}

// One generic `decode` in each container answers all requirements of the protocol, one for each standard type.

struct JSONKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.allKeys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { decoder.ask(for: key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        try member(key, Optional<Bool>.self) == .null
    }

    func decode<Decoded: Decodable>(_ type: Decoded.Type, forKey key: Key) throws -> Decoded {
        try JSONValueDecoder.decode(type, from: try member(key, type), at: codingPath + [key])
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder.nest(try member(key, JSONObject.self), at: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.nest(try member(key, [JSONValue].self), at: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { superDecoder(at: JSONKey.parent) }
    func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(at: key) }

    private func superDecoder(at key: any CodingKey) -> any Decoder {
        decoder.nest(decoder.ask(for: key) ?? .null, at: key)
    }

    private func member<Member: Decodable>(_ key: Key, _ type: Member.Type) throws(JSONDecodingError) -> JSONValue {
        guard let value = decoder.ask(for: key) else { throw decoder.missing(key, type) }
        return value
    }
}

struct JSONUnkeyedDecoding: UnkeyedDecodingContainer {
    let decoder: JSONValueDecoder
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(decoder: JSONValueDecoder, elements: [JSONValue]) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try element(Optional<Bool>.self) == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Decoded: Decodable>(_ type: Decoded.Type) throws -> Decoded {
        let value = try JSONValueDecoder.decode(type, from: try element(type), at: codingPath + [key])
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(JSONObject.self).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nested([JSONValue].self).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try nested(JSONValue.self) }

    private var key: JSONKey { JSONKey(intValue: currentIndex) }

    private mutating func nested<Element: Decodable>(_ type: Element.Type) throws -> JSONValueDecoder {
        let nested = decoder.nest(try element(type), at: key)
        currentIndex += 1
        return nested
    }

    private func element<Element: Decodable>(_ type: Element.Type) throws -> JSONValue {
        guard !isAtEnd else { throw decoder.missing(key, type) }
        return elements[currentIndex]
    }
}

struct JSONSingleValueDecoding: SingleValueDecodingContainer {
    let decoder: JSONValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value == .null }

    func decode<Decoded: Decodable>(_ type: Decoded.Type) throws -> Decoded {
        try JSONValueDecoder.decode(type, from: decoder.value, at: codingPath)
    }
}
