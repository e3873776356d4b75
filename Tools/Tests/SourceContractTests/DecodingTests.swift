import JSONText
import SourceContract
import Testing

/// Decoding that is decided elsewhere than in the properties, and code that only looks as if it were.
struct DecodingTests {
    /// Words of the refusal; `nil` if there is a contract.
    private static let cases: [(words: String?, source: String)] = [
        // A superclass.
        (
            "`Base` has an `init(from:)` of its own",
            """
            class Base: Codable { var a: Int; init(from decoder: any Decoder) throws { a = 5 } }
            final class Leaf: Base {}
            \(state("var leaf: Leaf"))
            """
        ),
        (
            "`more` is left out of CodingKeys and has no default",
            """
            class Base: Codable { var a: Int }
            final class Leaf: Base { var more: Int }
            \(state("var leaf: Leaf"))
            """
        ),
        (
            nil,
            """
            class Base: Codable { var a: Int }
            final class Leaf: Base { var more: Int?; var other = 1; var unwrapped: Int! }
            \(state("var leaf: Leaf"))
            """
        ),
        // Protocols.
        (
            "`ContentState` has `init(from:)` from `P`",
            """
            protocol P {}
            protocol Q: P {}
            extension P { init(from decoder: any Decoder) throws { self.init() } }
            struct A: ActivityAttributes { struct ContentState: Codable, Q { var a: Int } }
            """
        ),
        (
            "`ContentState` has `init(from:)` from `Decodable`",
            """
            protocol P {}
            extension Decodable where Self: P { init(from decoder: any Decoder) throws { fatalError() } }
            struct A: ActivityAttributes { struct ContentState: Codable, P { var a: Int } }
            """
        ),
        (
            "`ContentState` has `init(from:)` from `Decodable`",
            """
            extension Swift.Decodable { init(from decoder: any Decoder) throws { fatalError() } }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: Int } }
            """
        ),
        (
            nil,
            """
            protocol P {}
            struct Other: P {}
            extension Decodable where Self: P { init(from decoder: any Decoder) throws { fatalError() } }
            struct A: ActivityAttributes { struct ContentState: Codable { var a: Int } }
            """
        ),
        (
            nil,
            """
            protocol P: Decodable { init(from decoder: any Decoder) throws }
            struct A: ActivityAttributes { struct ContentState: Codable, P { var a: Int } }
            """
        ),
        // Overloads that the compiler's code would call, and functions that it does not call.
        (
            "this changes how every type is decoded",
            "extension KeyedDecodingContainer { func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? "
                + "{ nil } }\n\(state("var a: Int"))"
        ),
        (
            "this changes how every type is decoded",
            "extension Swift.KeyedDecodingContainer { func decode(_ type: Int.Type, forKey key: Key) throws -> Int "
                + "{ 5 } }\n\(state("var a: Int"))"
        ),
        (
            "this changes how every type is decoded",
            "extension KeyedDecodingContainerProtocol { func decode(_ type: Int.Type, forKey key: Key) throws -> Int "
                + "{ 5 } }\n\(state("var a: Int"))"
        ),
        (
            nil,
            "extension KeyedDecodingContainer { func decode<T: Decodable>(_ key: Key) throws -> T "
                + "{ throw CancellationError() } }\n\(state("var a: Int"))"
        ),
        (
            nil,
            "extension UnkeyedDecodingContainer { mutating func decode(_ type: Int.Type) throws -> Int { 5 } }\n"
                + state("var a: [Int]")
        ),
        // Keys and cases.
        (
            "`_0` is left out of CodingKeys and has no default",
            state(
                "var e: E\nenum E: Codable { case x(Int, b: Bool)\nenum XCodingKeys: CodingKey { case b } }")
        ),
        (
            nil,
            state(
                "var e: E\nenum E: Codable { case x(Int = 5, b: Bool)\nenum XCodingKeys: CodingKey { case b } }")
        ),
        (
            "`E` has nothing named `z`",
            state("var e: E\nenum E: Codable { case x, y\nenum CodingKeys: CodingKey { case x, z } }")
        ),
        (
            "`a` is left out of CodingKeys and has no default",
            state("let a: Int?\nvar b: Int\nenum CodingKeys: CodingKey { case b }")
        ),
        (nil, state("var a: Int!\nvar b: Int\nenum CodingKeys: CodingKey { case b }")),
        // Raw values.
        ("the raw value of `x`", state("var e: E\nenum E: String, Codable { case x = \"\\(1)\" }")),
        ("the raw value of `y`", state("var e: E\nenum E: Double, Codable { case x = 0.5, y }")),
        ("`E` has no case that could be decoded", state("var e: E\nenum E: String, Codable {}")),
        ("`E: CGFloat` is not Codable", state("var e: E\nenum E: CGFloat, Codable { case x = 1 }")),
        ("`E: Decimal` is not Codable", state("var e: E\nenum E: Decimal, Codable { case x = 1 }")),
        // Keys of dictionaries.
        (
            "a dictionary's key `K` is `CodingKeyRepresentable`",
            "enum K: String, Codable, CodingKeyRepresentable { case a }\n\(state("var a: Dictionary<K, Int>"))"
        ),
    ]

