/// Blanks everything that is not code: comments, string literals (except their interpolations) and back-quoted names.
struct CodeMask {
    private enum Place {
        /// Code, with the number of parentheses open since an interpolation began, or `nil` at the top.
        case code(parentheses: Int?)
        case string(hashes: Int, isMultiline: Bool)
    }

    private let bytes: [UInt8]
    private var output: [UInt8]
    private var index = 0
    private var places: [Place] = [.code(parentheses: nil)]

    static func applied(to text: String) -> String {
        var mask = CodeMask(text)
        mask.run()
        return String(decoding: mask.output, as: UTF8.self)
    }

    private init(_ text: String) {
        bytes = Array(text.utf8)
        output = bytes
    }

    private mutating func run() {
        while index < bytes.count {
            switch places[places.count - 1] {
            case .code(let parentheses): readCode(parentheses)
            case .string(let hashes, let isMultiline): readString(hashes, isMultiline)
            }
        }
    }

    private func byte(_ distance: Int) -> UInt8 {
        index + distance < bytes.count ? bytes[index + distance] : 0
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where index < bytes.count {
            if bytes[index] != UInt8(ascii: "\n") { output[index] = UInt8(ascii: " ") }
            index += 1
        }
    }

    private mutating func readCode(_ parentheses: Int?) {
        switch byte(0) {
        case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
            while index < bytes.count, byte(0) != UInt8(ascii: "\n") { blank() }
        case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): skipBlockComment()
        case UInt8(ascii: "`"):
            index += 1
            while index < bytes.count, byte(0) != UInt8(ascii: "`"), byte(0) != UInt8(ascii: "\n") { blank() }
            index += 1
        case UInt8(ascii: "\""): openString(hashes: 0)
        case UInt8(ascii: "#"):
            var hashes = 0
            while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
            if byte(hashes) == UInt8(ascii: "\"") {
                index += hashes
                openString(hashes: hashes)
            } else {
                index += hashes
            }
        case UInt8(ascii: "("):
            if let parentheses { places[places.count - 1] = .code(parentheses: parentheses + 1) }
            index += 1
        case UInt8(ascii: ")"):
            index += 1
            guard let parentheses else { return }
            if parentheses == 1 {
                places.removeLast()
            } else {
                places[places.count - 1] = .code(parentheses: parentheses - 1)
            }
        default: index += 1
        }
    }

    private mutating func openString(hashes: Int) {
        let isMultiline = byte(1) == UInt8(ascii: "\"") && byte(2) == UInt8(ascii: "\"")
        index += isMultiline ? 3 : 1
        places.append(.string(hashes: hashes, isMultiline: isMultiline))
    }

    private mutating func readString(_ hashes: Int, _ isMultiline: Bool) {
        switch byte(0) {
        case UInt8(ascii: "\n") where !isMultiline:
            // Not a string, for example a regular expression with a quote. Start again at the next line.
            places.removeLast()
            index += 1
        case UInt8(ascii: "\\") where areHashes(hashes, at: 1):
            let isInterpolation = byte(1 + hashes) == UInt8(ascii: "(")
            blank(1 + hashes)
            if isInterpolation {
                index += 1
                places.append(.code(parentheses: 1))
            } else {
                blank()
            }
        case UInt8(ascii: "\""):
            let quotes = isMultiline ? 3 : 1
            let closes = (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") } && areHashes(hashes, at: quotes)
            guard closes else { return blank() }
            index += quotes + hashes
            places.removeLast()
        default: blank()
        }
    }

    private func areHashes(_ count: Int, at distance: Int) -> Bool {
        (0..<count).allSatisfy { byte(distance + $0) == UInt8(ascii: "#") }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            if byte(0) == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
                depth += 1
                blank(2)
            } else if byte(0) == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && index < bytes.count
    }
}
