import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of contracts on incoming states: which are refused, what is kept, and which count as equal.
struct ContractTests {
    private static func type(
        _ attributes: String? = nil, activityIDAttribute: String? = nil, start: ActivityRecord.StartMode = .ifPossible
    ) throws -> ActivityType {
        let half = attributes.map { #", "attributes": \#($0)"# } ?? ""
        let text = #"""
            {"attributesType": "orderAttributes", "contentState": {"type": "object",
              "required": ["status"], "properties": {
              "status": {"enum": ["baking", "done"]}, "eta": {"type": ["number", "null"], "x-swift": "Date"},
              "tags": {"type": "array", "x-swift": "Set", "items": {"type": "string"}},
              "leg": {"type": "object", "properties": {
               "from": {"x-swift": "Date"}, "to": {"x-swift": "Date"}}}}}\#(half)}
            """#
        var type = Sample.type("order", activityIDAttribute: activityIDAttribute) { $0.start = start }
        type.contract = try Contract(JSONValue(parsing: text))
        return type
    }

    private static func state(_ text: String) throws -> JSONObject { try JSONValue(parsing: text).object ?? [:] }

    private static func content(_ scene: Scene, _ id: String) -> ContentRecord? {
        scene.store.rows.activityNumbers[.init(Sample.bundleID, Sample.activityID(id))]
            .flatMap { scene.store.rows.contents[$0] }
    }

    private static func stored(_ scene: Scene, _ id: String = "a") -> JSONValue? {
        content(scene, id).flatMap { try? JSONValue(parsing: $0.state.bytes) }
    }

    private static func attributes(_ scene: Scene, _ id: String = "a") -> JSONValue? {
        content(scene, id).flatMap { try? JSONValue(parsing: $0.attributes.bytes) }
    }

    private static func patch(_ scene: inout Scene, _ text: String) throws -> PatchActivity.Reply {
        var body = PatchActivity.Body()
        body.state = try state(text)
        return try scene.run(PatchActivity(app: scene.app, id: Sample.activityID("a"), body: body, now: scene.now))
    }

    private static func pointers(_ work: () throws -> some Any) -> [String] {
        do {
            _ = try work()
            return []
        } catch Refusal.contractViolation(let violation) {
            return violation.problems.map(\.pointer.description)
        } catch {
            return ["\(error)"]
        }
    }

    @Test func `a state that does not fit is refused, and nothing is kept`() throws {
        var scene = Scene(try Self.type())
        let bad = try Self.state(#"{"status": "burnt", "eta": "soon"}"#)
        #expect(Self.pointers { try scene.put { $0.state = bad } } == ["/status", "/eta"])
        #expect(Self.stored(scene) == nil)
    }

    @Test func `a date in another form is the same content`() throws {
        var scene = Scene(try Self.type())
        let first = try Self.state(#"{"status": "baking", "eta": "2026-03-01T12:00:00Z"}"#)
        #expect(try scene.put { $0.state = first }.changed)
        #expect(Self.stored(scene) == ["status": "baking", "eta": 794_059_200])
        for again in ["1772366400", "1772366400000", "794059200.0", #""2026-03-01T13:00:00+01:00""#] {
            let same = try Self.state(#"{"status": "baking", "eta": \#(again)}"#)
            #expect(try !scene.put { $0.state = same }.changed)
        }
        let other = try Self.state(#"{"status": "baking", "eta": null}"#)
        #expect(try scene.put { $0.state = other }.changed)
        #expect(Self.stored(scene) == ["status": "baking"])
    }

    @Test func `a patch is checked with what it is laid over, and leaves stored dates alone`() throws {
        var scene = Scene(try Self.type())
        let first = try Self.state(
            #"{"status": "baking", "leg": {"from": "2060-03-01T12:00:00Z", "to": "2060-03-01T12:00:00Z"}}"#)
        _ = try scene.put { $0.state = first }
        _ = try Self.patch(&scene, #"{"leg": {"to": 1772366400}}"#)
        #expect(
            Self.stored(scene) == ["status": "baking", "leg": ["from": 1_867_060_800, "to": 794_059_200]])
        #expect(Self.pointers { try Self.patch(&scene, #"{"status": null}"#) } == ["/status"])
        #expect(Self.pointers { try Self.patch(&scene, #"{"leg": {"from": "noon"}}"#) } == ["/leg/from"])
    }

    @Test func `the last state is checked too`() throws {
        var scene = Scene(try Self.type())
        _ = try scene.put { $0.state = ["status": "baking"] }
        #expect(Self.pointers { try scene.end("a", ["status": "gone"]) } == ["/status"])
        _ = try scene.end("a", try Self.state(#"{"status": "done", "eta": "2026-03-01T12:00:00Z"}"#))
        #expect(Self.stored(scene) == ["status": "done", "eta": 794_059_200])
    }

    @Test func `a phone that reports what it decoded holds what was sent`() throws {
        var scene = Scene(try Self.type())
        try scene.register()
        let state = try Self.state(
            #"{"status": "baking", "eta": "2026-03-01T12:00:00Z", "tags": ["b", "a", "b"], "note": "for nobody"}"#)
        _ = try scene.put(users: ["ann"]) { $0.state = state }
        try scene.report(token: "t1")
        let held = try Self.state(#"{"tags": ["b", "a"], "eta": 794059200, "status": "baking"}"#)
        try scene.report { $0.contentState = held }
        let card = try scene.card()
        #expect(card.shownRevision == 1)
        #expect(card.revisions.contradictions == 0)
    }

    private static let attributes = #"""
        {"type": "object", "required": ["number", "since"], "additionalProperties": false, "properties": {
          "number": {"type": "integer", "x-swift": "Int"}, "since": {"x-swift": "Date"}}}
        """#

    @Test func `attributes are checked, besides the server's tag`() throws {
        var scene = Scene(try Self.type(Self.attributes))
        let state = try Self.state(#"{"status": "baking"}"#)
        let good = try Self.state(#"{"number": 5.0, "since": "2026-03-01T12:00:00Z"}"#)
        #expect(
            Self.pointers { try scene.put { ($0.state, $0.attributes) = (state, ["number": "5"]) } } == [
                "/number", "/since",
            ])
        #expect(Self.pointers { try scene.put { $0.state = state } } == ["/number", "/since"])
        _ = try scene.put { ($0.state, $0.attributes) = (state, good) }
        #expect(
            Self.attributes(scene)
                == ["number": 5, "since": 794_059_200, "islet": ["activity": "a"]])
        let same = try Self.state(#"{"number": 5, "since": 794059200}"#)
        #expect(try !scene.put { ($0.state, $0.attributes) = (state, same) }.changed)
    }

    @Test func `where the app alone starts cards, absent attributes are its own business`() throws {
        var scene = Scene(try Self.type(Self.attributes, start: .appOnly))
        _ = try scene.put { $0.state = ["status": "baking"] }
        #expect(Self.attributes(scene) != nil)
    }

    @Test func `an id that the Swift type holds as an Int is filled in as one`() throws {
        var scene = Scene(try Self.type(Self.attributes, activityIDAttribute: "/number"))
        let state = try Self.state(#"{"status": "baking"}"#)
        let since = try Self.state(#"{"since": "2026-03-01T12:00:00Z"}"#)
        _ = try scene.put("12345") { ($0.state, $0.attributes) = (state, since) }
        #expect(Self.attributes(scene, "12345") == ["since": 794_059_200, "number": 12_345])
        #expect(throws: Refusal.activityIDConflict(pointer: "/number")) {
            try scene.put("order-5") { ($0.state, $0.attributes) = (state, since) }
        }
    }

    @Test func `a push that is too large says how large each field is`() throws {
        var scene = Scene()
        let large = JSONObject(dictionaryLiteral: ("a", .string(String(repeating: "x", count: 4_000))), ("b", 5))
        let error = #expect(throws: Refusal.self) {
            try scene.put { ($0.state, $0.attributes) = (large, ["shop": "Roma"]) }
        }
        guard case .payloadTooLarge(.tooLarge, let sizes)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(sizes.map(\.name) == ["a", "islet", "shop", "b"])
        #expect(sizes.map(\.bytes) == [4_006, 24, 13, 5])
        #expect(sizes.map(\.part) == [.contentState, .attributes, .attributes, .contentState])
    }
}
