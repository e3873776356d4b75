import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

/// Memory that one version of the app wrote and another one reads.
struct KeptMemoryTests {
    /// Memory as the first version wrote it, with one card, one that is over, and all tokens.
    private static let golden = #"""
        {"device":"phone/1","user":"ann","isLeaving":false,"isUnproven":false,
         "facts":{"user":"","osVersion":"18.1","activitiesEnabled":true,"frequentPushesEnabled":true},
         "confirmed":{"user":"ann","osVersion":"18.1","activitiesEnabled":true,"frequentPushesEnabled":true},
         "startTokens":{"order":"\#(PhoneBench.token(5).text)"},
         "confirmedStartTokens":{"order":"\#(PhoneBench.token(5).text)"},"deadTokens":[],
         "cards":{"c":{"type":"order","activity":"a","attributes":{"id":"a"},"content":{"step":1},
          "token":"\#(PhoneBench.token(1).text)","state":"active","isOwn":true,"number":1,"seenAt":1795271520000,
          "revision":3,"ahead":{"basedOn":3,"at":1795271520000},"changes":[],"version":4,"confirmedVersion":4}},
         "over":["x"],"sequence":7,"owesInventory":false,"counter":3}
        """#

    private static func read(_ text: String) throws -> RegistrationMemory? {
        RegistrationMemory(kept: try JSONValue(parsing: text))
    }

    @Test func `the first version's memory is read`() throws {
        var bench = PhoneBench()
        bench.disk = try #require(try Self.read(Self.golden))
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 1), PhoneBench.card("x")], user: nil)
        bench.settle()
        #expect(bench.sent.first?.path == "/v1/devices/phone%2F1")
        #expect(PhoneBench.body(bench.sent.first)["user"]?.string == "ann")
        let inventory = PhoneBench.body(bench.sent.first { $0.path.hasSuffix("/instances") })
        #expect(inventory["sequence"] == 8 && inventory["instances"]?.array?.count == 1)
        #expect(bench.ended == ["x"], "it was over")
        #expect(!bench.notes.contains { $0.code == .activitySeen }, "it is known")
    }

    @Test func `members that are missing, or that another version writes otherwise, cost themselves alone`() throws {
        let changes: [(String, String, String)] = [
            ("a later version's member", #""counter":3"#, #""counter":3,"later":{"a":1}"#),
            ("one that an earlier version had not", #""isUnproven":false,"#, ""),
            ("one that a card had not", #""isOwn":true,"#, ""),
            ("one of another form", #""over":["x"]"#, #""over":{"x":1}"#),
            ("one of a card's of another form", #""ahead":{"basedOn":3,"at":1795271520000}"#, #""ahead":7"#),
            (
                "a switch of another form", #""activitiesEnabled":true,"frequentPushesEnabled":true},"confirmed""#,
                #""activitiesEnabled":"yes"},"confirmed""#
            ),
        ]
        let compact = Self.golden.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
        for (what, old, new) in changes {
            #expect(compact.contains(old), "\(what)")
            let memory = try #require(try Self.read(compact.replacing(old, with: new)), "\(what)")
            #expect(memory.user == "ann" && memory.device == "phone/1", "\(what)")
            var bench = PhoneBench()
            bench.disk = memory
            bench.kill()
            bench.launch(cards: [PhoneBench.card("c", token: 1)], user: nil)
            #expect(bench.cardActions.isEmpty && !bench.notes.contains { $0.code == .activitySeen }, "\(what)")
        }
    }

    @Test func `a card that nobody can read is met again, and the others stay known`() throws {
        let broken = Self.golden.replacing(#""cards":{"#, with: #""cards":{"broken":{"type":7},"#)
        var bench = PhoneBench()
        bench.disk = try #require(try Self.read(broken))
        bench.kill()
        bench.launch(cards: [PhoneBench.card("c", token: 1), PhoneBench.card("broken", "z")], user: nil)
        #expect(bench.notes.filter { $0.code == .activitySeen }.map(\.localID) == ["broken"])
    }

    @Test func `what says nothing of a device is no memory`() throws {
        for text in ["{}", "[]", #"{"device":7}"#, #""phone""#] { #expect(try Self.read(text) == nil) }
    }

    @Test func `what is written is read as it was`() throws {
        var bench = PhoneBench.ready(cards: [PhoneBench.card("c", token: 1)])
        bench.settle(PhoneBench.wish(step: 1, revision: 1, startedAt: "2026-11-21T14:00:00Z"), date: 1_795_271_520)
        _ = bench.run { $0.update("c", content: ["step": 2], $1) }
        #expect(RegistrationMemory(kept: try JSONValue(encoding: bench.disk)) == bench.disk)
    }
}
