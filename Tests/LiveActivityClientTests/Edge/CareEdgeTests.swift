import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityClient
import Testing

/// Situations that an app is not notified of.
@Suite(.timeLimit(.minutes(1)))
struct CareEdgeTests {
    @Test func `a start token that changed without a word is found when the app comes to the screen`() async throws {
        let app = App()
        app.phone.setStartToken(App.token(1), for: RideAttributes.self)
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(1) } }
            app.phone.setStartToken(App.token(2), for: RideAttributes.self, announces: false)
            client.setForeground(true)
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(2) } }
        }
    }

    @Test func `a start token that changed without a word while a call waited is never said`() async throws {
        let clock = HandClock()
        let app = App().with { $0.clock = clock }
        app.phone.setStartToken(App.token(1), for: RideAttributes.self)
        app.server.setAway(true)
        try await app.launch { client in
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            app.phone.setStartToken(App.token(2), for: RideAttributes.self, announces: false)
            app.server.setAway(false)
            clock.advance(1_000)
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/push-to-start-tokens/ride") } }
            await client.handleBackgroundPush()
        }
        let tokens = app.server.said("/push-to-start-tokens/ride").map { $0.body["token"]?.string }
        #expect(tokens.allSatisfy { $0 == App.hex(2) })
    }

    @Test func `a card that goes before the app hears of the switch was not swiped away`() async throws {
        let app = App()
        try await app.launch { _ in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.phone.setActivitiesEnabled(false, announces: false)
            card.swipe()
            try await app.server.wait {
                $0.contains { ["gone", "dismissed"].contains($0.body["state"]?.string ?? "") }
            }
        }
        #expect(app.server.said.allSatisfy { $0.body["state"]?.string != "dismissed" })
    }

    @Test func `a memory out of another phone's backup is not this phone's`() async throws {
        let (one, other) = (App(), App())
        for app in [one, other] { try await app.launch { _ in try await app.server.wait { !$0.isEmpty } } }
        let restored = App(one, restoredFrom: other)
        let said = one.server.said.count
        try await restored.launch { _ in try await one.server.wait { $0.count > said } }
        let devices = Set((one.server.said + other.server.said).map { $0.path.split(separator: "/")[2] })
        #expect(devices.count == 3)
    }

    @Test func `the device has its id before the first call`() async throws {
        let app = App()
        try await app.launch(credentials: { _ in throw CancellationError() }) { _ in
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
        }
        let identity = app.identity.text
        try await app.launch { _ in try await app.server.wait { !$0.isEmpty } }
        let device = app.server.said.first?.path.split(separator: "/")[2]
        #expect(device.map { identity.contains($0) } == true)
    }
}
