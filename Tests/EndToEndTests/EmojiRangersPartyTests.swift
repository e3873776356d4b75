import APNSModel
import APNSSimulator
import BackendCalls
import EmojiRangers
import JSONText
import LiveActivityAPI
import Testing

@testable import islet

/// Emoji Rangers: adventures that end, go stale, are ordered, shared and explained (W7 to W11).
@Suite(.serialized) struct EmojiRangersPartyTests {
    private static let panda = Hero(player: "alice", name: "Power Panda", avatar: "🐼")
    private static let egg = Hero(player: "bob", name: "Eggsquisite", avatar: "🥚")
    private static let whale = Hero(player: "carol", name: "Spouty", avatar: "🐳")

    private func run(_ body: @escaping @Sendable (Stack, Guild) async throws -> Void) async throws {
        try await Stack.run(try Stack.Options(EmojiRangersPlay.app)) { stack in
            try await body(stack, Guild(islet: stack.address, key: stack.key))
        }
    }

    @Test func `W7: an end has a last state and a dismissal date, or neither`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            #expect(try await guild.begin(cave).isTaken)
            try await EmojiRangersCheck.live(cave, stack, on: [phone])
            _ = try await guild.end(&cave, saying: "The boss is defeated!", .after("30m"))
            let ended = try await EmojiRangersCheck.shows(cave, on: phone, stack, .ended).cards[0]
            #expect(ended.contentState["eventDescription"] == "The boss is defeated!")
            // The time counts from the server's end and is read on the phone's clock, so it may be seconds off.
            let left = try #require(ended.dismissesAt) - stack.simulator.now
            #expect(left > .seconds(29 * 60) && left <= .seconds(30 * 60))

            var lake = Adventure(id: "2", place: "lake", party: [Self.egg])
            let other = try await stack.phone("bob")
            #expect(try await guild.begin(lake).isTaken)
            try await EmojiRangersCheck.live(lake, stack, on: [other])
            _ = try await guild.end(&lake)
            let kept = try await EmojiRangersCheck.shows(lake, on: other, stack, .ended).cards[0]
            // Without a date iOS decides: up to four hours.
            let stays = try #require(kept.dismissesAt) - stack.simulator.now
            #expect(stays > .seconds(4 * 3600 - 60) && stays <= .seconds(4 * 3600))

