import JSONText
import Testing

@Suite struct DecodingTests {
    enum Level: String, Codable, CaseIterable, Sendable {
        case automatic, low, high
    }

    struct Even: Codable, Hashable {
        let value: Int
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value = try container.decode(Int.self)
            guard value.isMultiple(of: 2) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "an even number")
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    struct Inner: Codable, Hashable {
        var name: String
        var count: UInt8?
    }

    struct Order: Codable, Hashable {
        var id: Int
        var relevance: Double?
        var level: Level?
        var inner: Inner?
        var list: [Inner]?
        var even: Even?
        var state: JSONObject?
        var any: JSONValue?
        var counts: [String: Int]?
        var pushToken: String?
        var apiKeys: [String]?
    }

    @Test func `what a type asks for is decoded and numbers pass through as written`() throws {
        let text = #"""
            {"id":1e3,"relevance":2,"level":"high","inner":{"name":"n","count":5.0},"list":[{"name":"m","count":null}],
             "even":4,"state":{"b":1.50,"a":9007199254740993},"any":[1.0],"counts":{"x":1,"y":2}}
            """#
        let order = try JSONValue(parsing: text).decode(Order.self)
        #expect(order.id == 1000)
        #expect(order.relevance == 2)
        #expect(order.level == .high)
        #expect(order.inner == Inner(name: "n", count: 5))
        #expect(order.list == [Inner(name: "m", count: nil)])
        #expect(order.even?.value == 4)
        #expect(order.state?.description == #"{"b":1.50,"a":9007199254740993}"#)
        #expect(order.any?.text == "[1.0]")
        #expect(order.counts == ["x": 1, "y": 2])
        #expect(try JSONValue(encoding: order).decode(Order.self) == order)
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let text: String
        let code: JSONDecodingError.Code
        let message: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Mistake(text: "[]", code: .wrongType, message: "expected object, given array"),
        Mistake(text: "{}", code: .missing, message: "/id: missing, expected integer"),
        Mistake(text: #"{"id":null}"#, code: .wrongType, message: "/id: expected integer, given null"),
        Mistake(text: #"{"id":5.5}"#, code: .wrongType, message: "/id: expected integer, given 5.5"),
        Mistake(text: #"{"id":"5"}"#, code: .wrongType, message: #"/id: expected integer, given "5""#),
        Mistake(text: #"{"id":1e19}"#, code: .wrongType, message: "/id: expected integer, given 1e19"),
        Mistake(
            text: #"{"id":1,"relevance":1e400}"#, code: .wrongType,
            message: "/relevance: expected number, given 1e400"),
        Mistake(
            text: #"{"id":1,"relevence":1}"#, code: .unknownField,
            message: "/relevence: unknown field; did you mean `relevance`?"),
        Mistake(
            text: #"{"id":1,"inner":{"name":"n","colour":1}}"#, code: .unknownField,
            message: "/inner/colour: unknown field; known fields: `name`, `count`"
        ),
        Mistake(
            text: #"{"id":1,"list":[{"name":"n"},{}]}"#, code: .missing,
            message: "/list/1/name: missing, expected string"),
        Mistake(text: #"{"id":1,"list":{}}"#, code: .wrongType, message: "/list: expected array, given object"),
        Mistake(
            text: #"{"id":1,"inner":{"name":"n","count":256}}"#, code: .wrongType,
            message: "/inner/count: expected integer of at least 0, given 256"
        ),
        Mistake(
            text: #"{"id":1,"level":"hihg"}"#, code: .invalidValue,
            message: #"/level: expected one of `automatic`, `low`, `high`, given "hihg"; did you mean `high`?"#
        ),
        Mistake(
            text: #"{"id":1,"level":"automatc"}"#, code: .invalidValue,
            message: #"/level: expected one of `automatic`, `low`, `high`, given "automatc"; did you mean `automatic`?"#
        ),
        Mistake(
            text: #"{"id":1,"level":7}"#, code: .wrongType,
            message: "/level: expected one of `automatic`, `low`, `high`, given 7"
        ),
        Mistake(text: #"{"id":1,"even":3}"#, code: .invalidValue, message: "/even: expected an even number, given 3"),
        Mistake(text: #"{"id":1,"state":[1]}"#, code: .wrongType, message: "/state: expected object, given array"),
        Mistake(
            text: #"{"id":1,"counts":{"x":"y"}}"#, code: .wrongType, message: #"/counts/x: expected integer, given "y""#
        ),
        Mistake(
            text: #"{"id":1,"pushToken":12345}"#, code: .wrongType, message: "/pushToken: expected string, given number"
        ),
        Mistake(
            text: #"{"id":1,"apiKeys":[12345]}"#, code: .wrongType, message: "/apiKeys/0: expected string, given number"
        ),
    ])
    func `a mistake is named with its pointer`(mistake: Mistake) throws {
        let value = try JSONValue(parsing: mistake.text)
        let error = try #require(throws: JSONDecodingError.self) { try value.decode(Order.self) }
        #expect(error.code == mistake.code)
        #expect(error.description == mistake.message)
    }

    @Test func `a long value is quoted in sixty characters`() throws {
        let value: JSONValue = ["id": .string(String(repeating: "x", count: 1_000))]
        let error = try #require(throws: JSONDecodingError.self) { try value.decode(Order.self) }
        #expect(error.given.count == 60)
        #expect(error.given.hasSuffix("…"))
    }

    struct Flat: Codable, Hashable {
        var local: String
        var inner: Inner
        private enum Keys: CodingKey { case local }
        init(local: String, inner: Inner) { (self.local, self.inner) = (local, inner) }
        init(from decoder: any Decoder) throws {
            local = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .local)
            inner = try Inner(from: decoder)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(local, forKey: .local)
            try inner.encode(to: encoder)
        }
    }

    @Test func `a type may share its object with a part of it`() throws {
        let value = try JSONValue(parsing: #"{"local":"l","name":"n","count":1}"#)
        let flat = try value.decode(Flat.self)
        #expect(flat == Flat(local: "l", inner: Inner(name: "n", count: 1)))
        #expect(try JSONValue(encoding: flat) == value)
        let wrong: JSONValue = ["local": "l", "name": "n", "size": 1]
        #expect(throws: JSONDecodingError.self) { try wrong.decode(Flat.self) }
    }

    struct Nested: Decodable {
        let value: Int
        private enum Outer: CodingKey { case box }
        private enum Box: CodingKey { case value }
        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: Outer.self)
            value = try outer.nestedContainer(keyedBy: Box.self, forKey: .box).decode(Int.self, forKey: .value)
        }
    }

    @Test func `unknown members of a nested container are refused too`() throws {
        let right: JSONValue = ["box": ["value": 1]]
        #expect(try right.decode(Nested.self).value == 1)
        let wrong: JSONValue = ["box": ["value": 1, "valeu": 2]]
        let error = try #require(throws: JSONDecodingError.self) { try wrong.decode(Nested.self) }
        #expect(error.description == "/box/valeu: unknown field; did you mean `value`?")
    }

    @Test func `scalars and collections of every kind survive a round trip`() throws {
        #expect(try JSONValue(encoding: [UInt64.max]).text == "[18446744073709551615]")
        #expect(try JSONValue(encoding: [UInt64.max]).decode([UInt64].self) == [.max])
        #expect(try JSONValue(encoding: Float(0.1)).text == "0.1")
        #expect(try JSONValue(encoding: [1, nil, 3] as [Int?]).text == "[1,null,3]")
        #expect(try JSONValue(parsing: "[1,null,3]").decode([Int?].self) == [1, nil, 3])
        #expect(try JSONValue(encoding: ["a": [true]]).text == #"{"a":[true]}"#)
        #expect(try JSONValue(encoding: JSONValue.null).text == "null")
        let error = try #require(throws: JSONEncodingError.self) { try JSONValue(encoding: ["x": [1, Double.nan]]) }
        #expect(error.description == "/x/1: JSON has no number for nan")
    }
}
