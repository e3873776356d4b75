/// Checks `docs/systems.md`: the requirements of the systems, what comparable software has, and the test that proves
/// each line.
struct SystemsMap {
    /// Every id that must have exactly one row.
    static let ids: [String] =
        numbers("B", 12) + ["B10w", "B12w"] + numbers("W", 11) + numbers("F", 10) + numbers("Fw", 5)
        + numbers("P", 9)
        + ["P2w", "R9", "R12"] + numbers("N", 8) + numbers("I", 32) + numbers("L", 25)

    /// The features that an incident may wait for.
    private static let later: Set<String> = ["channels"]

    private let path: String
    private let rows: [(line: Int, id: String, proof: String)]

    init(_ source: Source) {
        path = source.path
        var rows: [(Int, String, String)] = []
        for (index, line) in source.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map(Self.trimmed)
            guard cells.count == 5, !cells[1].isEmpty, cells[1] != "id", !cells[1].hasPrefix("--") else { continue }
            rows.append((index + 1, cells[1], cells[3]))
        }
        self.rows = rows
    }

    /// - Parameter text: Returns the text of a file of the repository; `nil` if there is none.
    func check(ids: [String] = Self.ids, text: (String) -> String?) -> [Finding] {
        var findings: [Finding] = []
        for id in ids {
            let count = rows.count { $0.id == id }
            if count != 1 { findings.append(Finding(path, "\(id) has \(count) rows", "give it one")) }
        }
        for row in rows {
            if !ids.contains(row.id) {
                findings.append(Finding(path, line: row.line, "\(row.id) is no id", "take it from the lists"))
            }
            let wrong = row.proof.split(separator: "·").map(Self.trimmed).flatMap { mistakes(row.id, $0, text) }
            findings += wrong.map { Finding(path, line: row.line, "\(row.id): \($0)", "name a test that is there") }
            if row.proof.isEmpty {
                findings.append(Finding(path, line: row.line, "\(row.id) has no test", "write one"))
            }
        }
        return findings
    }

    /// Returns the mistakes in one proof: `[File](../path)`, alone or with the names of tests, or `later: …`.
    private func mistakes(_ id: String, _ proof: String, _ text: (String) -> String?) -> [String] {
        if proof.hasPrefix("later: ") {
            let isKnown = id.hasPrefix("L") && Self.later.contains(String(proof.dropFirst("later: ".count)))
            return isKnown ? [] : ["may not wait for that"]
        }
        guard let open = proof.firstRange(of: "](../"), let close = proof[open.upperBound...].firstIndex(of: ")") else {
            return ["`\(proof)` is no link to a file of tests"]
        }
        let file = String(proof[open.upperBound..<close])
        guard let source = text(file) else { return ["there is no \(file)"] }
        let names = Self.tests(in: source)
        let wanted = Self.quoted(String(proof[proof.index(after: close)...]))
        guard wanted.isEmpty else {
            return wanted.filter { !names.contains($0) }.map { "\(file) has no test `\($0)`" }
        }
        return names.contains { Self.heads(of: $0).contains(id) } ? [] : ["no test of \(file) begins with the id"]
    }

    /// Returns the ids at the beginning of a test's name: `B4 and B5: …` proves both.
    static func heads(of name: String) -> [String] {
        guard let colon = name.firstIndex(of: ":") else { return [] }
        return name[..<colon].split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    private static let declaration = Pattern(#"\bfunc `([^`\n]+)`"#)

    static func tests(in source: String) -> Set<String> { Set(declaration.matches(in: source).map(\.text)) }

    /// Returns the texts between back quotes.
    private static func quoted(_ text: String) -> [String] {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
    }

    private static func numbers(_ letter: String, _ count: Int) -> [String] {
        (1...count).map { "\(letter)\($0)" }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
