import JSONText
import SourceContract
import Testing

/// Problems of the source, each with its place and its fix.
struct ProblemTests {
    struct Case: CustomTestStringConvertible {
        let state: String
        /// The first problem: its line within the state, its column, and words of its message.
        let line: Int
        let column: Int
        let words: String
        var testDescription: String { words }

        init(_ line: Int, _ column: Int, _ words: String, _ state: String) {
            (self.state, self.line, self.column, self.words) = (state, line, column, words)
        }
    }

    /// Members of a content state.
    private static let members = [
        Case(1, 12, "no type `Money` is known", "var price: Money"),
        Case(1, 12, "--schema Money=FILE", "var price: Money"),
        Case(1, 11, "no type `Money` is known", "var all: [Money?]"),
        Case(1, 12, "no type `Missing.Inner`", "var price: Missing.Inner"),
        Case(1, 8, "a tuple is not Codable", "var a: (Int, Int)"),
        Case(1, 8, "a function is not Codable", "var a: () -> Void"),
        Case(1, 8, "stands for any type that conforms", "var a: any Codable"),
        Case(1, 8, "`Any` is not Codable", "var a: Any"),
        Case(1, 8, "`Character` is not Codable", "var a: Character"),
        Case(1, 8, "`Dictionary` has 2 generic parameters", "var a: Dictionary"),
        Case(1, 1, "`a` has the property wrapper `@Clamped`", "@Clamped var a: Int"),
        Case(1, 5, "the type of `a` cannot be told", "var a = compute()"),
        Case(1, 5, "write it: `a: TYPE = …`", "var a = [1, \"a\"].count"),
        Case(1, 5, "the type of `a` cannot be told", "var a = []"),
        Case(1, 5, "the type of `a` cannot be told", "var a = { 5 }()"),
        Case(1, 5, "several properties in one pattern", "var (a, b) = (1, 2)"),
        Case(2, 1, "`init(from:)` of its own", "var a: Int\ninit(from decoder: any Decoder) throws { a = 5 }"),
        Case(2, 1, "`#if` that cannot be decided", "var b: Int\n#if DEBUG\nvar a: Int\n#endif"),
        Case(2, 1, "CodingKeys are not the compiler's", "var a: Int\nstruct CodingKeys: CodingKey {}"),
        Case(2, 40, "has nothing named `b`", "var a: Int\nenum CodingKeys: String, CodingKey { case a, b }"),
        Case(
            1, 5, "is left out of CodingKeys and has no default",
            "var a: Int\nvar b = 1\nenum CodingKeys: CodingKey { case b }"),
        Case(2, 24, "the raw value of `a`", "var a: Int\nenum CodingKeys: String, CodingKey { case a = \"\\(1)\" }"),
        Case(
            4, 1, "`#if` that cannot be decided",
            "var a: Int\nvar b = 1\nenum CodingKeys: CodingKey { case a\n#if BETA\ncase b\n#endif\n}"),
        Case(
            2, 36, "they have a `stringValue` of their own",
            "var a: Int\nenum CodingKeys: CodingKey { case a; var stringValue: String { \"x\" } }"),
        Case(
            2, 54, "the raw value of `R`",
            "var a: R\nstruct R: RawRepresentable, Codable { var rawValue: Int; init?(rawValue: Int) { nil } }"),
    ]

