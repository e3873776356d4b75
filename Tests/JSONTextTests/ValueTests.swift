import JSONText
import Testing

@Suite struct ValueTests {
    @Test func `an object keeps its order and is equal in any order`() {
        let object: JSONObject = ["b": 1, "a": [true, nil, "x"], "c": 1.5]
        #expect(object.keys == ["b", "a", "c"])
        #expect(object.description == #"{"b":1,"a":[true,null,"x"],"c":1.5}"#)
        let other: JSONObject = ["c": 1.5, "a": [true, nil, "x"], "b": 1.0]
        #expect(object == other)
        #expect(object.hashValue == other.hashValue)
        #expect(object != ["b": 1, "a": [true, nil, "x"]])
        #expect(object != ["b": 1, "a": [true, nil, "x"], "d": 1.5])
    }

    @Test(arguments: [3, 9, 500])
    func `members are found, replaced and removed in objects of any size`(size: Int) {
        var object = JSONObject()
        for index in 0..<size { object["k\(index)"] = .number(JSONNumber(index)) }
        #expect(object.count == size)
        object["k1"] = "one"
        #expect(object.keys[1] == "k1")
        object["k0"] = nil
        #expect(object["k0"] == nil)
        #expect(object["k1"] == "one")
        #expect(object["k\(size - 1)"] == .number(JSONNumber(size - 1)))
        object["k0"] = .null
        #expect(object.keys.last == "k0")
        #expect(object["k0"] == .null)
    }

    @Test func `an object of many members is parsed and compared in linear time`() throws {
        let text = "{" + (0..<90_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}"
        let limits = JSONLimits(bytes: 1 << 22)
        let value = try JSONValue(parsing: text, limits: limits)
        #expect(value.object?["k89999"]?.int == 89_999)
        #expect(try JSONValue(parsing: value.canonicalBytes, limits: limits) == value)
    }

    @Test func `the canonical form sorts keys by their bytes and normalises numbers`() throws {
        let value = try JSONValue(parsing: #"{"b":5.0,"":-0,"a":{"z":1e3,"é":"\u000b\u001f\/"},"😀":1,"\uffee":2}"#)
        let canonical = String(decoding: value.canonicalBytes, as: UTF8.self)
        #expect(canonical == "{\"\":0,\"a\":{\"z\":1000,\"é\":\"\\u000b\\u001f/\"},\"b\":5,\"\u{FFEE}\":2,\"😀\":1}")
    }

    @Test func `pretty text is indented by two spaces`() {
        let value: JSONValue = ["a": [1, ["b": nil]], "c": [:], "d": []]
        let expected = """
            {
              "a": [
                1,
                {
                  "b": null
                }
              ],
              "c": {},
              "d": []
            }
            """
        #expect(value.prettyText == expected)
    }

    @Test func `accessors answer only for their own type`() {
        let values: [JSONValue] = [nil, true, 5, "x", [1], ["a": 1]]
        #expect(values.map(\.kind) == ["null", "boolean", "number", "string", "array", "object"])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, nil, 5, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 5, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, "x", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, ["a": 1]])
    }
}

@Suite struct PointerTests {
    // The examples of RFC 6901 section 5.
    private static let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8,
    ]

    @Test(
        arguments: [
            ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/e^f", 3), ("/g|h", 4),
            ("/i\\j", 5), ("/k\"l", 6), ("/ ", 7), ("/m~0n", 8), ("/foo/2", nil), ("/foo/00", nil), ("/foo/-", nil),
            ("/foo/+1", nil), ("/foo/99999999999999999999", nil), ("/foo/0/x", nil), ("/none", nil), ("/foo/", nil),
        ] as [(String, JSONValue?)])
    func `a pointer names one value or none`(text: String, expected: JSONValue?) throws {
        let pointer = try JSONPointer(text)
        #expect(Self.document[pointer] == expected)
        #expect(pointer.description == text)
    }

    @Test(arguments: ["foo", "/a~", "/a~2", " /a"])
    func `a text that is no pointer is refused`(text: String) {
        #expect(throws: JSONPointerError.self) { try JSONPointer(text) }
    }

    @Test func `pointers are built from keys and indices`() throws {
        #expect(JSONPointer.root.description.isEmpty)
        #expect(JSONPointer.root.appending("a/b").appending(0).description == "/a~1b/0")
        #expect(try JSONPointer("/a~1b/0").tokens == ["a/b", "0"])
        #expect(Self.document[.root] == Self.document)
    }

    @Test(arguments: [
        ("{}", "/a", "{\"a\":9}"), ("{}", "/a/b/c", "{\"a\":{\"b\":{\"c\":9}}}"),
        ("{\"a\":1,\"b\":2}", "/a", "{\"a\":9,\"b\":2}"),
        ("{\"a\":[1,{}]}", "/a/1/x", "{\"a\":[1,{\"x\":9}]}"), ("[1]", "/0", "[9]"), ("[1]", "/-", "[1,9]"),
        ("1", "", "9"),
    ])
    func `setting creates what is missing`(before: String, pointer: String, after: String) throws {
        var value = try JSONValue(parsing: before)
        try value.set(9, at: try JSONPointer(pointer))
        #expect(value.text == after)
    }

    @Test(arguments: [
        ("{\"a\":1}", "/a/b", JSONPointerError.Code.notAContainer), ("{\"a\":null}", "/a/b", .notAContainer),
        ("[1]", "/1", .noSuchElement), ("[1]", "/x", .noSuchElement), ("[1]", "/01", .noSuchElement),
    ])
    func `setting through a scalar or beyond an array is refused and changes nothing`(
        before: String, pointer: String, code: JSONPointerError.Code
    ) throws {
        var value = try JSONValue(parsing: before)
        let error = try #require(throws: JSONPointerError.self) { try value.set(9, at: try JSONPointer(pointer)) }
        #expect(error.code == code)
        #expect(value.text == before)
    }
}
