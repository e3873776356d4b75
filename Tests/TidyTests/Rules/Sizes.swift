/// Limits of file and function lengths.
enum Sizes {
    static let maximumFileLines = 400
    static let maximumFunctionLines = 70
    static let maximumColumns = 120

    private static let reason = Pattern(#"\A//.*\b(?:table|machine)\b"#)

    /// Checks files. A machine or a table may be long if its first line says so.
    static func files(_ source: Source) -> [Finding] {
        guard source.isSwift, reason.matches(in: source.text).isEmpty else { return [] }
        let lines = source.text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
        guard lines > maximumFileLines else { return [] }
        return [
            Finding(
                source.path, "the file has \(lines) lines, \(maximumFileLines) are allowed",
                "split it by role, or say on its first line why it is one: `// … table …` or `// … machine …`")
        ]
    }

    static func columns(_ source: Source) -> [Finding] {
        guard source.isSwift || source.isUnder("script", "packaging", ".ci") else { return [] }
        var findings: [Finding] = []
        for (index, line) in source.text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        where line.count > maximumColumns {
            // Compare bytes first, because counting characters is slow. Few lines get past this.
            guard let text = String(line), text.count > maximumColumns else { continue }
            findings.append(
                Finding(
                    source.path, line: index + 1, "the line has \(text.count) columns, \(maximumColumns) are allowed",
                    "break it (script/format does most of it)"))
        }
        return findings
    }

    private static let declaration = Pattern(
        #"^[ \t]*(?:(?:@\w+(?:\([^)\n]*\))?|[a-z]+(?:\([a-z]+\))?)[ \t]+)*"#
            + #"(func\b|init[?!]?[ \t]*[(<]|deinit\b|subscript\b)"#)

    static func functions(_ source: Source) -> [Finding] {
        guard source.isSwift else { return [] }
        let code = Array(source.code.utf8)
        return declaration.matches(in: source.code).compactMap { match in
            guard let lines = bodyLines(code, from: match.offset), lines > maximumFunctionLines else { return nil }
            return Finding(
                source.path, line: match.line, "the function has \(lines) lines, \(maximumFunctionLines) are allowed",
                "give its steps names of their own")
        }
    }

    /// Returns the number of lines from a declaration to the end of its body; `nil` if it has none.
    private static func bodyLines(_ code: [UInt8], from start: Int) -> Int? {
        var (lines, parentheses, braces) = (1, 0, 0)
        for index in start..<code.count {
            switch code[index] {
            case UInt8(ascii: "\n"):
                if braces == 0, parentheses == 0, !continues(code, after: index) { return nil }
                lines += 1
            case UInt8(ascii: "("), UInt8(ascii: "["): parentheses += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): parentheses -= 1
            case UInt8(ascii: "{") where braces > 0 || parentheses == 0: braces += 1
            case UInt8(ascii: "}") where braces > 0:
                braces -= 1
                if braces == 0 { return lines }
            case UInt8(ascii: "}") where parentheses == 0: return nil
            default: break
            }
        }
        return nil
    }

    /// Returns `true` if a declaration's head continues in the next line: that line begins with a continuation, or this
    /// one ends with a comma or `>`.
    private static func continues(_ code: [UInt8], after newline: Int) -> Bool {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        if let last = code[..<newline].last(where: { !isSpace($0) }),
            last == UInt8(ascii: ",") || last == UInt8(ascii: ">")
        {
            return true
        }
        guard let next = code[(newline + 1)...].firstIndex(where: { !isSpace($0) }) else { return false }
        return ["{", "->", "throws", "async", "where"].contains { code[next...].starts(with: $0.utf8) }
    }
}
