import JSONText
import Testing

@Suite struct ParsingTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-1.5e+10", "1E5", "\"\"", "[]", "{}", " [ 1 , 2 ] ", "\t{\"a\"\r:\n1}",
        #""\u00e9\n\"\\\/\b\f\r\t""#, #""\uD83D\uDE00""#, #""\u0000""#, "\"\u{7F}é漢😀\"", "1e999999999",
        "1e-999999999999999",
        "[[[[[[[[]]]]]]]]", #"{"":1,"a":{"":2}}"#, "1e000000000000000000005", "123456789012345678901234567890.5",
    ])
    func `valid JSON is accepted and means the same after it is written`(text: String) throws {
        let value = try JSONValue(parsing: text)
        #expect(try JSONValue(parsing: value.bytes) == value)
        #expect(try JSONValue(parsing: value.prettyText) == value)
        #expect(try JSONValue(parsing: value.canonicalBytes) == value)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let text: String
        let code: JSONSyntaxError.Code
        let offset: Int
        var pointer = ""
        var testDescription: String { text }
    }

    @Test(arguments: [
        Refusal(text: "", code: .unexpectedEnd, offset: 0),
        Refusal(text: "  ", code: .unexpectedEnd, offset: 2),
        Refusal(text: "\u{FEFF}{}", code: .unexpectedCharacter, offset: 0),
        Refusal(text: "{} x", code: .trailingCharacters, offset: 3),
        Refusal(text: "[1,]", code: .unexpectedCharacter, offset: 3, pointer: "/1"),
        Refusal(text: "[1 2]", code: .unexpectedCharacter, offset: 3),
        Refusal(text: "[1,2", code: .unexpectedEnd, offset: 4),
        Refusal(text: #"{"a":1,}"#, code: .unexpectedCharacter, offset: 7),
        Refusal(text: #"{"a" 1}"#, code: .unexpectedCharacter, offset: 5, pointer: "/a"),
        Refusal(text: "{a:1}", code: .unexpectedCharacter, offset: 1),
        Refusal(text: #"{"a""#, code: .unexpectedEnd, offset: 4, pointer: "/a"),
        Refusal(text: "{", code: .unexpectedEnd, offset: 1),
        Refusal(text: "'a'", code: .unexpectedCharacter, offset: 0),
        Refusal(text: "// no\n1", code: .unexpectedCharacter, offset: 0),
        Refusal(text: "NaN", code: .unexpectedCharacter, offset: 0),
        Refusal(text: "nul", code: .unexpectedEnd, offset: 3),
        Refusal(text: "trux", code: .unexpectedCharacter, offset: 3),
        Refusal(text: "01", code: .badNumber, offset: 0),
        Refusal(text: "+1", code: .unexpectedCharacter, offset: 0),
        Refusal(text: ".5", code: .unexpectedCharacter, offset: 0),
        Refusal(text: "[1.]", code: .badNumber, offset: 3, pointer: "/0"),
        Refusal(text: "[-]", code: .badNumber, offset: 2, pointer: "/0"),
        Refusal(text: "[1e]", code: .badNumber, offset: 3, pointer: "/0"),
        Refusal(text: "1e+", code: .unexpectedEnd, offset: 3),
        Refusal(text: "1e9999999999999999", code: .badNumber, offset: 2),
        Refusal(text: #""\x""#, code: .badEscape, offset: 1),
        Refusal(text: #""\u12g4""#, code: .badEscape, offset: 1),
        Refusal(text: #""\u12"#, code: .unexpectedEnd, offset: 5),
        Refusal(text: #""abc"#, code: .unexpectedEnd, offset: 4),
        Refusal(text: #""abc\"#, code: .unexpectedEnd, offset: 5),
        Refusal(text: #""\uD800""#, code: .loneSurrogate, offset: 1),
        Refusal(text: #""\uDC00""#, code: .loneSurrogate, offset: 1),
        Refusal(text: #""\uD800\u0041""#, code: .loneSurrogate, offset: 1),
        Refusal(text: "\"a\nb\"", code: .controlCharacter, offset: 2),
        Refusal(text: #"{"a":{"b":1,"\u0062":2}}"#, code: .duplicateKey, offset: 12, pointer: "/a/b"),
    ])
    func `what RFC 8259 does not allow is refused where it stands`(refusal: Refusal) throws {
        let error = try #require(throws: JSONSyntaxError.self) { try JSONValue(parsing: refusal.text) }
        #expect(error.code == refusal.code)
        #expect(error.offset == refusal.offset)
        #expect(error.pointer.description == refusal.pointer)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
            [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused inside a string`(bytes: [UInt8]) throws {
        let error = try #require(throws: JSONSyntaxError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22]) }
        #expect(error.code == .badUTF8)
        #expect(error.offset == 1)
    }

    @Test func `an error names the line, the character and the pointer`() throws {
        let error = try #require(throws: JSONSyntaxError.self) { try JSONValue(parsing: "{\n \"é~/\": [1, }") }
        #expect(error.line == 2)
        #expect(error.column == 13)
        #expect(error.description == "line 2, column 13 (at `/é~0~1/1`): a value is expected, not `}`")
    }

    @Test func `keys that differ only in Unicode normal form are different keys`() throws {
        let value = try JSONValue(parsing: #"{"\u00e9":1,"e\u0301":2}"#)
        #expect(value.object?.count == 2)
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    }

    @Test func `every limit is exact`() throws {
        func code(_ text: String, _ limits: JSONLimits) -> JSONSyntaxError.Code? {
            do throws(JSONSyntaxError) {
                _ = try JSONValue(parsing: text, limits: limits)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code("[1]", JSONLimits(bytes: 3)) == nil)
        #expect(code("[1] ", JSONLimits(bytes: 3)) == .tooLarge)
        #expect(code("[{}]", JSONLimits(depth: 2)) == nil)
        #expect(code("[[[]]]", JSONLimits(depth: 2)) == .tooDeep)
        #expect(code("[1,2]", JSONLimits(members: 3)) == nil)
        #expect(code("[1,2,3]", JSONLimits(members: 3)) == .tooManyValues)
        #expect(code(#"{"abc":1}"#, JSONLimits(keyLength: 3)) == nil)
        #expect(code(#"{"abcd":1}"#, JSONLimits(keyLength: 3)) == .tooLarge)
        #expect(code("123", JSONLimits(numberLength: 3)) == nil)
        #expect(code("1234", JSONLimits(numberLength: 3)) == .tooLarge)
        let deep = String(repeating: "[", count: 100_000)
        #expect(code(deep, JSONLimits(depth: .max)) == .tooDeep)
        #expect(
            code(String(repeating: "[", count: 512) + String(repeating: "]", count: 512), JSONLimits(depth: 512)) == nil
        )
    }

    @Test func `an encoded object is compact and refuses what is no object`() throws {
        #expect(EncodedObject.empty.bytes == Array("{}".utf8))
        let encoded = try EncodedObject(parsing: Array(#" { "b" : 1.0, "a" : [ ] } "#.utf8))
        #expect(String(decoding: encoded.bytes, as: UTF8.self) == #"{"b":1.0,"a":[]}"#)
        let error = try #require(throws: JSONSyntaxError.self) { try EncodedObject(parsing: Array("[1]".utf8)) }
        #expect(error.detail == "an object is expected, not a value of type array")
    }
}
