import JSONText
import SourceContract
import Testing

/// What breaks when a build of the app with one contract takes the place of one with another.
struct ComparisonTests {
    private static let nothing: [String] = []

    /// Members of the content state before and after, and whom the change breaks.
    private static let changes: [(before: String, after: String, broken: [String])] = [
        ("var a: Int", "var a: Int", nothing),
        ("var a: Int", "var a: Int; var b: String", ["/contentState/b running"]),
        ("var a: Int", "var a: Int; var b: String = \"x\"", ["/contentState/b running"]),
        ("var a: Int", "var a: Int; var b: String?", nothing),
        ("var a: Int; var b: String", "var a: Int", ["/contentState/b older"]),
        ("var a: Int; var b: String?", "var a: Int", nothing),
        ("var a: Int", "var a: Int?", ["/contentState/a older", "/contentState/a older"]),
        ("var a: Int?", "var a: Int", ["/contentState/a running", "/contentState/a running"]),
        ("var a: Int", "var a: String", ["/contentState/a older", "/contentState/a running"]),
        ("var a: Int", "var a: Double", ["/contentState/a older"]),
        ("var a: Int8", "var a: Int", ["/contentState/a older"]),
        ("var a: UInt8", "var a: Int16", ["/contentState/a older"]),
        ("var a: UUID", "var a: String", ["/contentState/a older"]),
        ("var a: Date", "var a: Double", ["/contentState/a older", "/contentState/a running"]),
        ("var a: [Int]", "var a: [Double]", ["/contentState/a/* older"]),
        ("var a: [Int]", "var a: Set<Int>", nothing),
        ("var a: [Int]", "var a: [String: Int]", ["/contentState/a older", "/contentState/a running"]),
        ("var a: [Int: Bool]", "var a: [String: Bool]", ["/contentState/a older"]),
        ("var a: [UUID: Int]", "var a: [UUID: Double]", ["/contentState/a/value older"]),
        (
            "var a: ClosedRange<Int>", "var a: ClosedRange<Double>",
            ["/contentState/a/0 older", "/contentState/a/1 older"]
        ),
        ("var a: ClosedRange<Int>", "var a: [Int]", ["/contentState/a older", "/contentState/a running"]),
        (
            "var a: E; enum E: String, Codable { case x }", "var a: E; enum E: String, Codable { case x, y }",
            ["/contentState/a older"]
        ),
        (
            "var a: E; enum E: String, Codable { case x, y }", "var a: E; enum E: String, Codable { case x }",
            ["/contentState/a running"]
        ),
        ("var a: E; enum E: String, Codable { case x }", "var a: String", ["/contentState/a older"]),
        (
            "var a: E; enum E: Codable { case x }", "var a: E; enum E: Codable { case x, y(Int) }",
            ["/contentState/a/y older"]
        ),
        (
            "var a: E; enum E: Codable { case x(Int) }", "var a: E; enum E: Codable { case x(Int, b: Bool) }",
            ["/contentState/a/x/b running"]
        ),
        (
            "var a: N; struct N: Codable { var n: [N] }", "var a: N; struct N: Codable { var n: [N]; var v: Int }",
            ["/contentState/a/v running"]
        ),
        (
            "var a: Int", "var b: Int; enum CodingKeys: String, CodingKey { case b = \"a\" }", nothing
        ),
        (
            "var a: Int", "var a: Int; enum CodingKeys: String, CodingKey { case a = \"b\" }",
            ["/contentState/a older", "/contentState/b running"]
        ),
    ]

    @Test(arguments: changes)
    func `a change breaks whom it breaks`(before: String, after: String, broken: [String]) throws {
        let changes = ContractComparison.changes(from: try contract(before), to: try contract(after))
        let found = changes.map { "\($0.pointer) \($0.victim == .olderBuilds ? "older" : "running")" }
        #expect(found.sorted() == broken.sorted(), "\(changes)")
    }

    @Test func `attributes and the type's name are compared too`() throws {
        let renamed = ContractComparison.changes(
            from: try contract("var a: Int", name: "B"), to: try contract("var a: Int"))
        #expect(renamed.map(\.pointer.description) == ["/attributesType", "/attributesType"])
        let more = ContractComparison.changes(
            from: try contract("var a: Int"), to: try contract("var a: Int", attributes: "var order: Int"))
        #expect(
            more.map(\.description) == [
                "/attributes/order: breaks running activities: it is new and required, and running cards were made "
                    + "without it: make it optional"
            ])
    }

    private func contract(_ state: String, attributes: String = "", name: String = "A") throws -> JSONValue {
        let text = "struct \(name): ActivityAttributes { struct ContentState: Codable { \(state) }\n\(attributes) }"
        return try AppSource([Source(name: "A.swift", text: text)]).contract().document
    }
}
