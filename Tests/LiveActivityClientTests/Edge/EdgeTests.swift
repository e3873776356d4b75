import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityClient
import Testing

/// The client as an app links it, on a phone that stands in for iOS.
@Suite(.timeLimit(.minutes(1)))
struct EdgeTests {
    @Test func `N6: a push starts the card, its token reaches the server when iOS hands it out`() async throws {
        let app = App()
        app.phone.setStartToken(App.token(1), for: RideAttributes.self, announces: false)
        try await app.launch { _ in
            // The sequence was silent, so the property was read.
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/push-to-start-tokens/ride") } }
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances/\(card.id)") } }
            card.hand(token: App.token(2))
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(2) } }
            card.hand(token: App.token(3))
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(3) } }
            let report = try #require(app.server.said.last)
            #expect(report.body["activity"]?.string == "r1")
            #expect(report.body["attributes"]?.object == ["rideID": "r1"])
            #expect(report.body["contentState"]?.object == ["step": 1])
            card.swipe()
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "dismissed" } }
        }
        #expect(app.server.said.allSatisfy { $0.credential == "secret" })
    }

    @Test func `P6: a kill in the middle costs nothing, and the device keeps its id`() async throws {
        let app = App()
        app.server.setAway(true)
        app.phone.setStartToken(App.token(1), for: RideAttributes.self)
        try await app.launch { _ in
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
        }
        app.server.setAway(false)
        app.phone.setStartToken(nil, for: RideAttributes.self)
        try await app.launch { _ in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/push-to-start-tokens/ride") } }
        }
        app.phone.setStartToken(App.token(1), for: RideAttributes.self, announces: false)
        try await app.launch { _ in
            try await app.server.wait { $0.filter { $0.path.hasSuffix("/push-to-start-tokens/ride") }.count == 2 }
        }
        #expect(Set(app.server.said.map { $0.path.split(separator: "/")[2] }).count == 1)
        #expect(app.server.said.first?.body["token"] == nil, "first who it is, then the token")
    }

    @Test func `a reinstalled app is another device`() async throws {
        let app = App()
        try await app.launch { _ in try await app.server.wait { !$0.isEmpty } }
        // The Keychain outlives the app. The file does not.
        let again = App(like: app)
        try await again.launch { _ in
            try await again.server.wait { Set($0.map { $0.path.split(separator: "/")[2] }).count == 2 }
        }
    }

    @Test func `before the first unlock the client waits, and says then what it was told`() async throws {
        let app = App()
        try await app.launch { _ in try await app.server.wait { !$0.isEmpty } }
        let device = try #require(app.server.said.first?.path)
        app.memory.setLocked(true)
        let said = app.server.said.count
        try await app.launch(user: "bob") { _ in
            #expect(app.server.said.count == said)
            app.memory.setLocked(false)
            try await app.server.wait { $0.contains { $0.body["user"]?.string == "bob" } }
        }
        #expect(app.server.said.last { $0.body["user"] != nil }?.path == device)
    }

    @Test func `F7: with the server away the app starts, updates and ends its card itself`() async throws {
        let app = App()
        app.server.setAway(true)
        try await app.launch { client in
            client.setForeground(true)
            try await app.heard.wait { $0.contains { $0.code == .serverUnreachable } }
            _ = try #require(await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1)))
            try await app.heard.wait { $0.contains { $0.code == .activityStarted } }
            let card = try #require(Activity<RideAttributes>.activities.first)
            #expect(try await client.update(card, to: .init(step: 2, note: "by hand")))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 2 }
            #expect(try await client.end(card, with: .init(step: 3), dismissal: .immediate))
            try await app.phone.wait(for: RideAttributes.self, until: \.isEmpty)
        }
    }

    @Test func `N7: the app's own card is announced, reported, and never doubled`() async throws {
        let app = App()
        try await app.launch { client in
            client.setForeground(true)
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let card = try #require(await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1)))
            let again = try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1))
            #expect(again?.id == card.id, "the one that is there")
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "active" } }
            let states = app.server.said.compactMap { $0.body["state"]?.string }
            #expect(states.first == "requesting")
            let pushed = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.phone.wait(for: RideAttributes.self) { $0.count == 1 }
            #expect(pushed.activityState == .dismissed)
            try await app.server.wait {
                $0.contains { $0.path.hasSuffix(pushed.id) && $0.body["state"]?.string == "duplicate" }
            }
        }
    }

    @Test func `what an answer wants shown is shown, with the server's seconds, and ended when it is over`()
        async throws
    {
        let app = App()
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 5, revision: 5))
            client.setForeground(true)
            try await app.server.wait { $0.contains { "\($0.body)".contains(#""step":5"#) } }
            #expect(card.content.state.step == 5)
            #expect(abs(card.timestamp?.timeIntervalSinceNow ?? 99) < 5)
            app.server.want(wish("r1", step: 6, revision: 6, phase: "ended"))
            await client.handleBackgroundPush()
            #expect(card.activityState == .ended && card.content.state.step == 6)
        }
    }

    @Test func `what iOS did not take is not said to be held`() async throws {
        let app = App()
        try await app.launch { client in
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.phone.setTakesUpdates(false)
            app.server.want(wish("r1", step: 5, revision: 5))
            client.setForeground(true)
            try await app.heard.wait { $0.contains { $0.code == .stateApplied } }
            let said = app.server.said.count
            try await app.server.wait { $0.count > said && $0.last?.path.hasSuffix(card.id) == true }
            #expect(app.server.said.allSatisfy { !"\($0.body)".contains(#""step":5"#) })
            app.phone.setTakesUpdates(true)
            await client.handleBackgroundPush()
            #expect(card.content.state.step == 5)
            try await app.server.wait { $0.contains { "\($0.body)".contains(#""step":5"#) } }
        }
    }

    @Test func `N8: below 17.2 an app on the screen makes the card that the server would have`() async throws {
        let app = App()
        app.server.want(wish("r9", step: 2, revision: 1, starts: true))
        try await app.launch { client in
            client.setForeground(true)
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.attributes.rideID == "r9" }
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "active" } }
            #expect(Activity<RideAttributes>.activities.count == 1)
        }
    }

    @Test func `signing out takes the cards away first, and says so with the credential of the person who left`()
        async throws
    {
        let app = App()
        app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1), token: App.token(5))
        try await app.launch { client in
            try await app.server.wait { $0.contains { "\($0.body)".contains(App.hex(5)) } }
            client.signOut()
            try await app.server.wait { $0.last?.method == "DELETE" }
            #expect(StandInPhone.current.isEmpty(of: RideAttributes.self))
        }
        #expect(app.server.said.last?.credential == "secret")
    }

    @Test func `a refused credential is asked for anew, with what was refused`() async throws {
        let app = App()
        app.server.refuse("old")
        try await app.launch(credentials: { $0 == nil ? "old" : "new" }) { _ in
            try await app.server.wait { !$0.isEmpty }
        }
        #expect(app.server.said.allSatisfy { $0.credential == "new" })
    }

    @Test func `W5 and P5: a turned switch is reported, and what it took was not swiped away`() async throws {
        let app = App()
        app.phone.setStartToken(App.token(1), for: RideAttributes.self)
        try await app.launch { _ in
            try await app.server.wait { $0.contains { $0.path.contains("push-to-start") } }
            app.phone.setFrequentPushes(true)
            try await app.server.wait { $0.contains { $0.body["frequentPushesEnabled"]?.bool == true } }
            app.phone.setActivitiesEnabled(false)
            try await app.server.wait { $0.contains { $0.body["activitiesEnabled"]?.bool == false } }
            let said = app.server.said.count
            app.phone.setStartToken(App.token(2), for: RideAttributes.self)
            app.phone.setActivitiesEnabled(true)
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(2) } }
            let allowed = try #require(
                app.server.said.dropFirst(said).firstIndex { $0.body["activitiesEnabled"]?.bool == true })
            let token = try #require(app.server.said.firstIndex { $0.body["token"]?.string == App.hex(2) })
            #expect(allowed < token)
        }
    }

    @Test func `P9: events show a token's way and never the token`() async throws {
        let app = App()
        try await app.launch { client in
            let events = client.events
            app.phone.setStartToken(Data(repeating: 0xab, count: 32), for: RideAttributes.self)
            client.setForeground(true)
            var way: [ClientEvent] = []
            for await event in events where event.detail?.hasPrefix("push-to-start") == true {
                way.append(event)
                if event.code == .tokenConfirmed { break }
            }
            #expect(way.map(\.code) == [.tokenObtained, .tokenSent, .tokenConfirmed])
            #expect(way.allSatisfy { $0.detail == "push-to-start abababab…" })
            #expect(!"\(way)".contains("ababababab"))
        }
    }
}

extension StandInPhone {
    func isEmpty<Attributes: ActivityAttributes>(of type: Attributes.Type) -> Bool {
        Activity<Attributes>.activities.isEmpty
    }
}
