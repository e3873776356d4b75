import JSONText
import SourceContract
import Testing

/// Changes that break when a build of the app with one contract replaces a build with another.
struct ComparisonTests {
    private static let nothing: [String] = []

    /// Members of the content state before and after, and the builds or activities that break.
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
        // Optional types of these files.
        (n("var a: N?"), n("var a: N"), ["/contentState/a running", "/contentState/a running"]),
        (n("var a: N"), n("var a: N?"), ["/contentState/a older", "/contentState/a older"]),
        (n("var a: [N?]"), n("var a: [N]"), ["/contentState/a/* running"]),
        (n("var a: N?"), n("var a: N?", "var x: Double"), ["/contentState/a/x older"]),
        // Types with unchanged descriptions whose content has changed.
        (n("var a: [N]"), n("var a: [N]", "var x: Int; var y: Int"), ["/contentState/a/*/y running"]),
        // Floating-point numbers.
        ("var a: Float", "var a: Double", ["/contentState/a older"]),
        ("var a: Double", "var a: Float", ["/contentState/a running"]),
        ("var a: TimeInterval", "var a: Double", nothing), ("var a: CGFloat", "var a: Double", nothing),
        ("var a: Decimal", "var a: Double", nothing), ("var a: Int", "var a: Float", ["/contentState/a older"]),
        ("var a: Date", "var a: Decimal", ["/contentState/a older", "/contentState/a running"]),
        // Elements of fixed number and order.
        ("var a: PartialRangeFrom<Int64>", "var a: Duration", ["/contentState/a running"]),
        (
            "var a: Duration", "var a: ClosedRange<Int64>",
            ["/contentState/a older", "/contentState/a running"]
        ),
        ("var a: Range<Int>", "var a: ClosedRange<Int>", nothing),
        // Keys and values of dictionaries.
        ("var a: [UUID: Int]", "var a: [Date: Int]", ["/contentState/a/key older", "/contentState/a/key running"]),
        ("var a: [UUID: Int]", "var a: [Int]", ["/contentState/a older", "/contentState/a running"]),
        ("var a: [String: Bool]", "var a: [Int: Bool]", ["/contentState/a running"]),
        ("var a: [String: Int]", "var a: [String: Double]", ["/contentState/a/* older"]),
        (n("var a: [String: Int]"), n("var a: N"), ["/contentState/a older", "/contentState/a running"]),
        (
            "var a: E; enum E: Codable { case x }", "var a: E; struct E: Codable { var x: Int }",
            ["/contentState/a older", "/contentState/a running"]
        ),
    ]

    /// Returns members together with a nested struct.
    private static func n(_ members: String, _ inner: String = "var x: Int") -> String {
        "\(members); struct N: Codable { \(inner) }"
    }

    private static let integers: [(name: String, isSigned: Bool, bits: Int)] = [
        ("Int8", true, 8), ("Int16", true, 16), ("Int32", true, 32), ("Int64", true, 64), ("Int", true, 64),
        ("UInt8", false, 8), ("UInt16", false, 16), ("UInt32", false, 32), ("UInt64", false, 64), ("UInt", false, 64),
    ]

    @Test(arguments: integers, integers)
    func `an integer type takes what fits into it`(
        before: (name: String, isSigned: Bool, bits: Int), after: (name: String, isSigned: Bool, bits: Int)
    ) throws {
        func takes(
            _ reader: (name: String, isSigned: Bool, bits: Int), _ writer: (name: String, isSigned: Bool, bits: Int)
        ) -> Bool {
            if reader.isSigned == writer.isSigned { return reader.bits >= writer.bits }
            return reader.isSigned && reader.bits > writer.bits
        }
        let changes = ContractComparison.changes(
            from: try contract("var a: \(before.name)"), to: try contract("var a: \(after.name)"))
        let older = takes(before, after) ? [] : [ContractChange.Victim.olderBuilds]
        #expect(changes.map(\.victim) == older + (takes(after, before) ? [] : [.runningActivities]))
    }

    @Test(arguments: changes)
    func `a change breaks whom it breaks`(before: String, after: String, broken: [String]) throws {
        let changes = ContractComparison.changes(from: try contract(before), to: try contract(after))
        let found = changes.map { "\($0.pointer) \($0.victim == .olderBuilds ? "older" : "running")" }
        #expect(found.sorted() == broken.sorted(), "\(changes)")
    }

    @Test(arguments: [
        "var a: N?; final class N: Codable { var next: N?; var x: Int }",
        "var a: [N?]; final class N: Codable { var next: [String: N?]; var x: Int }",
        "var a: N; indirect enum N: Codable { case leaf(x: Int), branch(left: N?, right: N?) }",
    ])
    func `a type that contains itself behind an optional is compared once`(state: String) throws {
        let before = try contract(state)
        #expect(ContractComparison.changes(from: before, to: before).isEmpty)
        let more = state.contains("case") ? "x: Int, y: Int" : "x: Int; var y: Int"
        let after = try contract(state.replacing("x: Int", with: more))
        let changes = ContractComparison.changes(from: before, to: after)
        #expect(changes.map(\.victim) == [.runningActivities], "\(changes)")
        #expect(changes.first?.pointer.description.hasSuffix("/y") == true)
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
