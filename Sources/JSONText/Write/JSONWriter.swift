extension JSONValue {
    /// The value as compact UTF-8: no white space, members and numbers as written, minimal escapes.
    public var bytes: [UInt8] { written(.compact) }

    /// The value as compact JSON text, with the contents of ``bytes``.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value on several lines, indented by two spaces, for people.
    public var prettyText: String { String(decoding: written(.pretty), as: UTF8.self) }

    /// Bytes that equal values share and different values do not, for hashes, signatures and comparisons.
    ///
    /// The form is compact, with minimal escapes. Members are sorted by the UTF-8 bytes of their keys, and numbers are
    /// written as ``JSONNumber/canonicalText``. It differs from RFC 8785 in two ways: RFC 8785 sorts by UTF-16, and it
    /// rounds numbers.
    public var canonicalBytes: [UInt8] { written(.canonical) }

    private func written(_ style: JSONWriter.Style) -> [UInt8] {
        var writer = JSONWriter(style: style)
        writer.write(self)
        return writer.output
    }
}

/// A writer that appends values to bytes in one of three styles.
struct JSONWriter {
    enum Style {
        case compact, pretty, canonical
    }

    let style: Style
    private(set) var output: [UInt8] = []
    private var level = 0

    init(style: Style) {
        self.style = style
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(style == .canonical ? number.canonicalText : number.text)
        case .string(let text): write(text)
        case .array(let elements): write(elements, open: "[", close: "]") { writer, element in writer.write(element) }
        case .object(let object):
            let members = style == .canonical ? object.sorted(by: Self.precedes) : Array(object)
            write(members, open: "{", close: "}") { writer, member in
                writer.write(member.key)
                writer.append(writer.style == .pretty ? ": " : ":")
                writer.write(member.value)
            }
        }
    }

    private static func precedes(_ left: JSONObject.Element, _ right: JSONObject.Element) -> Bool {
        left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
    }

    private mutating func write<Item>(
        _ items: [Item], open: StaticString, close: StaticString, each: (inout JSONWriter, Item) -> Void
    ) {
        append("\(open)")
        level += 1
        for (index, item) in items.enumerated() {
            if index > 0 { append(",") }
            breakLine()
            each(&self, item)
        }
        level -= 1
        if !items.isEmpty { breakLine() }
        append("\(close)")
    }

    private mutating func breakLine() {
        guard style == .pretty else { return }
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
    }

    private mutating func write(_ text: String) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0x08: append("\\b")
            case UInt8(ascii: "\t"): append("\\t")
            case UInt8(ascii: "\n"): append("\\n")
            case 0x0C: append("\\f")
            case UInt8(ascii: "\r"): append("\\r")
            case 0..<0x20: append("\\u00" + (byte < 0x10 ? "0" : "1") + String(byte & 0x0F, radix: 16))
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private mutating func append(_ text: String) {
        output.append(contentsOf: text.utf8)
    }
}
