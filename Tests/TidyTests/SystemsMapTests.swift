import Testing

/// Every requirement of the systems has a test, and `docs/systems.md` says which.
struct SystemsMapTests {
    @Test func `every id has its row, and every test that a row names is in the tree`() throws {
        let repository = Repository.here
        let source = try #require(repository.sources.first { $0.path == "docs/systems.md" })
        let findings = SystemsMap(source).check { repository.text(of: $0) }
        let lines = findings.sorted().map(\.description).joined(separator: "\n")
        #expect(findings.isEmpty, "\(lines)")
    }

    private static let file = "Tests/A/ATests.swift"
    private static let tests = "@Test func `W1 and W2: a thing`() {}\n@Test func `another thing`() {}"

    @Test(arguments: [
        ("| W1 | t | [A](../\(file)) |\n| W2 | t | [A](../\(file)) |", 0),
        ("| W1 | t | [A](../\(file)): `another thing` |\n| W2 | t | [A](../\(file)) |", 0),
        ("| W1 | t | [A](../\(file)) |", 1),
        ("| W1 | t | [A](../\(file)) |\n| W1 | t | [A](../\(file)) |\n| W2 | t | [A](../\(file)) |", 1),
        ("| W1 | t | [A](../\(file)): `a thing` |\n| W2 | t | [A](../\(file)) |", 1),
        ("| W1 | t | [A](../\(file)): `another thing`, `a third` |\n| W2 | t | [A](../\(file)) |", 1),
        ("| W1 | t | [A](../Tests/A/BTests.swift) |\n| W2 | t | [A](../\(file)) |", 1),
        ("| W1 | t | |\n| W2 | t | [A](../\(file)) |", 1), ("| W1 | t | later: channels |\n| W2 | t | it is |", 2),
        ("| W1 | t | [A](../\(file)) |\n| W2 | t | [A](../\(file)) |\n| W3 | t | [A](../\(file)) |", 2),
    ])
    func `a row without a test, with one that is not there, twice or unknown is found`(map: String, count: Int) {
        let findings = SystemsMap(Source("docs/systems.md", "| id | what | proof |\n|---|---|---|\n" + map))
            .check(ids: ["W1", "W2"]) { $0 == Self.file ? Self.tests : nil }
        #expect(findings.count == count, "\(findings.map(\.description).joined(separator: "\n"))")
    }

    @Test func `the ids that a name begins with`() {
        #expect(SystemsMap.heads(of: "P2 and P3, as the pager had it: keys").contains("P3"))
        #expect(SystemsMap.heads(of: "a name without any").isEmpty)
    }
}
