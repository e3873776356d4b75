/// An error of a text that is not JSON (RFC 8259) or exceeds the limits, with its exact place.
public struct JSONSyntaxError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Kind of the mistake.
    public enum Code: String, Sendable {
        /// A character that is not allowed here, such as a byte order mark.
        case unexpectedCharacter
        /// The text ends in the middle of a value.
        case unexpectedEnd
        /// More text after the end of the document.
        case trailingCharacters
        /// A number that breaks the grammar, or whose exponent has more than 15 digits.
        case badNumber
        /// A backslash followed by a character that is no JSON escape.
        case badEscape
        /// Bytes that are not UTF-8 (RFC 3629).
        case badUTF8
        /// Half of a UTF-16 surrogate pair, written as `\uD800` to `\uDFFF`.
        case loneSurrogate
        /// A character below U+0020 inside a string, unescaped.
        case controlCharacter
        /// A key that the object already has.
        case duplicateKey
        /// More nested arrays and objects than ``JSONLimits/depth``.
        case tooDeep
        /// More bytes than ``JSONLimits/bytes``, or a longer key or number than its limit.
        case tooLarge
        /// More values than ``JSONLimits/members``.
        case tooManyValues
    }

    /// Kind of the mistake; stable, for programs.
    public let code: Code
    /// Offset of the mistake in bytes, from 0.
    public let offset: Int
    /// Line of the mistake, from 1.
    public let line: Int
    /// Column of the mistake in Unicode scalars, from 1.
    public let column: Int
    /// Pointer to the value that was being read.
    public let pointer: JSONPointer
    /// Message for people. It quotes at most one key and never a value.
    public let detail: String

    /// Place and message in one line.
    public var description: String {
        let place = pointer == .root ? "" : " (at `\(pointer)`)"
        return "line \(line), column \(column)\(place): \(detail)"
    }

    init(_ failure: JSONParser.Failure, in bytes: [UInt8]) {
        let before = bytes[..<min(failure.offset, bytes.count)]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        code = failure.code
        offset = failure.offset
        line = 1 + before.count { $0 == UInt8(ascii: "\n") }
        // Continuation bytes (10xxxxxx) belong to a character that is already counted.
        column = 1 + before[lineStart...].count { $0 & 0xC0 != 0x80 }
        pointer = JSONPointer(tokens: failure.path.reversed())
        detail = failure.detail
    }

    init(notAnObject value: JSONValue) {
        code = .unexpectedCharacter
        offset = 0
        line = 1
        column = 1
        pointer = .root
        detail = "an object is expected, not \(value.kind == "null" ? "null" : "a value of type \(value.kind)")"
    }
}
