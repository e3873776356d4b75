import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAPI
import Testing

@testable import LiveActivityClient

/// Conversions between Swift's forms and JSON's in the client.
@Suite(.timeLimit(.minutes(1)))
struct FormTests {
    @Test func `the first call says which phone it is`() async throws {
        let app = App()
        try await app.launch { _ in try await app.server.wait { !$0.isEmpty } }
        let body = try #require(app.server.said.first).body
        #expect(body["platform"] == "ios" && body["environment"] == "sandbox" && body["user"] == "ann")
        #expect(body["timeZone"]?.string == TimeZone.current.identifier)
        let version = ProcessInfo.processInfo.operatingSystemVersion
        #expect(body["osVersion"]?.string == "\(version.majorVersion).\(version.minorVersion)")
        let locale = try #require(body["locale"]?.string)
        #expect(!locale.contains("_") && !locale.contains("@"))
        #expect(body["activitiesEnabled"] == true && body["frequentPushesEnabled"]?.bool != nil)
    }

    @Test func `which app it is stands in its Info.plist, and the configuration may say whose tokens they are`()
        async throws
    {
        let facts = DevicePhone(
            environment: .sandbox, app: ["CFBundleShortVersionString": "2.1", "CFBundleVersion": "119"]
        ).facts()
        #expect(facts.appVersion == "2.1" && facts.build == "119" && facts.environment == .sandbox)
        let bare = DevicePhone(environment: nil, app: nil).facts()
        #expect(bare.appVersion == nil && bare.build == nil && bare.environment == .production)
        let app = App().with { $0.environment = .production }
        try await app.launch { _ in try await app.server.wait { !$0.isEmpty } }
        #expect(app.server.said.first?.body["environment"] == "production")
    }

    @Test func `the app's stale dates are the card's`() async throws {
        let app = App()
        let dates = [1_800_000_000, 1_800_000_900].map { Date(timeIntervalSince1970: $0) }
        try await app.launch { client in
            client.setForeground(true)
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1), staleDate: dates[0])
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.staleDate == dates[0] }
            let card = try #require(Activity<RideAttributes>.activities.first)
            #expect(try await client.update(card, to: .init(step: 2), staleDate: dates[1]))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.staleDate == dates[1] }
        }
    }

    @Test func `a card that is to leave later stays on the lock screen until then`() async throws {
        let app = App()
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want([
                "activity": "r1", "type": "ride", "state": ["step": 6], "revision": 6, "phase": "ended",
                "dismissAt": "2050-01-01T00:00:00Z",
            ])
            await client.handleBackgroundPush()
            #expect(card.activityState == .ended && card.content.state.step == 6)
        }
    }

    @Test func `a state that this build cannot read leaves the card as it is`() async throws {
        let app = App()
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want([
                "activity": "r1", "type": "ride", "state": ["step": "five"], "revision": 6, "phase": "active",
            ])
            await client.handleBackgroundPush()
            await client.handleBackgroundPush()
            #expect(card.activityState == .active && card.content.state.step == 1)
        }
        #expect(app.server.said.allSatisfy { $0.body["state"]?.string != "gone" })
    }
}
