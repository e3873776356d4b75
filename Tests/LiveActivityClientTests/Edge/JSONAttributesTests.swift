import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAttributes
import Testing

@testable import LiveActivityClient

/// Attributes and states of any form.
@Suite(.timeLimit(.minutes(1)))
struct JSONAttributesTests {
    private static let document: [String: JSONElement] = [
        "status": "on its way", "progress": 0.25, "count": 3, "isLate": false, "driver": ["name": "Ann", "car": nil],
        "stops": [1, "two", [true]],
    ]

    @Test func `a document is written and read as it is, the server's tag beside it`() throws {
        let attributes = JSONAttributes(Self.document, activity: "r1")
        let text = try JSONEncoder().encode(attributes)
        let written = try #require(try JSONValue(parsing: Array(text)).object)
        #expect(written["islet"]?.object?["activity"] == "r1" && written["driver"]?.object?["car"] == .null)
        #expect(written["progress"] == 0.25 && written["count"] == 3 && written["isLate"] == false)
        let read = try JSONDecoder().decode(JSONAttributes.self, from: text)
        #expect(read == attributes && read.liveActivityID == "r1" && read["status"]?.string == "on its way")
        let bare = try JSONDecoder().decode(JSONAttributes.self, from: Data("{}".utf8))
        #expect(bare.liveActivityID == nil && bare.members.isEmpty)
    }

    @Test(arguments: ["[]", "1", "null", #""x""#])
    func `a state is an object`(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(JSONAttributes.ContentState.self, from: Data(text.utf8))
        }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONAttributes.self, from: Data(text.utf8)) }
    }

    @Test func `a card of them is started, reported and brought to what the server wants`() async throws {
        let app = App().with { $0.track = { $0.track(JSONAttributes.self, as: "ride") } }
        try await app.launch { client in
            client.setForeground(true)
            let card = try await client.start(
                JSONAttributes(["from": "Roma"], activity: "r1"), state: .init(Self.document))
            let started = try #require(card)
            try await app.server.wait { $0.contains { $0.body["contentState"]?.object?["status"] == "on its way" } }
            app.server.want(wish("r1", step: 5, revision: 5))
            await client.handleBackgroundPush()
            #expect(started.content.state["step"] == 5 && started.content.state.members.count == 1)
        }
    }
}
