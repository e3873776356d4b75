import Foundation
import Testing

/// Swift code in the documentation's articles is compiled with this package, word for word.
struct ArticleTests {
    private static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Returns the text between `// article: name` and `// end`, without its common indentation. Pieces of the same
    /// name are joined by an empty line.
    static func pieces(of source: String) -> [String: String] {
        var pieces: [String: [String]] = [:]
        var open: (name: String, lines: [Substring])?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.trimmingCharacters(in: .whitespaces)
            if words.hasPrefix("// article: ") {
                open = (String(words.dropFirst("// article: ".count)), [])
            } else if words == "// end", let (name, lines) = open {
                let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
                let text = lines.map { String($0.dropFirst(indents.min() ?? 0)) }.joined(separator: "\n")
                pieces[name, default: []].append(text)
                open = nil
            } else {
                open?.lines.append(line)
            }
        }
        return pieces.mapValues { $0.joined(separator: "\n\n") }
    }

    /// Returns each block of Swift with the name that the comment before it gives, or `nil` without such a comment.
    static func blocks(of article: String) -> [(name: String?, code: String)] {
        let lines = article.split(separator: "\n", omittingEmptySubsequences: false)
        var blocks: [(String?, String)] = []
        var start: Int?
        for (index, line) in lines.enumerated() {
            if line == "```swift", start == nil {
                start = index
            } else if line == "```", let begin = start {
                let before = begin > 0 ? lines[begin - 1] : ""
                let isNamed = before.hasPrefix("<!-- compiled: ") && before.hasSuffix(" -->")
                let name = isNamed ? String(before.dropFirst("<!-- compiled: ".count).dropLast(" -->".count)) : nil
                blocks.append((name, lines[(begin + 1)..<index].joined(separator: "\n")))
                start = nil
            }
        }
        return blocks
    }

    /// Returns a block without the imports at its head, which are elsewhere in its file. Returns `nil` if the block has
    /// no imports, or one that no file has.
    static func body(of code: String, importedBy sources: [String]) -> String? {
        let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
        let imports = lines.prefix { $0.hasPrefix("import ") }
        let imported = Set(
            sources.flatMap { $0.split(separator: "\n") }.map { $0.trimmingCharacters(in: .whitespaces) })
        guard !imports.isEmpty, imports.allSatisfy({ imported.contains(String($0)) }) else { return nil }
        return lines.dropFirst(imports.count + 1).joined(separator: "\n")
    }

    private func files(_ folder: String, _ suffix: String) throws -> [(name: String, text: String)] {
        let folder = Self.root.appendingPathComponent(folder)
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted()
            .map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
    }

    @Test(arguments: [
        ("Sources/APNSClient/APNSClient.docc", ".md", 6, "Examples/Pushing"),
        ("docs", "ios.md", 1, "Examples/PizzaApp"),
    ])
    func `every block of Swift in the articles is code that is compiled`(
        folder: String, suffix: String, count: Int, example: String
    ) throws {
        let sources = try files(example, ".swift")
        let pieces = sources.map { Self.pieces(of: $0.text) }.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        var shown: Set<String> = []
        let articles = try files(folder, suffix)
        for (file, text) in articles {
            for (name, code) in Self.blocks(of: text) {
                let name = try #require(name, "a block of \(file) does not say which code it is")
                let body = Self.body(of: code, importedBy: sources.map(\.text))
                #expect(pieces[name] == (pieces[name] == body ? body : code), "`\(name)` in \(file)")
                shown.insert(name)
            }
        }
        #expect(articles.count == count)
        #expect(Set(pieces.keys) == shown, "all of it is shown")
    }

    @Test func `the page about the client shows code that is compiled, and one manifest`() throws {
        let sources = try files("Examples/Pushing", ".swift")
        let pieces = sources.map { Self.pieces(of: $0.text) }.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        let page = try #require(try files("docs", "apns-client.md").first)
        let blocks = Self.blocks(of: page.text)
        #expect(blocks.count { $0.name == nil } == 1)
        for block in blocks {
            guard let name = block.name else { continue }
            let body = Self.body(of: block.code, importedBy: sources.map(\.text))
            #expect(pieces[name] == (pieces[name] == body ? body : block.code), "`\(name)`")
        }
    }

    @Test func `the first push takes ten lines`() throws {
        let article = try #require(try files("Sources/APNSClient/APNSClient.docc", "FirstPush.md").first)
        let code = try #require(Self.blocks(of: article.text).first { $0.name == "first-push" }).code
        #expect(code.split(separator: "\n").count <= 10)
    }

    @Test func `pieces lose their common indent, and names without code are found`() {
        let source =
            "// article: a\nimport X\n// end\nfunc f() {\n    // article: a\n    g {\n        1\n    }\n    // end\n}"
        #expect(Self.pieces(of: source) == ["a": "import X\n\ng {\n    1\n}"])
        let blocks = Self.blocks(of: "<!-- compiled: a -->\n```swift\nx\n```\n\n```swift\ny\n```")
        #expect(blocks.map(\.name) == ["a", nil] && blocks.map(\.code) == ["x", "y"])
    }

    @Test func `imports at a block's head are those of its file`() {
        let sources = ["#if true\n    import A\n#endif\nimport B\n"]
        #expect(Self.body(of: "import A\nimport B\n\nx()\ny()", importedBy: sources) == "x()\ny()")
        #expect(Self.body(of: "import C\n\nx()", importedBy: sources) == nil)
        #expect(Self.body(of: "x()", importedBy: sources) == nil)
    }
}
