/// A value of an old-style property list, the format of Xcode's project files, with the line on which it begins.
package struct PropertyValue: Sendable {
    package enum Form: Sendable {
        case text(String)
        case list([PropertyValue])
        case table([(key: String, value: PropertyValue)])
    }

    package let form: Form
    package let line: Int

    package init(_ form: Form, line: Int) {
        self.form = form
        self.line = line
    }

    package subscript(key: String) -> PropertyValue? { table.first { $0.key == key }?.value }

    package var text: String? { if case .text(let text) = form { text } else { nil } }
    /// Elements of a list; empty for any other value.
    package var list: [PropertyValue] { if case .list(let values) = form { values } else { [] } }
    /// Entries of a table; empty for any other value.
    package var table: [(key: String, value: PropertyValue)] {
        if case .table(let entries) = form { entries } else { [] }
    }
}

/// A syntax error in a property list, with its line.
package struct PropertyListError: Error, Equatable, CustomStringConvertible {
    package let line: Int
    package let what: String

    package init(line: Int, what: String) {
        self.line = line
        self.what = what
    }

    package var description: String { "line \(line): \(what)" }
}

/// A reader of old-style property lists: `key = value;`, and a comma after every value of a list except the last.
package struct PropertyListReader {
    /// Syntax that the reader accepts.
    package enum Manner: Sendable {
        /// The syntax that Xcode writes.
        case strict
        /// The syntax that Xcode reads, when other tools wrote it.
        ///
        /// It also allows `-` without quotes, single quotes, every escape, and repeated keys, of which the last counts.
        case lenient
    }

    /// Maximum depth of nesting. Each level is a recursive call, so a file of nothing but brackets would overflow the
    /// stack.
    package static let deepest = 64

    private let bytes: [UInt8]
    private let manner: Manner
    private var index = 0
    private var line = 1
    private var depth = 0

    /// Returns the whole list, with the line of each value.
    package static func read(_ text: String, _ manner: Manner = .strict) throws(PropertyListError) -> PropertyValue {
        var reader = PropertyListReader(bytes: Array(text.utf8), manner: manner)
        try reader.skip()
        let value = try reader.value()
        try reader.skip()
        guard reader.byte == nil else { throw reader.error("text follows the end of the list") }
        return value
    }

    private init(bytes: [UInt8], manner: Manner) {
        self.bytes = bytes
        self.manner = manner
    }

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

    // MARK: - Grammar

    /// Skips white space and comments.
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
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw error("there are more than \(Self.deepest) levels") }
        let form: PropertyValue.Form =
            switch byte {
            case UInt8(ascii: "{"): .table(try table())
            case UInt8(ascii: "("): .list(try list())
            default: .text(try text())
            }
        return PropertyValue(form, line: start)
    }

    private mutating func table() throws(PropertyListError) -> [(key: String, value: PropertyValue)] {
        advance()
        var entries: [(key: String, value: PropertyValue)] = []
        var places: [String: Int] = [:]
        while true {
            try skip()
            if byte == UInt8(ascii: "}") { break }
            let key = try text()
            let earlier = places[key]
            guard earlier == nil || manner == .lenient else { throw error("the key \(key) appears twice") }
            try skip()
            try expect("=", after: "the key \(key)")
            try skip()
            let value = try value()
            try skip()
            try expect(";", after: "the value of \(key)")
            if let earlier {
                entries[earlier].value = value
            } else {
                places[key] = entries.count
                entries.append((key, value))
            }
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
        if let byte, isQuote(byte) { return try quoted(until: byte) }
        let start = index
        while let byte, needsNoQuotes(byte), !isAt("/*"), !isAt("//") { advance() }
        guard index > start else {
            throw error(byte.map { "`\(Unicode.Scalar($0))` is not expected here" } ?? "the list has no end")
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || (byte == UInt8(ascii: "'") && manner == .lenient)
    }

    private mutating func quoted(until end: UInt8) throws(PropertyListError) -> String {
        let start = error("a quoted text has no end")
        advance()
        var text: [UInt8] = []
        while let byte, byte != end {
            advance()
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = self.byte else { throw start }
            switch escaped {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(escaped)
            case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
            // Character codes are not decoded, because no text that callers look for contains them.
            default:
                guard manner == .lenient else { throw error("only \\\\, \\\", \\n and \\t may follow a backslash") }
                text.append(escaped)
            }
            advance()
        }
        guard byte != nil else { throw start }
        advance()
        return String(decoding: text, as: UTF8.self)
    }

    private func needsNoQuotes(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"),
            UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        case UInt8(ascii: "-"): manner == .lenient
        default: false
        }
    }
}
