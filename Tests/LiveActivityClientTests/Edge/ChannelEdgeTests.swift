import ActivityKitStandIn
import JSONText
import LiveActivityAttributes
import LiveActivityClient
import Testing

/// Live Activities on broadcast channels: requests to iOS, and reports to the server.
@Suite(.timeLimit(.minutes(1)))
struct ChannelEdgeTests {
    @Test func `a card on a channel asks iOS for that, and is reported with it`() async throws {
        let app = App()
        try await app.launch { client in
            client.setForeground(true)
            let card = try #require(
                try await client.start(
                    RideAttributes(rideID: "r1"), state: .init(step: 1), channel: "dHN0LXNyY2gtY2hubA=="))
            #expect(card.pushType == .channel("dHN0LXNyY2gtY2hubA=="))
            try await app.server.wait { $0.contains { $0.body["channel"]?.string == "dHN0LXNyY2gtY2hubA==" } }
        }
    }

    /// Only the card's attributes name the channel on which a push started it.
    @Test func `attributes that name the channel say what a push started`() async throws {
        let app = App().with { $0.track = { $0.track(MatchAttributes.self, as: "match") } }
        try await app.launch { client in
            let card = app.phone.pushStart(
                MatchAttributes(match: "m1", liveActivityChannel: "dHN0LXNyY2gtY2hubA=="), .init(score: "0:0"))
            try await app.server.wait(toHearOf: card.id)
            let reports = app.server.said.flatMap(\.reports)
            #expect(reports.contains { $0["channel"]?.string == "dHN0LXNyY2gtY2hubA==" })
        }
    }

    @Test func `what is no channel is refused, and what the attributes say counts where the app says nothing`()
        async throws
    {
        let app = App().with { $0.track = { $0.track(MatchAttributes.self, as: "match") } }
        try await app.launch { client in
            client.setForeground(true)
            for text in ["", "no base64", String(repeating: "A", count: 260)] {
                await #expect(throws: ActivityError.self) {
                    try await client.start(
                        MatchAttributes(match: "m1"), state: .init(score: "0:0"), channel: text)
                }
            }
            for (match, channel) in [("m2", "dHN0LXNyY2gtY2hubA=="), ("m3", "no base64"), ("m4", "")] {
                let card = try await client.start(
                    MatchAttributes(match: match, liveActivityChannel: channel), state: .init(score: "0:0"))
                #expect(card?.pushType == (match == "m2" ? .channel(channel) : .token))
            }
        }
    }
}

private struct MatchAttributes: IdentifiedActivityAttributes {
    struct ContentState: Codable, Hashable {
        var score: String
    }

    var match: String
    var liveActivityChannel: String?

    var liveActivityID: String? { match }
}
