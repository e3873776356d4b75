extension JSONValue {
    /// Creates the value that UTF-8 JSON text describes.
    ///
    /// Parsing is strict (RFC 8259) and takes linear time. The text must have no byte order mark, comments, trailing
    /// commas, invalid UTF-8 or duplicate keys. Keys are compared after unescaping.
    ///
    /// - Throws: ``JSONSyntaxError`` with the place of the first mistake, or of the first excess over the limits.
    public init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = .standard) throws(JSONSyntaxError) {
        guard bytes.count <= limits.bytes else {
            let detail = "the text has \(bytes.count) bytes, more than the \(limits.bytes) allowed"
            throw JSONSyntaxError(.init(code: .tooLarge, offset: limits.bytes, detail: detail), in: [])
        }
        let bytes = (bytes as? [UInt8]) ?? Array(bytes)
        var parser = JSONParser(bytes, limits: limits)
        do throws(JSONParser.Failure) {
            self = try parser.document()
        } catch {
            throw JSONSyntaxError(error, in: bytes)
        }
    }

    /// Creates the value that JSON text describes, by the rules of ``init(parsing:limits:)`` for bytes.
    public init(parsing text: String, limits: JSONLimits = .standard) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

/// A parser of one document, which reads each byte once from front to back.
struct JSONParser {
    /// A mistake on its way up. Each enclosing array and object adds its index or key to the path.
    struct Failure: Error {
        let code: JSONSyntaxError.Code
        let offset: Int
        let detail: String
        /// Tokens of the pointer, innermost first.
        var path: [String] = []

        func inside(_ token: String) -> Failure {
            var failure = self
            failure.path.append(token)
            return failure
        }
    }

    let bytes: [UInt8]
    let limits: JSONLimits
    var offset = 0
    private let depth: Int
    private var values = 0

    init(_ bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        depth = min(limits.depth, JSONLimits.deepest)
    }

    mutating func document() throws(Failure) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw failure(.unexpectedCharacter, "a byte order mark is not allowed (RFC 8259 section 8.1)")
        }
        let value = try value(inside: 0)
        skipWhitespace()
        guard offset == bytes.count else { throw failure(.trailingCharacters, "nothing may follow the document") }
        return value
    }

    private mutating func value(inside containers: Int) throws(Failure) -> JSONValue {
        skipWhitespace()
        guard offset < bytes.count else { throw failure(.unexpectedEnd, "a value is missing") }
        values += 1
        guard values <= limits.members else {
            throw failure(.tooManyValues, "the document has more than \(limits.members) values")
        }
        switch bytes[offset] {
        case UInt8(ascii: "{"): return .object(try object(inside: containers))
        case UInt8(ascii: "["): return .array(try array(inside: containers))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw unexpected("a value")
        }
    }

    private mutating func object(inside containers: Int) throws(Failure) -> JSONObject {
        try open(inside: containers)
        var object = JSONObject()
        guard !take(UInt8(ascii: "}")) else { return object }
        repeat {
            skipWhitespace()
            guard offset < bytes.count else { throw failure(.unexpectedEnd, "a key is missing") }
            guard bytes[offset] == UInt8(ascii: "\"") else { throw unexpected("a key in double quotes") }
            let start = offset
            let key = try string()
            guard key.utf8.count <= limits.keyLength else {
                throw failure(.tooLarge, "a key has more than \(limits.keyLength) bytes", at: start)
            }
            guard object.position(of: key) == nil else {
                throw failure(.duplicateKey, "the object has the key `\(shortened(key))` twice", at: start).inside(key)
            }
            do throws(Failure) {
                guard take(UInt8(ascii: ":")) else { throw unexpected("`:`") }
                object.append(key, try value(inside: containers + 1))
            } catch {
                throw error.inside(key)
            }
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw unexpected("`,` or `}`") }
        return object
    }

    private mutating func array(inside containers: Int) throws(Failure) -> [JSONValue] {
        try open(inside: containers)
        var elements: [JSONValue] = []
        guard !take(UInt8(ascii: "]")) else { return elements }
        repeat {
            do throws(Failure) {
                elements.append(try value(inside: containers + 1))
            } catch {
                throw error.inside(String(elements.count))
            }
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw unexpected("`,` or `]`") }
        return elements
    }

    private mutating func open(inside containers: Int) throws(Failure) {
        guard containers < depth else {
            throw failure(.tooDeep, "arrays and objects are nested more than \(depth) deep")
        }
        offset += 1
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        for index in 0..<text.utf8CodeUnitCount {
            guard offset < bytes.count, bytes[offset] == text.utf8Start[index] else { throw unexpected("`\(text)`") }
            offset += 1
        }
        return value
    }

    private mutating func number() throws(Failure) -> JSONNumber {
        let start = offset
        switch NumberGrammar.scan(bytes, from: start) {
        case .failure(let problem):
            let code: JSONSyntaxError.Code = problem.offset == bytes.count ? .unexpectedEnd : .badNumber
            throw failure(code, problem.detail, at: problem.offset)
        case .success(let end):
            guard end - start <= limits.numberLength else {
                throw failure(.tooLarge, "a number has more than \(limits.numberLength) characters")
            }
            offset = end
            return JSONNumber(checked: bytes[start..<end].utf8Text)
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard offset < bytes.count, bytes[offset] == byte else { return false }
        offset += 1
        return true
    }

    private mutating func skipWhitespace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): offset += 1
            default: return
            }
        }
    }

    private func unexpected(_ expected: String) -> Failure {
        guard offset < bytes.count else { return failure(.unexpectedEnd, "\(expected) is missing at the end") }
        let byte = bytes[offset]
        let found = 0x21..<0x7F ~= byte ? "`\(Character(Unicode.Scalar(byte)))`" : "byte 0x\(String(byte, radix: 16))"
        return failure(.unexpectedCharacter, "\(expected) is expected, not \(found)")
    }

    func failure(_ code: JSONSyntaxError.Code, _ detail: String, at place: Int? = nil) -> Failure {
        Failure(code: code, offset: place ?? offset, detail: detail)
    }
}

/// Returns the first 60 characters of a text, with an ellipsis if there are more. Messages use it.
func shortened(_ text: String) -> String {
    text.count <= 60 ? text : text.prefix(59) + "…"
}
