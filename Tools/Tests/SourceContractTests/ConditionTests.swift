import JSONText
import SourceContract
import Testing

/// Results of `#if` on an iPhone, and of conditions that cannot be decided.
struct ConditionTests {
    /// `true` if the first clause is an iPhone's, `false` if the `#else` is, `nil` if it cannot be decided.
    private static let conditions: [(condition: String, value: Bool?)] = [
        ("true", true), ("false", false), ("(true)", true), ("!false", true), ("!(os(iOS))", false),
        ("os(iOS)", true), ("os(macOS)", false), ("os(watchOS)", false), ("os(Linux)", false), ("os(Haiku)", nil),
        ("canImport(ActivityKit)", true), ("canImport(UIKit)", true), ("!canImport(WidgetKit)", false),
        ("canImport(AppKit)", false), ("canImport(Glibc)", false), ("canImport(PizzaKit)", nil),
        ("!canImport(PizzaKit)", nil), ("targetEnvironment(macCatalyst)", false),
        ("targetEnvironment(simulator)", nil), ("DEBUG", nil), ("!DEBUG", nil), ("swift(>=6.0)", nil),
        ("compiler(>=6)", nil), ("arch(arm64)", nil), ("DEBUG || os(iOS)", true), ("os(iOS) || DEBUG", true),
        ("DEBUG || os(macOS)", nil), ("DEBUG && os(macOS)", false), ("os(macOS) && DEBUG", false),
        ("DEBUG && os(iOS)", nil), ("os(iOS) && !os(macOS)", true), ("os(macOS) || os(tvOS)", false),
        ("os(macOS) && DEBUG || os(iOS)", true), ("os(iOS) || os(macOS) && DEBUG", true),
        ("(os(iOS) || DEBUG) && os(macOS)", false),
    ]

    @Test(arguments: conditions) func `a condition says what it says on an iPhone`(condition: String, value: Bool?) {
        let source = state("#if \(condition)\nvar a: Int\n#else\nvar b: Int\n#endif")
        #expect(required(source) == value.map { [$0 ? "a" : "b"] }, "\(condition)")
    }

    private static let chains: [(clauses: String, required: [String]?)] = [
        ("#if os(macOS)\nvar a: Int\n#elseif os(iOS)\nvar b: Int\n#else\nvar c: Int\n#endif", ["b"]),
        ("#if os(macOS)\nvar a: Int\n#elseif os(tvOS)\nvar b: Int\n#else\nvar c: Int\n#endif", ["c"]),
        ("#if os(macOS)\nvar a: Int\n#elseif os(tvOS)\nvar b: Int\n#endif\nvar z: Int", ["z"]),
        ("#if os(macOS)\nvar a: Int\n#elseif DEBUG\nvar b: Int\n#else\nvar c: Int\n#endif", nil),
        ("#if os(iOS)\nvar a: Int\n#elseif DEBUG\nvar b: Int\n#endif", ["a"]),
        ("#if os(iOS)\n#if os(macOS)\nvar a: Int\n#else\nvar b: Int\n#endif\n#endif", ["b"]),
    ]

    @Test(arguments: chains) func `of several clauses the first that an iPhone takes counts`(
        clauses: String, required names: [String]?
    ) {
        #expect(required(state(clauses)) == names, "\(clauses)")
    }

    /// Source in which only the relevant condition is undecided.
    private static let undecided: [(what: String, source: String)] = [
        ("`a`", state("#if DEBUG\nvar a: Int\n#else\nstatic let b = 1\n#endif")),
        ("`a`", state("#if DEBUG\nstatic let b = 1\n#else\nvar a: Int\n#endif")),
        ("`a`", state("#if DEBUG\n#if os(iOS)\nvar a: Int\n#endif\n#endif")),
        ("`a`", state("#if os(iOS)\n#if DEBUG\nvar a: Int\n#endif\n#endif")),
        ("a case of `E`", state("var e: E\nenum E: Codable { case x\n#if DEBUG\ncase y(Int)\n#endif\n}")),
        ("a case of `E`", state("var e: E\nenum E: String, Codable { case x\n#if DEBUG\ncase y\n#endif\n}")),
        ("`X`", state("var x: X") + "\n#if DEBUG\nstruct X: Codable {}\n#endif"),
        ("`X`", state("var x: X") + "\n#if DEBUG\ntypealias X = Int\n#endif"),
        ("`X`", state("var x: X") + "\n#if DEBUG\nstruct X: Codable {}\n#else\ntypealias X = Int\n#endif"),
        ("`CodingKeys`", state("var a: Int\n#if DEBUG\nenum CodingKeys: CodingKey { case a }\n#endif")),
        (
            "`CodingKeys`",
            state("var a: Int")
                + "\n#if DEBUG\nextension A.ContentState { enum CodingKeys: CodingKey { case a } }\n#endif"
        ),
        (
            "`init(from:)`",
            state("var a: Int\n#if DEBUG\ninit(from decoder: any Decoder) throws { a = 5 }\n#endif")
        ),
        (
            "`A`",
            "#if DEBUG\nstruct A: ActivityAttributes {}\n#endif\nextension A { struct ContentState: Codable {} }"
        ),
        (
            "`ContentState`",
            "struct A: ActivityAttributes {\n#if DEBUG\nstruct ContentState: Codable {}\n#endif\n}"
        ),
    ]

    @Test(arguments: undecided) func `what cannot be decided around something that is decoded is refused`(
        what: String, source: String
    ) throws {
        let problems = try #require(throws: SourceProblems.self) {
            try AppSource([Source(name: "A.swift", text: source)]).contract()
        }
        #expect(problems.description.contains("\(what) stands in an `#if` that cannot be decided"), "\(problems)")
    }

    private static func state(_ members: String) -> String {
        "struct A: ActivityAttributes {\nstruct ContentState: Codable {\n\(members)\n}\n}"
    }

    private func state(_ members: String) -> String { Self.state(members) }

    /// Returns the required members of the content state; `nil` if there is no contract.
    private func required(_ source: String) -> [String]? {
        let contract = try? AppSource([Source(name: "A.swift", text: source)]).contract()
        return contract?.document.object?["contentState"]?.object?["required"]?.array?.compactMap(\.string)
    }
}