    @Test(arguments: cases) func `what decides elsewhere is found, and nothing else is taken for it`(
        words: String?, source: String
    ) throws {
        do throws(SourceProblems) {
            _ = try AppSource([Source(name: "A.swift", text: source)]).contract()
            #expect(words == nil, "there is a contract, in place of: \(words ?? "")")
        } catch {
            #expect(words.map(error.description.contains) == true, "\(error)")
        }
    }

    @Test func `an app that links the client has attributes, with a place for the server's tag`() throws {
        for name in ["IdentifiedActivityAttributes", "IsletAttributes"] {
            let source = """
                import LiveActivityAttributes
                struct A: \(name) {
                    struct ContentState: Codable { var step: Int }
                    var id: String
                    var islet: IsletTag?
                    var other: LiveActivityAttributes.IsletTag
                    var liveActivityID: String? { id }
                }
                """
            let contract = try AppSource([Source(name: "A.swift", text: source)]).contract()
            #expect(contract.warnings.isEmpty)
            let attributes = try #require(contract.document.object?["attributes"]?.object)
            #expect(attributes["required"] == ["id", "other"])
            let properties = try #require(attributes["properties"]?.object)
            #expect(properties["islet"] == ["anyOf": [["$ref": "#/$defs/IsletTag"], ["type": "null"]]])
            #expect(properties["other"] == ["$ref": "#/$defs/IsletTag"])
            let tag = attributes["$defs"]?.object?["IsletTag"]?.object
            #expect(tag?["required"] == ["activity"] && tag?["additionalProperties"] == false)
        }
        let own = Self.state("var tag: IsletTag") + "\nstruct IsletTag: Codable { var mine: Int }"
        let state = try AppSource([Source(name: "A.swift", text: own)]).contract().document.object?["contentState"]
        #expect(state?.object?["$defs"]?.object?["IsletTag"]?.object?["required"] == ["mine"], "the app's own")
    }

    private static let names: [(type: String, as: String)] = [
        ("CFTimeInterval", "TimeInterval"), ("NSTimeInterval", "TimeInterval"), ("CGVector", "CGSize"),
        ("Float32", "Float"), ("Float64", "Double"),
    ]

    @Test(arguments: names) func `types of Apple's that Foundation has elsewhere under another name`(
        type: String, as other: String
    ) throws {
        #expect(try contract("var a: \(type)") == contract("var a: \(other)"))
    }

    @Test func `an extension sees what is in the type that it extends, and not what is around that`() throws {
        let source = """
            enum Status: String, Codable { case far }
            struct A: ActivityAttributes {
                enum Status: String, Codable { case near }
                struct ContentState: Codable { var own: Status; var leg: Leg; var mark: Mark }
            }
            extension A.ContentState {
                struct Leg: Codable { var status: Status; var mark: Mark }
                enum Mark: String, Codable { case here }
            }
            """
        let contract = try AppSource([Source(name: "A.swift", text: source)]).contract().document
        let state = try #require(contract.object?["contentState"]?.object)
        let types = try #require(state["$defs"]?.object)
        func words(_ member: String, of type: JSONObject?) -> JSONValue? {
            let name = type?["properties"]?.object?[member]?.object?["$ref"]?.string?.split(separator: "/").last
            return name.flatMap { types[String($0)]?.object?["enum"] }
        }
        #expect(words("own", of: state) == ["near"] && words("mark", of: state) == ["here"])
        let leg = types["Leg"]?.object
        #expect(words("status", of: leg) == ["far"] && words("mark", of: leg) == ["here"])
    }

    private func contract(_ members: String) throws -> JSONValue {
        try AppSource([Source(name: "A.swift", text: Self.state(members))]).contract().document
    }

    private static func state(_ members: String) -> String {
        "struct A: ActivityAttributes {\nstruct ContentState: Codable {\n\(members)\n}\n}"
    }
}
