import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAttributes
import LiveActivityClient
import Testing

/// Content that the client shows through iOS, and its requests to iOS.
@Suite(.timeLimit(.minutes(1)))
struct ShownTests {
    private static func started(_ app: App, _ client: IsletClient) async throws -> Activity<RideAttributes> {
        client.setForeground(true)
        try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
        let card = try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1), relevance: 0.7)
        try await app.server.wait { $0.contains { $0.body["state"]?.string == "active" } }
        return try #require(card)
    }

    @Test func `a card of the app's own asks iOS for a token, and has its place among the others`() async throws {
        let app = App()
        try await app.launch { client in
            let card = try await Self.started(app, client)
            #expect(card.pushType == .token && card.content.relevanceScore == 0.7)
            card.hand(token: App.token(1))
            try await app.server.wait { $0.contains { $0.body["token"]?.string == App.hex(1) } }
            for (step, relevance, shown) in [(2, nil, 0.7), (3, 0.2, 0.2)] as [(Int, Double?, Double)] {
                #expect(try await client.update(card, to: .init(step: step), relevance: relevance))
                try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == step }
                #expect(card.content.relevanceScore == shown)
            }
        }
    }

    @Test func `what the person opened the app by is counted across launches, until it is over`() async throws {
        let app = App()
        // The stand-in's own `Activity` may be used from anywhere.
        nonisolated(unsafe) var kept: Activity<RideAttributes>?
        try await app.launch { client in
            let card = try await Self.started(app, client)
            kept = card
            #expect(try await client.opened(card))
            try await app.server.wait { $0.flatMap(\.reports).contains { $0["opens"]?.int == 1 } }
        }
        nonisolated(unsafe) let card = try #require(kept)
        try await app.launch { client in
            #expect(try await client.opened(card))
            try await app.server.wait { $0.flatMap(\.reports).contains { $0["opens"]?.int == 2 } }
            #expect(try await client.end(card))
            #expect(try await !client.opened(card))
        }
    }

    @Test func `a launch may begin with what the person tapped`() async throws {
        let app = App()
        nonisolated(unsafe) let card = StandInPhone.$current.withValue(app.phone) {
            app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
        }
        app.phone.setListed([.active])
        try await app.launch { client in
            #expect(try await client.opened(card))
            try await app.server.wait(toHearOf: card.id)
        }
    }

    @Test func `a state of the server's comes with its place and its stale date`() async throws {
        let app = App()
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 9, revision: 9, ["relevance": 0.9, "staleAt": "2050-01-01T00:00:00Z"]))
            await client.handleBackgroundPush()
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 9 }
            #expect(card.content.relevanceScore == 0.9)
            #expect(card.content.staleDate == Date(timeIntervalSince1970: 2_524_608_000))
        }
    }

    /// A `Set` is encoded in a different order each time, and members that are never read are encoded all the same.
    @Test func `a state that says the same in other words is the server's, also after the next launch`() async throws {
        let app = App().with { $0.track = { $0.track(BadgeAttributes.self, as: "badges") } }
        let badges = (0..<12).map { "badge-\($0)" }
        app.server.want([
            "activity": "b1", "type": "badges", "revision": 3, "phase": "active",
            "state": ["badges": .array(badges.map(JSONValue.string))],
        ])
        // The stand-in's own `Activity` may be used from anywhere.
        nonisolated(unsafe) let card = StandInPhone.$current.withValue(app.phone) {
            app.phone.pushStart(BadgeAttributes(), .init(badges: Set(badges)))
        }
        for launch in 1...2 {
            try await app.launch { client in
                for _ in 0..<3 { await client.handleBackgroundPush() }
                guard launch == 2 else { return }
                #expect(try await client.update(card, to: .init(badges: ["new"])))
                try await app.server.wait { $0.contains { $0.body["basedOn"] == 3 } }
            }
            #expect(app.heard.all.count { $0.code == .stateApplied } == 1)
        }
    }

    @Test func `a card that the server would have is made as it says`() async throws {
        let app = App()
        app.server.want(
            wish("r9", step: 2, revision: 1, starts: true, ["relevance": 0.4, "staleAt": "2050-01-01T00:00:00Z"]))
        try await app.launch { client in
            client.setForeground(true)
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 2 }
            let card = try #require(Activity<RideAttributes>.activities.first)
            #expect(card.content.relevanceScore == 0.4 && card.pushType == .token)
            #expect(card.content.staleDate == Date(timeIntervalSince1970: 2_524_608_000))
        }
    }

    @Test(arguments: [true, false])
    func `an app that makes no cards for the server makes none`(startsCards: Bool) async throws {
        let app = App().with { $0.track = { $0.track(RideAttributes.self, as: "ride", startsActivities: startsCards) } }
        app.server.want(wish("r9", step: 2, revision: 1, starts: true))
        try await app.launch { client in
            client.setForeground(true)
            await client.handleBackgroundPush()
            #expect(app.phone.isEmpty(of: RideAttributes.self) == !startsCards)
        }
    }

    @Test(arguments: [true, false])
    func `what the app showed itself stays where it is the authority, else for a minute`(keeps: Bool) async throws {
        let clock = HandClock()
        let app = App().with {
            $0.clock = clock
            $0.track = { $0.track(RideAttributes.self, as: "ride", keepsOwnState: keeps) }
        }
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 5, revision: 5))
            await client.handleBackgroundPush()
            // A change that is based on an older state gives way to the server's at once.
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 5 }
            await client.handleBackgroundPush()
            #expect(try await client.update(card, to: .init(step: 6)))
            try await app.server.wait { $0.contains { $0.body["contentState"]?.object?["step"] == 6 } }
            await client.handleBackgroundPush()
            #expect(card.content.state.step == 6)
            clock.advance(61_000)
            await client.handleBackgroundPush()
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == (keeps ? 6 : 5) }
        }
    }

    @Test func `an end has its dismissal and the server's second`() async throws {
        let second = Date(timeIntervalSince1970: 1_893_456_000)
        let ends: [(JSONObject, ActivityUIDismissalPolicy)] = [
            (["dismissAt": "2030-01-01T00:30:00Z"], .after(second + 1_800)), ([:], .default),
            (["dismissAt": "2029-12-31T23:59:59Z"], .immediate),
        ]
        for (more, dismissal) in ends {
            let app = App()
            app.server.setDate(second)
            try await app.launch { client in
                let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
                try await app.server.wait(toHearOf: card.id)
                app.server.want(wish("r1", step: 6, revision: 6, phase: "ended", more))
                await client.handleBackgroundPush()
                try await app.heard.wait { $0.contains { $0.code == .endApplied } }
                #expect(card.dismissal == dismissal && card.endTimestamp == second)
                #expect(card.content.state.step == 6)
            }
        }
    }

    @Test func `an end that the card says late keeps its dismissal`() async throws {
        let app = App()
        app.phone.setEndsLate(true)
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 6, revision: 6, phase: "ended", ["dismissAt": "2050-01-01T00:00:00Z"]))
            await client.handleBackgroundPush()
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "ended" } }
            client.setForeground(true)
            await client.handleBackgroundPush()
            #expect(card.dismissal == .after(Date(timeIntervalSince1970: 2_524_608_000)))
            #expect(card.content.state.step == 6)
        }
    }

    @Test(arguments: [true, false], [nil, "bob"])
    func `a card that has ended leaves the lock screen with its person`(listsEnded: Bool, next: String?) async throws {
        let app = App()
        if !listsEnded { app.phone.setListed([.active]) }
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            app.server.want(wish("r1", step: 6, revision: 6, phase: "ended", ["dismissAt": "2050-01-01T00:00:00Z"]))
            await client.handleBackgroundPush()
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "ended" } }
            #expect(card.activityState == .ended)
            app.server.want()
            if let next { client.signIn(user: next) } else { client.signOut() }
            try await app.server.wait { said in
                said.last?.method == "DELETE" || said.contains { next != nil && $0.body["user"]?.string == next }
            }
            #expect(card.activityState == .dismissed && card.dismissal == .immediate)
            #expect(app.phone.isEmpty(of: RideAttributes.self))
        }
    }

    @Test(
        arguments: [
            (.immediate, .immediate), (.systemDefault, .default),
            (.after(Date(timeIntervalSince1970: 4_000_000_000)), .after(Date(timeIntervalSince1970: 4_000_000_000))),
        ] as [(IsletClient.Dismissal, ActivityUIDismissalPolicy)])
    func `the app's own end has its last state, and is at once, then, or as iOS likes`(
        dismissal: IsletClient.Dismissal, policy: ActivityUIDismissalPolicy
    ) async throws {
        let app = App()
        try await app.launch { client in
            let card = try await Self.started(app, client)
            #expect(try await client.end(card, with: .init(step: 8, note: "over"), dismissal: dismissal))
            try await app.server.wait { $0.contains { $0.body["state"]?.string == "ended" } }
            #expect(card.dismissal == policy)
            #expect(card.content.state == .init(step: 8, note: "over"))
            #expect(try await !client.update(card, to: .init(step: 9)), "it is over")
        }
    }

    @Test func `a card whose attributes say nothing is of the activity that it was made for`() async throws {
        let app = App().with { $0.track = { $0.track(PlainAttributes.self, as: "plain") } }
        app.server.want([
            "activity": "p1", "type": "plain", "state": ["level": 3], "revision": 1, "phase": "active",
            "attributes": ["name": "tank"],
        ])
        try await app.launch { client in
            client.setForeground(true)
            try await app.server.wait {
                $0.contains { $0.body["state"]?.string == "active" && $0.body["activity"]?.string == "p1" }
            }
            #expect(Activity<PlainAttributes>.activities.map(\.attributes.name) == ["tank"])
        }
    }

    @Test func `what iOS refuses is an event, and the next start is as good as the first`() async throws {
        let app = App()
        try await app.launch { client in
            client.setForeground(true)
            try await app.server.wait { $0.contains { $0.path.hasSuffix("/instances") } }
            app.phone.refuseRequests(with: .globalMaximumExceeded)
            let refusal = await #expect(throws: ActivityError.self) {
                _ = try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1))
            }
            guard case .refused(ActivityAuthorizationError.globalMaximumExceeded) = refusal else {
                throw Log<String>.Missing(description: "it said \(String(describing: refusal))")
            }
            try await app.heard.wait { $0.contains { $0.code == .activityNotStarted } }
            let event = try #require(app.heard.all.last { $0.code == .activityNotStarted })
            #expect(event.activity == "r1" && event.detail == "globalMaximumExceeded" && event.type == "ride")
            app.phone.refuseRequests(with: nil)
            _ = try #require(await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1)))
            try await app.phone.wait(for: RideAttributes.self) { $0.count == 1 }
        }
    }

    @Test func `a local update says what it is to say, once, and the next one nothing`() async throws {
        let app = App()
        try await app.launch { client in
            let card = try await Self.started(app, client)
            let alert = IsletClient.Alert(title: "Here", body: "Your ride waits", sound: "bell.caf")
            #expect(try await client.update(card, to: .init(step: 2), alert: alert))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 2 }
            #expect(card.alerted == .init(title: "Here", body: "Your ride waits", sound: .named("bell.caf")))
            card.forgetAlert()
            #expect(try await client.update(card, to: .init(step: 3)))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 3 }
            #expect(card.alerted == nil)
        }
    }

    @Test func `a transient card is asked for as one; without a word it stays`() async throws {
        let app = App()
        try await app.launch { client in
            client.setForeground(true)
            for (id, style) in [("r1", .transient), ("r2", .standard)] as [(String, IsletClient.Style)] {
                let card = try await client.start(RideAttributes(rideID: id), state: .init(step: 1), style: style)
                #expect(card?.style == (style == .transient ? .transient : .standard))
            }
        }
    }

    @Test func `a scheduled card is pending, reported so, not doubled, and begins with its alert`() async throws {
        let app = App()
        let date = Date(timeIntervalSince1970: 1_900_000_000)
        try await app.launch { client in
            client.setForeground(true)
            let card = try await client.start(
                RideAttributes(rideID: "r1"), state: .init(step: 1),
                schedule: .init(date: date, alert: .init(title: "Soon", body: "Your ride starts")))
            let scheduled = try #require(card)
            #expect(scheduled.activityState == .pending && scheduled.start == date)
            #expect(scheduled.alerted == .init(title: "Soon", body: "Your ride starts", sound: .default))
            try await app.server.wait { $0.contains { $0.body["state"] == "pending" } }
            let again = try await client.start(RideAttributes(rideID: "r1"), state: .init(step: 1))
            #expect(again?.id == scheduled.id)
            scheduled.become(.active)
            try await app.server.wait { $0.contains { $0.body["state"] == "active" } }
        }
    }

    @Test(arguments: [Double.nan, .infinity, -1])
    func `a date that no message can say is refused, and nothing is started at once`(seconds: Double) async throws {
        let app = App()
        try await app.launch { client in
            client.setForeground(true)
            let refusal = await #expect(throws: ActivityError.self) {
                _ = try await client.start(
                    RideAttributes(rideID: "r1"), state: .init(step: 1),
                    schedule: .init(date: Date(timeIntervalSince1970: seconds), alert: .init(title: "t", body: "b")))
            }
            #expect(refusal?.description.contains("the date is not within 1970 through 9999") == true)
            #expect(Activity<RideAttributes>.activities.isEmpty)
        }
    }

    @Test func `a type that nobody tracks is not started, and the error names it`() async throws {
        let app = App()
        try await app.launch { client in
            let refusal = await #expect(throws: ActivityError.self) {
                _ = try await client.start(PlainAttributes(name: "tank"), state: .init(level: 1))
            }
            let advice = "call track(PlainAttributes.self) before run()"
            #expect(refusal?.description == "PlainAttributes is not tracked: \(advice)")
            #expect(app.server.said.allSatisfy { $0.body["type"] != "PlainAttributes" })
        }
    }

    @Test func `the token of ordinary notifications is told, in digits`() async throws {
        let app = App()
        try await app.launch { client in
            client.setDeviceToken(App.token(0x0a))
            try await app.server.wait { $0.contains { $0.body["deviceToken"]?.string == App.hex(0x0a) } }
            client.setDeviceToken(Data())
            await client.handleBackgroundPush()
        }
        let told = app.server.said.filter { $0.body["user"] != nil }.drop { $0.body["deviceToken"] == nil }
        #expect(told.allSatisfy { $0.body["deviceToken"]?.string == App.hex(0x0a) }, "what is none changes nothing")
    }
}
