import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

@testable import LiveActivityClient

/// An app without a person, without the features of iOS 16.2, and without an answer.
@Suite(.timeLimit(.minutes(1)))
struct WithoutTests {
    private static func isRefused(_ client: IsletClient) async throws {
        let refusal = await #expect(throws: ActivityError.self) {
            try await client.start(RideAttributes(rideID: "r2"), state: .init(step: 1))
        }
        guard case .nobodySignedIn = refusal else {
            Issue.record("it said \(String(describing: refusal))")
            return
        }
    }

    @Test func `where nobody is signed in no card is made, and those that are there stay until somebody says so`()
        async throws
    {
        let app = App()
        // The stand-in's own `Activity` may be used from anywhere.
        nonisolated(unsafe) let there = app.phone.pushStart(
            RideAttributes(rideID: "r1"), .init(step: 1), token: App.token(5))
        try await app.launch(user: nil) { client in
            client.setForeground(true)
            // Calls made before the memory was read take effect together with it.
            try await Self.isRefused(client)
            try await app.heard.wait {
                $0.contains { $0.code == .activityNotStarted && $0.detail == "nobody-signed-in" }
            }
            #expect(Activity<RideAttributes>.activities.map(\.id) == [there.id])
            try await Self.isRefused(client)
            client.signIn(user: "ann")
            try await app.server.wait { $0.contains { "\($0.body)".contains(App.hex(5)) } }
            #expect(there.activityState == .active)
            _ = try #require(await client.start(RideAttributes(rideID: "r2"), state: .init(step: 1)))
            try await app.phone.wait(for: RideAttributes.self) { $0.count == 2 }
        }
    }

    @Test func `on iOS 16.1 a card is started, followed, changed and ended all the same`() async throws {
        let phone = StandInPhone()
        try await StandInPhone.$current.withValue(phone) {
            let port = ActivityPort<RideAttributes>(type: "ride", rules: .init(), isFirstSystem: true)
            let order = CardOrder(type: "ride", activity: "r1", attributes: ["rideID": "r1"], content: ["step": 1])
            let made = try port.start(order)
            #expect(made.content == ["step": 1] && made.activity == "r1" && made.state == .active)
            var later = order
            later.schedule = .init(
                at: try #require(Instant(milliseconds: 1_900_000_000_000)), alert: .init(title: "t", body: "b"))
            let refusal = #expect(throws: CardRefusal.self) { try port.start(later) }
            let cause = "\(refusal?.cause as Any)"
            #expect(cause.contains("needs iOS 26"))
            let updated = await port.update(made.localID, content: ["step": 2], .init(), timestamp: 7)
            #expect(updated?.content == ["step": 2])
            let card = try #require(Activity<RideAttributes>.activities.first)
            #expect(card.pushType == .token && card.timestamp == nil)
            let heard = Log<JSONObject?>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await port.observe { if case .card(let card) = $0 { heard.add(card.content) } }
                }
                try await heard.wait { $0.contains(["step": 2]) }
                // Two of the card's sequences report first. The third, which carries its content, starts last.
                try await heard.wait { $0.count >= 3 }
                card.push(.init(step: 3))
                try await heard.wait { $0.contains(["step": 3]) }
                group.cancelAll()
            }
            let ended = await port.end(made.localID, content: ["step": 4], .immediate, timestamp: 9)
            #expect(ended?.state.isRunning == false && card.content.state.step == 4)
            #expect(card.dismissal == .immediate && card.endTimestamp == nil)
        }
    }

    @Test func `a closure that does not return keeps the client waiting for half a minute, and no longer`() async throws
    {
        let clock = HandClock()
        let app = App().with { ($0.clock, $0.device) = (clock, HandPhone()) }
        let asked = Log<String?>()
        try await app.launch { refused in
            let isFirst = asked.all.isEmpty
            asked.add(refused)
            if isFirst { for await _ in AsyncStream<Void>.makeStream().stream {} }
            return "secret"
        } _: { _ in
            try await asked.wait { $0.count == 1 }
            try await clock.deadlines.wait { $0.contains(30_000) }
            clock.advance(30_000)
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            clock.advance(1_000)
            try await asked.wait { $0.count == 2 }
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
        }
    }
}