            var pond = Adventure(id: "3", place: "pond", party: [Self.whale])
            let third = try await stack.phone("carol")
            #expect(try await guild.begin(pond).isTaken)
            try await EmojiRangersCheck.live(pond, stack, on: [third])
            _ = try await guild.end(&pond, .atOnce)
            try await stack.simulator.wait(for: third, timeout: .seconds(90)) { $0.cards.isEmpty }
        }
    }

    @Test func `W8: a state has a stale date that each update moves, and the card says when it is past`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            #expect(try await guild.begin(cave).isTaken)
            try await EmojiRangersCheck.live(cave, stack, on: [phone])
            let first = try #require(stack.simulator.lockScreen(of: phone).cards[0].staleDate)
            let asked = stack.simulator.now
            _ = try await guild.report(.found("a map", by: Self.panda), in: &cave)
            let card = try await EmojiRangersCheck.shows(cave, on: phone, stack).cards[0]
            let second = try #require(card.staleDate)
            #expect(second >= first)
            #expect(second - asked >= .seconds(15 * 60 - 1), "it counts from the update, to the second")
            let left = second - stack.simulator.now
            #expect(left > .seconds(14 * 60) && left <= .seconds(15 * 60 + 1))
            try stack.simulator.advance(by: .seconds(15 * 60 + 1))
            try await EmojiRangersCheck.shows(cave, on: phone, stack, .stale)
        }
    }

    @Test func `W9: relevance orders two adventures of one phone, and may change`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            let small = Adventure(id: "1", place: "pond", importance: 1, party: [Self.panda])
            let large = Adventure(id: "2", place: "volcano", importance: 10, party: [Self.panda])
            #expect(try await guild.begin(small).isTaken)
            try await EmojiRangersCheck.live(small, stack, on: [phone])
            #expect(try await guild.begin(large).isTaken)
            try await places(["volcano", "pond"], on: phone, stack)
            try await stack.reported(phone)
            let grown = Adventure(id: "1", place: "pond", importance: 20.5, party: [Self.panda])
            #expect(try await guild.begin(grown).isTaken)
            try await places(["pond", "volcano"], on: phone, stack)
            #expect(try stack.simulator.lockScreen(of: phone).cards.map(\.relevance) == [20.5, 10])
        }
    }

    @Test func `W10: one change reaches every phone of every hero by its own token, who joins or leaves at any time`()
        async throws
    {
        try await run { stack, guild in
            var phones: [PhoneID] = []
            for (user, id) in [("alice", "a1"), ("alice", "a2"), ("bob", "b1"), ("bob", "b2")] {
                phones.append(try await stack.phone(user) { $0.id = PhoneID(id) })
            }
            let late = try await stack.phone("carol")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda, Self.egg])
            #expect(try await guild.begin(cave).isTaken)
            try await EmojiRangersCheck.live(cave, stack, on: phones)
            #expect(try stack.simulator.lockScreen(of: late).cards.isEmpty)

            let before = stack.simulator.receivedCount
            let answer = try await guild.report(.found("a sword", by: Self.panda), in: &cave)
            #expect(answer.body.object?["phones"]?.object?["update"]?.int == 4)
            for phone in phones { try await EmojiRangersCheck.shows(cave, on: phone, stack) }
            let pushes = stack.simulator.received.filter { $0.number > before }
            #expect(pushes.count == 4 && Set(pushes.map(\.token)).count == 4)

            #expect(try await guild.join(Self.whale, &cave).isTaken)
            for phone in phones + [late] { try await EmojiRangersCheck.shows(cave, on: phone, stack) }
            try await stack.reported(late)
            #expect(try await guild.leave(Self.egg, &cave).isTaken)
            for phone in [phones[0], phones[1], late] { try await EmojiRangersCheck.shows(cave, on: phone, stack) }
            for phone in phones.suffix(2) {
                try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { $0.running.isEmpty }
            }
            let left = stack.simulator.receivedCount
            _ = try await guild.report(.struck(by: "the boss", damage: 0.5), in: &cave)
            for phone in [phones[0], phones[1], late] { try await EmojiRangersCheck.shows(cave, on: phone, stack) }
            let last = stack.simulator.received.filter { $0.number > left && $0.event == "update" }
            #expect(Set(last.compactMap(\.phone)) == [phones[0], phones[1], late], "nobody who left hears of it")
        }
    }

    @Test func `W11: the server says what was sent to a phone when, and what APNs answered`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            #expect(try await guild.begin(cave).isTaken)
            try await EmojiRangersCheck.live(cave, stack, on: [phone])
            var trouble = FaultRule(.refuse(status: 503, reason: "ServiceUnavailable"))
            trouble.count = 1
            stack.simulator.faults = [trouble]
            _ = try await guild.report(.found("a sword", by: Self.panda), in: &cave)
            try await EmojiRangersCheck.shows(cave, on: phone, stack)
            try await stack.device("alice", of: "adventure-1", "has it") { $0.revision == 2 }
            let deliveries = try await guild.deliveries(of: cave, on: "alice")
            #expect(deliveries.map { $0["kind"]?.string } == ["start", "update", "update"])
            #expect(deliveries.map { $0["status"]?.int } == [200, 503, 200])
            for delivery in deliveries {
                #expect(delivery["at"]?.string?.isEmpty == false && delivery["text"]?.string?.isEmpty == false)
                #expect(delivery["timestamp"]?.int != nil && delivery["priority"]?.int != nil)
            }
            // APNs's id of each push finds APNs's own record of it.
            let sent = Set(stack.simulator.received.map(\.id.description))
            let told = deliveries.compactMap { $0["apnsID"]?.string }
            #expect(told.count == 3 && sent.isSuperset(of: told))
        }
    }

    /// Waits until the phone's cards are in this order.
    private func places(_ places: [String], on phone: PhoneID, _ stack: Stack) async throws {
        try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { screen in
            screen.cards.map { $0.attributes["place"]?.string ?? "" } == places
        }
    }
}
