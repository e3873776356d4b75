extension JSONParser {
    /// Reads a string from its opening to its closing quote.
    mutating func string() throws(Failure) -> String {
        offset += 1
        var unescaped: [UInt8] = []
        var start = offset
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                let rest = bytes[start..<offset]
                offset += 1
                return unescaped.isEmpty ? rest.utf8Text : (unescaped + rest)[...].utf8Text
            case UInt8(ascii: "\\"):
                unescaped += bytes[start..<offset]
                try escape(into: &unescaped)
                start = offset
            case 0..<0x20:
                throw failure(.controlCharacter, "a control character inside a string must be escaped")
            case 0x20..<0x80: offset += 1
            default: try skipMultibyteScalar()
            }
        }
        throw failure(.unexpectedEnd, "a string is not closed")
    }

    private mutating func escape(into unescaped: inout [UInt8]) throws(Failure) {
        guard offset + 1 < bytes.count else { throw failure(.unexpectedEnd, "a string is not closed", at: bytes.count) }
        let letter = bytes[offset + 1]
        let plain: UInt8
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain = letter
        case UInt8(ascii: "b"): plain = 0x08
        case UInt8(ascii: "f"): plain = 0x0C
        case UInt8(ascii: "n"): plain = UInt8(ascii: "\n")
        case UInt8(ascii: "r"): plain = UInt8(ascii: "\r")
        case UInt8(ascii: "t"): plain = UInt8(ascii: "\t")
        case UInt8(ascii: "u"):
            unescaped += Array(String(Character(try unicodeEscape())).utf8)
            return
        default: throw failure(.badEscape, "a backslash must be followed by one of \" \\ / b f n r t u")
        }
        unescaped.append(plain)
        offset += 2
    }

    /// Reads `\u` with its four hexadecimal digits, and a second escape after a high surrogate (RFC 8259 section 7).
    private mutating func unicodeEscape() throws(Failure) -> Unicode.Scalar {
        let start = offset
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let lone = failure(.loneSurrogate, "half of a surrogate pair stands alone", at: start)
        guard first < 0xDC00 else { throw lone }
        guard offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u")
        else {
            throw lone
        }
        let second = try codeUnit()
        guard 0xDC00...0xDFFF ~= second else { throw lone }
        let high = UInt32(first) - 0xD800
        let low = UInt32(second) - 0xDC00
        guard let scalar = Unicode.Scalar(0x10000 + high << 10 + low) else { throw lone }
        return scalar
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        var unit: UInt16 = 0
        for place in offset + 2..<offset + 6 {
            guard place < bytes.count else { throw failure(.unexpectedEnd, "a string is not closed", at: bytes.count) }
            guard let digit = Character(Unicode.Scalar(bytes[place])).hexDigitValue, bytes[place] < 0x80 else {
                throw failure(.badEscape, "`\\u` must be followed by four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
        }
        offset += 6
        return unit
    }

    /// Skips one scalar of two to four bytes.
    ///
    /// The ranges are those of RFC 3629 section 4, so neither overlong forms nor surrogates pass.
    private mutating func skipMultibyteScalar() throws(Failure) {
        let second: ClosedRange<UInt8>
        let length: Int
        switch bytes[offset] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xE1...0xEC, 0xEE...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw failure(.badUTF8, "the text is not valid UTF-8")
        }
        let end = offset + length
        let valid =
            end <= bytes.count && second ~= bytes[offset + 1]
            && bytes[(offset + 2)..<end].allSatisfy { 0x80...0xBF ~= $0 }
        guard valid else { throw failure(.badUTF8, "the text is not valid UTF-8") }
        offset = end
    }
}
