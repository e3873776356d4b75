/// A value of a property list in the old style, which Xcode writes projects in, and where it begins.
struct PropertyValue: Sendable {
    enum Form: Sendable {
        case text(String)
        case list([PropertyValue])
        case table([(key: String, value: PropertyValue)])
    }

    let form: Form
    let line: Int

    subscript(key: String) -> PropertyValue? { table.first { $0.key == key }?.value }

    var text: String? { if case .text(let text) = form { text } else { nil } }
    /// Empty where it is none.
    var list: [PropertyValue] { if case .list(let values) = form { values } else { [] } }
    /// Empty where it is none.
    var table: [(key: String, value: PropertyValue)] { if case .table(let entries) = form { entries } else { [] } }
}

struct PropertyListError: Error, Equatable, CustomStringConvertible {
    let line: Int
    let what: String

    var description: String { "line \(line): \(what)" }
}

/// Reads what Xcode writes, and nothing that it only tolerates: `key = value;`, and a comma after each value of a list
/// but the last.
struct PropertyListReader {
    private let bytes: [UInt8]
    private var index = 0
    private var line = 1

    static func read(_ text: String) throws(PropertyListError) -> PropertyValue {
        var reader = PropertyListReader(bytes: Array(text.utf8))
        try reader.skip()
        let value = try reader.value()
        try reader.skip()
        guard reader.byte == nil else { throw reader.error("something follows the list") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func error(_ what: String) -> PropertyListError { PropertyListError(line: line, what: what) }

    private mutating func advance() {
        if byte == UInt8(ascii: "\n") { line += 1 }
        index += 1
    }

    private func isAt(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

    private mutating func expect(_ mark: Unicode.Scalar, after what: String) throws(PropertyListError) {
        guard byte == UInt8(ascii: mark) else { throw error("`\(mark)` is missing after \(what)") }
        advance()
    }

    // MARK: - Parts

    /// Space and comments.
    private mutating func skip() throws(PropertyListError) {
        while let byte {
            if isAt("/*") {
                let start = error("a comment has no end")
                while !isAt("*/") {
                    guard self.byte != nil else { throw start }
                    advance()
                }
                index += 2
            } else if isAt("//") {
                while self.byte != nil, self.byte != UInt8(ascii: "\n") { advance() }
            } else if byte == UInt8(ascii: " ") || (9...13).contains(byte) {
                advance()
            } else {
                return
            }
        }
    }

    private mutating func value() throws(PropertyListError) -> PropertyValue {
        let start = line
        let form: PropertyValue.Form =
            switch byte {
            case UInt8(ascii: "{"): .table(try table())
            case UInt8(ascii: "("): .list(try list())
            default: .text(try text())
            }
        return PropertyValue(form: form, line: start)
    }

    private mutating func table() throws(PropertyListError) -> [(key: String, value: PropertyValue)] {
        advance()
        var entries: [(key: String, value: PropertyValue)] = []
        var known: Set<String> = []
        while true {
            try skip()
            if byte == UInt8(ascii: "}") { break }
            let key = try text()
            guard known.insert(key).inserted else { throw error("the key \(key) is there twice") }
            try skip()
            try expect("=", after: "the key \(key)")
            try skip()
            let value = try value()
            try skip()
            try expect(";", after: "the value of \(key)")
            entries.append((key, value))
        }
        advance()
        return entries
    }

    private mutating func list() throws(PropertyListError) -> [PropertyValue] {
        advance()
        var values: [PropertyValue] = []
        while true {
            try skip()
            if byte == UInt8(ascii: ")") { break }
            values.append(try value())
            try skip()
            if byte == UInt8(ascii: ")") { break }
            try expect(",", after: "a value of a list")
        }
        advance()
        return values
    }

    private mutating func text() throws(PropertyListError) -> String {
        if byte == UInt8(ascii: "\"") { return try quoted() }
        let start = index
        while let byte, Self.needsNoQuotes(byte), !isAt("/*"), !isAt("//") { advance() }
        guard index > start else {
            throw error(byte.map { "`\(Unicode.Scalar($0))` is not expected here" } ?? "the list has no end")
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func quoted() throws(PropertyListError) -> String {
        let start = error("a quoted text has no end")
        advance()
        var text: [UInt8] = []
        while let byte, byte != UInt8(ascii: "\"") {
            advance()
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            switch self.byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(bytes[index])
            case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
            default: throw error("only \\\\, \\\", \\n and \\t may follow a backslash")
            }
            advance()
        }
        guard byte != nil else { throw start }
        advance()
        return String(decoding: text, as: UTF8.self)
    }

    private static func needsNoQuotes(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"),
            UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
