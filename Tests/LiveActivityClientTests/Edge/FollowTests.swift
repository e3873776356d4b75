import ActivityKitStandIn
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

@testable import LiveActivityClient

/// Changes in ActivityKit, including those of a moment before. None is missed.
@Suite(.timeLimit(.minutes(1)))
struct FollowTests {
    private func following(
        _ phone: StandInPhone, _ body: (Log<CardNews>) async throws -> Void
    ) async throws {
        try await StandInPhone.$current.withValue(phone) {
            let news = Log<CardNews>()
            let port = ActivityPort<RideAttributes>(type: "ride", rules: .init())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await port.observe { news.add($0) } }
                try await body(news)
                group.cancelAll()
            }
        }
    }

    private static func cards(_ news: [CardNews]) -> [SeenCard] {
        news.compactMap { if case .card(let card) = $0 { card } else { nil } }
    }

    private static func tokens(_ news: [CardNews]) -> [String] {
        news.compactMap { if case .startToken(let token) = $0 { token.text } else { nil } }
    }

    @Test(arguments: [true, false])
    func `a card is followed in all it does, also one that was there before the launch`(isOld: Bool) async throws {
        let phone = StandInPhone()
        let old = isOld ? phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1)) : nil
        let feeds = Log<StandInPhone.Feed>()
        phone.beforeListening { feeds.add($0) }
        try await following(phone) { news in
            try await feeds.wait { $0.contains(.cards) }
            // A card that starts now is in the sequence or in the list as well.
            let card = old ?? phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            // Each new listener on one of the card's sequences reads the card once more, and there are three.
            try await news.wait { Self.cards($0).count >= 3 }
            card.hand(token: App.token(1))
            try await news.wait { Self.cards($0).last?.token?.text == App.hex(1) }
            card.push(.init(step: 2))
            try await news.wait { Self.cards($0).last?.content == ["step": 2] }
            for (state, seen) in [
                (.stale, .stale), (.active, .active), (.pending, .pending), (.ended, .ended),
            ] as [(ActivityState, InstanceRequest.State)] {
                card.become(state)
                try await news.wait { Self.cards($0).last?.state == seen }
            }
            card.swipe()
            try await news.wait { Self.cards($0).last?.state == .dismissed }
            #expect(Self.cards(news.all).allSatisfy { $0.localID == card.id && $0.activity == "r1" })
            #expect(Self.cards(news.all).last?.token?.text == App.hex(1))
        }
    }

    @Test func `a state counts as soon as the sequence says it, and a card before it is listed`() async throws {
        let phone = StandInPhone()
        let feeds = Log<StandInPhone.Feed>()
        phone.beforeListening { feeds.add($0) }
        try await following(phone) { news in
            try await feeds.wait { $0.contains(.cards) }
            let card = phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await feeds.wait { $0.contains(.states(card.id)) }
            card.announce(.ended)
            try await news.wait { Self.cards($0).contains { $0.state == .ended } }
            #expect(card.activityState == .active)
            phone.setListed([])
            let second = phone.pushStart(RideAttributes(rideID: "r2"), .init(step: 1))
            try await news.wait { Self.cards($0).contains { $0.localID == second.id } }
        }
    }

    /// ActivityKit does not repeat its earlier values for a late listener.
    @Test(arguments: 0..<3) func `what changes just before somebody listens is not missed`(kind: Int) async throws {
        for _ in 0..<20 {
            let phone = StandInPhone()
            // The stand-in's own `Activity` may be used from anywhere.
            nonisolated(unsafe) let card = phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            let feeds: [StandInPhone.Feed] = [.tokens(card.id), .states(card.id), .contents(card.id)]
            phone.beforeListening { feed in
                guard feed == feeds[kind] else { return }
                switch kind {
                case 0: card.hand(token: App.token(7), announces: false)
                case 1: card.become(.stale, announces: false)
                default: card.push(.init(step: 7), announces: false)
                }
            }
            try await following(phone) { news in
                try await news.wait { news in
                    Self.cards(news).contains { card in
                        [card.token?.text == App.hex(7), card.state == .stale, card.content == ["step": 7]][kind]
                    }
                }
            }
        }
    }

    @Test func `a card and a start token that come just before somebody listens are not missed`() async throws {
        let phone = StandInPhone()
        phone.beforeListening { feed in
            switch feed {
            case .cards: phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            case .startTokens: phone.setStartToken(App.token(3), for: RideAttributes.self)
            default: break
            }
        }
        try await following(phone) { news in
            try await news.wait { Self.cards($0).contains { $0.activity == "r1" } }
            try await news.wait { Self.tokens($0).contains(App.hex(3)) }
            phone.setStartToken(App.token(4), for: RideAttributes.self)
            try await news.wait { Self.tokens($0).last == App.hex(4) }
        }
    }

    @Test func `a switch that is turned just before somebody listens is looked at`() async throws {
        try await StandInPhone.$current.withValue(StandInPhone()) {
            let phone = StandInPhone.current
            let (device, facts) = (DevicePhone(environment: .sandbox), Log<DeviceRequest>())
            phone.beforeListening { feed in
                if feed == .enablement { phone.setActivitiesEnabled(false) }
                if feed == .frequency { phone.setFrequentPushes(true) }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await device.observe { _ in facts.add(device.facts()) } }
                try await facts.wait { $0.contains { $0.activitiesEnabled == false } }
                try await facts.wait { $0.contains { $0.frequentPushesEnabled == true } }
                // Each of the two sequences reads the facts by itself.
                try await facts.wait { $0.count >= 2 }
                group.cancelAll()
            }
        }
    }

    @Test func `cards of two types, and their tokens, are told apart`() async throws {
        let app = App().with {
            $0.track = { client in
                client.track(RideAttributes.self, as: "ride")
                client.track(PlainAttributes.self)
            }
        }
        try await app.launch { client in
            app.phone.setStartToken(App.token(1), for: RideAttributes.self)
            app.phone.setStartToken(App.token(2), for: PlainAttributes.self)
            try await app.server.wait { said in
                [("ride", 1), ("PlainAttributes", 2)].allSatisfy { type, number in
                    said.contains {
                        $0.path.hasSuffix("/push-to-start-tokens/\(type)")
                            && $0.body["token"]?.string == App.hex(UInt8(number))
                    }
                }
            }
            let ride = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            let plain = app.phone.pushStart(PlainAttributes(name: "p"), .init(level: 1))
            try await app.server.wait { said in
                [(ride.id, "ride"), (plain.id, "PlainAttributes")].allSatisfy { id, type in
                    said.contains { $0.path.hasSuffix(id) && $0.body["type"]?.string == type }
                }
            }
            // Whichever type is asked first, the other type's card is not gone.
            #expect(try await client.update(ride, to: .init(step: 2)))
            #expect(try await client.update(plain, to: .init(level: 2)))
            try await app.phone.wait(for: RideAttributes.self) { $0.first?.content.state.step == 2 }
            try await app.phone.wait(for: PlainAttributes.self) { $0.first?.content.state.level == 2 }
            await client.handleBackgroundPush()
        }
        #expect(app.heard.all.allSatisfy { $0.code != .activityGone })
    }

    @Test func `a card that vanished without a word is found gone when it is to be changed`() async throws {
        let app = App()
        try await app.launch { client in
            let cards = ["r1", "r2"].map { app.phone.pushStart(RideAttributes(rideID: $0), .init(step: 1)) }
            for card in cards { try await app.server.wait(toHearOf: card.id) }
            for card in cards { card.vanish() }
            #expect(try await client.update(cards[0], to: .init(step: 2)))
            #expect(try await client.end(cards[1]))
            try await app.heard.wait { $0.contains { $0.code == .activityGone && $0.localID == cards[0].id } }
            try await app.server.wait { said in
                said.contains { $0.path.hasSuffix(cards[0].id) && $0.body["state"] == "gone" }
                    && said.contains { $0.path.hasSuffix(cards[1].id) && $0.body["state"] == "ended" }
            }
        }
    }

    @Test func `a card that says late that it is over holds up no sign-out`() async throws {
        let app = App().with { $0.clock = HandClock() }
        app.phone.setEndsLate(true)
        try await app.launch { client in
            let card = app.phone.pushStart(RideAttributes(rideID: "r1"), .init(step: 1))
            try await app.server.wait(toHearOf: card.id)
            client.signOut()
            // The clock does not move.
            try await app.server.wait { $0.last?.method == "DELETE" }
            #expect(card.dismissal == .immediate)
        }
    }
}
