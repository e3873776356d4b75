import IsletBasics
import JSONText

/// Descriptions of schemas and values for people.
enum ContractWords {
    /// Maximum number of choices that one message lists.
    static let maximumNames = 12
    /// Maximum length in bytes of a text that is quoted. A longer text is only described, because it may contain
    /// anything, such as a token.
    static let maximumQuotation = 24

    static func given(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let number):
            number.text.utf8.count <= maximumQuotation
                ? number.text : "a number of \(number.text.utf8.count) characters"
        case .string(let text):
            text.utf8.count <= maximumQuotation ? value.text : "a string of \(text.utf8.count) bytes"
        case .array: "an array"
        case .object: "an object"
        }
    }

    static func list(_ names: [String]) -> String {
        names.prefix(maximumNames).map { "`\($0)`" }.joined(separator: ", ")
            + (names.count > maximumNames ? ", …" : "")
    }

    static func oneOf(_ values: [JSONValue]) -> String {
        let words = values.prefix(maximumNames).map(given).joined(separator: ", ")
        return values.count == 1 ? words : "one of \(words)" + (values.count > maximumNames ? ", …" : "")
    }

    static func expected(_ id: Int, _ schema: ContractSchema) -> String {
        let node = schema.resolved(id)
        switch node.form {
        case .anyOf(let branches), .oneOf(let branches):
            return branches.prefix(maximumNames).map { expected($0, schema) }.joined(separator: " or ")
        case .direct, .never, .reference: return expected(node)
        }
    }

    static func expected(_ node: SchemaNode) -> String {
        if node.form == .never { return "nothing here" }
        if node.swift == nil || node.swift == .string, let values = node.values { return oneOf(values) }
        let isOptional = node.types?.contains(.null) == true && node.types?.count ?? 0 > 1 ? " or null" : ""
        if let swift = node.swift { return swift.words + isOptional }
        guard let types = node.types else { return node.constant.map { given($0) } ?? "a value" }
        return JSONType.allCases.filter(types.contains).map(\.words).sorted { $1 == "null" && $0 != "null" }
            .joined(separator: " or ")
    }

    /// Returns whether a value is of a kind that the schema accepts.
    static func mayTake(_ value: JSONValue, _ id: Int, _ schema: ContractSchema) -> Bool {
        let node = schema.resolved(id)
        switch node.form {
        case .never, .reference: return false
        case .anyOf(let branches), .oneOf(let branches): return branches.contains { mayTake(value, $0, schema) }
        case .direct: return (node.types ?? node.swift?.jsonTypes)?.contains { $0.includes(value) } ?? true
        }
    }

    // MARK: - Advice

    /// Returns the choice that was probably meant, if one is near.
    static func nearest(to value: JSONValue, among choices: [JSONValue]) -> String? {
        guard let text = value.string else { return nil }
        return Spelling.meant(by: text, among: choices.compactMap(\.string)).map { "is \"\($0)\" meant?" }
    }

    static func fix(for value: JSONValue, _ node: SchemaNode) -> String? {
        guard let swift = node.swift else { return fix(for: value, types: node.types ?? []) }
        switch (swift, value) {
        case (.integer, .number(let number)) where number.double.rounded() != number.double:
            return "round it, or make the Swift property a Double"
        case (.integer, .string), (.double, .string), (.float, .string), (.decimal, .string):
            return fix(for: value, types: [.number])
        case (.bool, _): return fix(for: value, types: [.boolean])
        case (.string, _): return fix(for: value, types: [.string])
        case (.date(let input), _): return fix(date: value, input)
        case (.data, .string(let text)):
            return SwiftTexts.repairedBase64(text).map { repaired in
                quoted(repaired).map { "as standard base64 with padding it is \($0)" }
                    ?? "use standard base64 with padding"
            }
        case (.url, .string(let text)):
            guard !text.isEmpty else { return "leave it out, or give a URL" }
            return SwiftTexts.repairedURL(text).map { repaired in
                quoted(repaired).map { "escaped it is \($0)" }
                    ?? "escape the characters that a URL must not contain (RFC 3986)"
            }
        case (.uuid, .string): return "a UUID has 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12"
        case (.range, .object): return "write [lower, upper]"
        case (.pairs, .object): return "write an array of alternating keys and values"
        case (.integerKeys, .array): return "write an object with the integers as keys"
        case (.cases, .string(let text)) where node.properties[text] != nil:
            return "write {\"\(text)\": {}}"
        default: return nil
        }
    }

    private static func fix(for value: JSONValue, types: Set<JSONType>) -> String? {
        let isNumber = types.contains(.number) || types.contains(.integer)
        switch value {
        case .string(let text) where isNumber && text.utf8.count <= maximumQuotation && JSONNumber(text) != nil:
            return "write \(text) without quotes"
        case .string("true") where types.contains(.boolean), .string("false") where types.contains(.boolean):
            return "write it without quotes"
        case .number(let number) where types.contains(.boolean) && (number.int == 0 || number.int == 1):
            return "write \(number.int == 1)"
        case .number, .bool:
            return types.contains(.string) ? quoted(value.text).map { "write it in quotes: \($0)" } : nil
        default: return nil
        }
    }

    private static func fix(date value: JSONValue, _ input: DateInput) -> String? {
        switch value {
        case .string(let text) where JSONNumber(text) != nil: return "write a number without quotes"
        case .string: return "write it as in 2026-03-01T12:00:00Z, with the zone"
        case .number where input == .any:
            return "write it as text, or say in the contract what numbers mean: "
                + #""x-swift": {"type": "Date", "input": "unix"}"#
        case .number: return "write it as text, as in 2026-03-01T12:00:00Z"
        case .null, .bool, .array, .object: return nil
        }
    }

    private static func quoted(_ text: String) -> String? {
        text.utf8.count <= maximumQuotation ? JSONValue.string(text).text : nil
    }
}