    @Test(arguments: members) func `what is no guess is an error with its place`(_ given: Case) throws {
        let before = "struct A: ActivityAttributes {\nstruct ContentState: Codable {\n"
        let problems = try #require(refusal(before + given.state + "\n}\n}"))
        let first = try #require(problems.all.first)
        #expect(first.description.contains(given.words), "\(problems)")
        #expect(first.place.file == "A.swift")
        if given.column > 0 { #expect(first.place.line == given.line + 2, "\(problems)") }
    }

    @Test(arguments: members.filter { $0.line == 1 }) func `columns are those of the compiler`(_ given: Case) throws {
        let before = "struct A: ActivityAttributes {\nstruct ContentState: Codable {\n"
        let problems = try #require(refusal(before + given.state + "\n}\n}"))
        #expect(problems.all.first?.place.column == given.column, "\(problems)")
    }

    private static let files: [(words: String, source: String)] = [
        ("no type conforms to `ActivityAttributes`", "struct A: Codable {}"),
        ("several types conform", "struct A: ActivityAttributes {}\nstruct B: ActivityAttributes {}"),
        ("`A` has no `ContentState`", "struct A: ActivityAttributes {}"),
        ("is generic", "struct A<T>: ActivityAttributes { struct ContentState: Codable {} }"),
        ("this is not Swift", "struct A: ActivityAttributes { struct ContentState: Codable { var a: } }"),
        ("decoded from a raw value", "struct A: ActivityAttributes { enum ContentState: String, Codable { case a } }"),
        ("decoded from `[Int]`", "struct A: ActivityAttributes { typealias ContentState = [Int] }"),
        ("is not seen to be `Codable`", "struct A: ActivityAttributes { struct ContentState {} }"),
        (
            "`ContentState` has `init(from:)` from `P`",
            """
            protocol P: Decodable {}
            extension P { init(from decoder: Decoder) throws { self.init() } }
            struct A: ActivityAttributes { struct ContentState: Codable, P { var a: Int } }
            """
        ),
        (
            "`R` has an `init(from:)` of its own",
            """
            struct R: Codable { var a: Int }
            extension R { init(from decoder: any Decoder) throws { a = 5 } }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: R } }
            """
        ),
        (
            "this changes how every type is decoded",
            """
            extension KeyedDecodingContainer {
                func decode(_ type: Int.Type, forKey key: Key) throws -> Int { 5 }
            }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: Int } }
            """
        ),
        (
            "`@Observable` may be a macro",
            "struct A: ActivityAttributes { @Observable class ContentState: Codable { var a: Int } }"
        ),
        (
            "leads back to itself",
            "typealias X = X\nstruct A: ActivityAttributes { struct ContentState: Codable { var a: X } }"
        ),
        (
            "contains itself with ever other arguments",
            """
            struct N<T: Codable>: Codable { var next: [N<[T]>] }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: N<Int> } }
            """
        ),
        (
            "is declared several times",
            """
            struct X: Codable {}
            struct X: Codable {}
            struct A: ActivityAttributes { struct ContentState: Codable { var a: X } }
            """
        ),
        (
            "is `CodingKeyRepresentable`",
            """
            enum K: String, Codable, CodingKeyRepresentable { case a }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: [K: Int] } }
            """
        ),
        (
            "the case `a` is there twice",
            "struct A: ActivityAttributes { enum ContentState: Codable { case a(Int), a(x: Int) } }"
        ),
        ("has no case that could be decoded", "struct A: ActivityAttributes { enum ContentState: Codable {} }"),
        (
            "the raw value of `E`",
            """
            enum E: String, Codable { case a; init?(rawValue: String) { self = .a } }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: E } }
            """
        ),
        (
            "`E` is decoded from a `rawValue` that its own code computes",
            """
            enum E: RawRepresentable, Codable {
                case open, other(String)
                init(rawValue: String) { self = rawValue == "open" ? .open : .other(rawValue) }
                var rawValue: String { if case .other(let value) = self { value } else { "open" } }
            }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: E } }
            """
        ),
        (
            "--schema E=FILE",
            """
            protocol Tolerant: RawRepresentable, Codable where RawValue == Int {}
            enum E { case low, high }
            extension E: Tolerant {
                init?(rawValue: Int) { self = rawValue < 5 ? .low : .high }
                var rawValue: Int { self == .low ? 0 : 5 }
            }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: E } }
            """
        ),
        (
            "`R` is decoded from a `rawValue` that its own code computes",
            """
            struct R: RawRepresentable, Codable {
                var words: [String]
                init(rawValue: String) { words = rawValue.split(separator: " ").map(String.init) }
                var rawValue: String { words.joined(separator: " ") }
            }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: R } }
            """
        ),
        (
            "the actor `E`",
            "actor E: Codable {}\nstruct A: ActivityAttributes { struct ContentState: Codable { var a: E } }"
        ),
        (
            "`#if` that cannot be decided",
            """
            #if BETA
            struct X: Codable { var a: Int }
            #else
            struct X: Codable { var a: String }
            #endif
            struct A: ActivityAttributes { struct ContentState: Codable { var a: X } }
            """
        ),
    ]

    @Test(arguments: files) func `what is no contract at all is an error too`(words: String, source: String) throws {
        let problems = try #require(refusal(source))
        #expect(problems.description.contains(words), "\(problems)")
    }

    @Test func `a raw value that is stored is what a type is decoded from, in whatever kind of type`() throws {
        let source = """
            struct S: RawRepresentable, Codable { var rawValue: String }
            final class C: RawRepresentable, Codable {
                let rawValue: Int
                required init(rawValue: Int) { self.rawValue = rawValue }
            }
            struct D: RawRepresentable, Codable { var rawValue: [Int] }
            enum E: String, RawRepresentable, Codable { case a }
            struct A: ActivityAttributes { struct ContentState: Codable { var s: S; var c: C; var d: D; var e: E } }
            """
        let document = try AppSource([Source(name: "A.swift", text: source)]).contract().document
        let definitions = document.object?["contentState"]?.object?["$defs"]?.object
        let types = ["S", "C", "D", "E"].map { definitions?[$0]?.object?["type"]?.string }
        #expect(types == ["string", "integer", "object", "string"], "\(document)")
    }

    @Test func `all problems are told at once`() throws {
        let source = """
            struct A: ActivityAttributes {
                struct ContentState: Codable {
                    var a: Money
                    var b: (Int, Int)
                }
                var c: Other
            }
            """
        let lines = try #require(refusal(source)).all.map { "\($0.place)" }
        #expect(lines == ["A.swift:6:12", "A.swift:3:16", "A.swift:4:16"])
    }

    @Test func `a schema from the caller stands where the source does not tell`() throws {
        let source = """
            struct A: ActivityAttributes {
                struct ContentState: Codable { var a: Money; var b: Own }
                struct Own: Codable { init(from decoder: any Decoder) throws {} }
            }
            struct Money: Codable { init(from decoder: any Decoder) throws {} }
            """
        let schemas: [String: JSONValue] = ["Money": ["type": "number"], "A.Own": ["type": "string"]]
        let document = try AppSource([Source(name: "A.swift", text: source)]).contract(schemas: schemas).document
        let definitions = document.object?["contentState"]?.object?["$defs"]
        #expect(definitions == ["Money": ["type": "number"], "Own": ["type": "string"]])
    }

    @Test func `a type that no file declares is what the caller says, wherever it stands`() throws {
        let source = """
            extension Coordinate: Codable { init(from decoder: any Decoder) throws { self.init() } }
            struct A: ActivityAttributes {
                struct ContentState: Codable {
                    var a: Money
                    var b: Money?
                    var c: [Shop.Unit]
                    var d: Shop.Price
                    var e: Coordinate
                }
            }
            """
        let schemas: [String: JSONValue] = [
            "Money": ["type": "string", "enum": ["EUR", "USD"]], "Shop.Unit": ["type": "integer"],
            "Price": ["type": "number"], "Coordinate": ["type": "array"],
        ]
        let document = try AppSource([Source(name: "A.swift", text: source)]).contract(schemas: schemas).document
        let state = document.object?["contentState"]?.object
        let properties = state?["properties"]?.object
        #expect(properties?["a"] == ["$ref": "#/$defs/Money"])
        #expect(properties?["b"] == ["anyOf": [["$ref": "#/$defs/Money"], ["type": "null"]]])
        #expect(properties?["c"] == ["type": "array", "items": ["$ref": "#/$defs/Shop.Unit"]])
        #expect(properties?["d"] == ["$ref": "#/$defs/Price"] && properties?["e"] == ["$ref": "#/$defs/Coordinate"])
        for (name, schema) in schemas { #expect(state?["$defs"]?.object?[name] == schema) }
        #expect(state?["required"] == ["a", "c", "d", "e"])
    }

    @Test func `a schema that is complete in itself is a part of the contract's, with its own definitions`() throws {
        let source = """
            struct A: ActivityAttributes {
                struct ContentState: Codable { var a: Money; var b: Own }
                struct Own: Codable { init(from decoder: any Decoder) throws {} }
            }
            """
        let money: JSONValue = [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/money",
            "type": "object", "properties": ["amount": ["$ref": "#/$defs/a mount"], "next": ["$ref": "#"]],
            "$defs": ["a mount": ["anyOf": [["$ref": "#"], ["$ref": "#/$defs/b"]]], "b": ["type": "integer"]],
        ]
        let schemas: [String: JSONValue] = [
            "Money": money, "A.Own": ["$ref": "#/$defs/c", "$defs": ["c": ["type": "string"]]],
        ]
        let document = try AppSource([Source(name: "A.swift", text: source)]).contract(schemas: schemas).document
        let state = try #require(document.object?["contentState"]?.object)
        #expect(
            state["$defs"] == [
                "Money": [
                    "type": "object",
                    "properties": [
                        "amount": ["$ref": "#/$defs/Money.a_mount"], "next": ["$ref": "#/$defs/Money"],
                    ],
                ],
                "Money.a_mount": ["anyOf": [["$ref": "#/$defs/Money"], ["$ref": "#/$defs/Money.b"]]],
                "Money.b": ["type": "integer"], "Own": ["$ref": "#/$defs/Own.c"], "Own.c": ["type": "string"],
            ])
    }

    @Test func `a name is looked up where it is written, and generic types around a type keep their order`() throws {
        let source = """
            enum Box {
                struct Inner: Codable { var text: String }
                typealias Item = Inner
            }
            struct Outer<T: Codable> {
                struct Middle<U: Codable> { struct Inside: Codable { var first: T; var second: U } }
            }
            struct A: ActivityAttributes {
                struct ContentState: Codable {
                    struct Inner: Codable { var number: Int }
                    var a: Box.Item
                    var b: Outer<Int>.Middle<String>.Inside
                    var c = 5 as? Int
                }
            }
            """
        let document = try AppSource([Source(name: "A.swift", text: source)]).contract().document
        let state = document.object?["contentState"]?.object
        #expect(state?["$defs"]?.object?["Inner"]?.object?["required"] == ["text"])
        let inside = state?["$defs"]?.object?.first { $0.key.hasPrefix("Inside") }?.value.object?["properties"]?.object
        #expect(inside?["first"]?.object?["type"] == "integer" && inside?["second"]?.object?["type"] == "string")
        #expect(state?["required"] == ["a", "b"])
    }

    @Test func `what may be otherwise than it looks is a warning`() throws {
        let source = """
            enum Place {
                struct A: ActivityAttributes {
                    struct ContentState: Codable, Strange {
                        var a: Int
                        func encode(to encoder: any Encoder) throws {}
                    }
                }
            }
            """
        let result = try AppSource([Source(name: "A.swift", text: source)]).contract()
        #expect(result.warnings.map { "\($0.place)" } == ["A.swift:2:5", "A.swift:3:39", "A.swift:5:13"])
    }

    private func refusal(_ source: String) -> SourceProblems? {
        do throws(SourceProblems) {
            _ = try AppSource([Source(name: "A.swift", text: source)]).contract()
            return nil
        } catch {
            return error
        }
    }
}
