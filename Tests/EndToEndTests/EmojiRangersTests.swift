import APNSModel
import APNSSimulator
import BackendCalls
import EmojiRangers
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import Testing

@testable import islet

/// Emoji Rangers, an adventure of many heroes: requirements W1 to W11, against a real server and the rules of real
/// phones.
@Suite(.serialized) struct EmojiRangersTests {
    private static let panda = Hero(player: "alice", name: "Power Panda", avatar: "🐼")
    private static let egg = Hero(player: "bob", name: "Eggsquisite", avatar: "🥚")
    private static let whale = Hero(player: "carol", name: "Spouty", avatar: "🐳")

    private func run(
        _ change: (inout TypePolicy) -> Void = { _ in }, _ body: @escaping @Sendable (Stack, Guild) async throws -> Void
    ) async throws {
        try await Stack.run(try Stack.Options(EmojiRangersPlay.app, change)) { stack in
            try await body(stack, Guild(islet: stack.address, key: stack.key))
        }
    }

    @Test func `W1: each new update token replaces the one before, and no push goes to an old one`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            try await begin(cave, guild, stack, on: [phone])
            var tokens: [String] = []
            for number in 1...4 {
                try stack.simulator.perform(.rotateUpdateToken(localID: nil), on: phone)
                try await stack.reported(phone)
                tokens.append(try #require(stack.simulator.lockScreen(of: phone).cards[0].token).masked)
                _ = try await guild.report(.found("coin \(number)", by: Self.panda), in: &cave)
                try await shows(cave, on: phone, stack)
            }
            #expect(Set(tokens).count == 4)
            let updates = stack.simulator.received.filter { $0.event == "update" }
            // An old token would have been answered with 410.
            #expect(stack.simulator.received.allSatisfy { $0.status == 200 })
            let used = updates.map(\.token)
            #expect(used.allSatisfy { tokens.contains($0) } && used.last == tokens.last)
            #expect(used == used.sorted { tokens.firstIndex(of: $0) ?? 0 < tokens.firstIndex(of: $1) ?? 0 })
        }
    }

    @Test func `W2: start, update and end carry Live Activities' push type and topic, and priority 5 or 10`()
        async throws
    {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            try await begin(cave, guild, stack, on: [phone])
            _ = try await guild.report(.knockedDown(Self.panda), in: &cave)
            try await shows(cave, on: phone, stack)
            _ = try await guild.end(&cave)
            try await shows(cave, on: phone, stack, .ended)
            let pushes = stack.simulator.received
            #expect(pushes.map(\.event) == ["start", "update", "end"])
            for push in pushes {
                #expect(push.pushType == "liveactivity")
                #expect(push.topic == "com.example.rangers.push-type.liveactivity")
            }
            // A hero who is knocked out needs their player at once. The end of the adventure can wait.
            #expect(pushes.map(\.priority) == ["10", "10", "5"])
        }
    }

    @Test func `W3: a default JSONDecoder on the phone reads what the server's Swift type was`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            let awkward = Hero(player: "alice", name: #"Ünïcødé "Panda" \ / 🐼"#, avatar: "👩‍👩‍👧")
            var cave = Adventure(id: "1", place: "cave / 洞窟", party: [awkward])
            try await begin(cave, guild, stack, on: [phone])
            _ = try await guild.report(.struck(by: "the boss", damage: 0.1 + 0.2), in: &cave)
            let screen = try await shows(cave, on: phone, stack)
            let card = screen.cards[0]
            let bytes = Data(JSONValue.object(card.contentState).bytes)
            let state = try JSONDecoder().decode(AdventureAttributes.ContentState.self, from: bytes)
            #expect(state == cave.state, "to the last digit")
            let attributes = try JSONDecoder().decode(
                AdventureAttributes.self, from: Data(JSONValue.object(card.attributes).bytes))
            #expect(attributes.place == cave.place)
            // The output of a default JSONEncoder means the same.
            let encoded = try JSONValue(parsing: JSONEncoder().encode(cave.state))
            #expect(encoded == .object(card.contentState))
            #expect(stack.simulator.received.allSatisfy { $0.timestamp != nil && $0.event != nil })
        }
    }

    @Test func `W4: priority is low unless somebody is needed at once; low has no limit, high goes low beyond its own`()
        async throws
    {
        try await run {
            $0.budgets.high = BudgetLimit(perHour: 2, perDay: 2)
            $0.highPriorityInterval = .seconds(1)
        } _: { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            try await begin(cave, guild, stack, on: [phone])
            for number in 1...5 {
                _ = try await guild.report(.found("coin \(number)", by: Self.panda), in: &cave)
                try await shows(cave, on: phone, stack)
            }
            for _ in 1...2 {
                _ = try await guild.report(.knockedDown(Self.panda), in: &cave)
                try await shows(cave, on: phone, stack)
                _ = try await guild.report(.healed(by: Self.panda), in: &cave)
                try await shows(cave, on: phone, stack)
            }
            let priorities = stack.simulator.received.filter { $0.event == "update" }.compactMap(\.priority)
            // Five coins; the hero is down, then healed; then down again and healed. The second time exceeds our
            // estimate of the budget, so the push has low priority and is still sent at once.
            #expect(priorities == ["5", "5", "5", "5", "5", "10", "5", "5", "5"])
        }
    }

    @Test func `W5: a phone that allows frequent pushes gets more of them at high priority`() async throws {
        try await run {
            $0.budgets.high = BudgetLimit(perHour: 2, perDay: 2)
            $0.budgets.highFrequent = BudgetLimit(perHour: 40, perDay: 40)
            $0.highPriorityInterval = .seconds(1)
        } _: { stack, guild in
            let often = try await stack.phone("alice") { $0.frequentPushesEnabled = true }
            let seldom = try await stack.phone("bob")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda, Self.egg])
            try await begin(cave, guild, stack, on: [often, seldom])
            for _ in 1...3 {
                for event in [Adventure.Event.knockedDown(Self.egg), .healed(by: Self.egg)] {
                    _ = try await guild.report(event, in: &cave)
                    for phone in [often, seldom] { try await shows(cave, on: phone, stack) }
                }
            }
            func high(_ phone: PhoneID) -> Int {
                stack.simulator.received.count { $0.event == "update" && $0.phone == phone && $0.priority == "10" }
            }
            #expect(high(seldom) == 1 && high(often) == 3, "\(high(seldom)) and \(high(often))")
        }
    }

    @Test func `W6: an alert has title, body and sound, as texts or localised with arguments for both`() async throws {
        try await run { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda, Self.egg])
            try await begin(cave, guild, stack, on: [phone])
            _ = try await guild.report(.knockedDown(Self.egg), in: &cave)
            let localised = try #require(try await shows(cave, on: phone, stack).cards[0].alert)
            #expect(localised.title == "Eggsquisite is knocked down!")
            #expect(localised.body == "Use a potion to heal Eggsquisite!")
            #expect(localised.sound == "HeroDown.mp4")
            let state = try JSONValue(encoding: cave.state).object ?? [:]
            var worse = state
            worse["currentHealthLevel"] = 0.125
            try await stack.islet.call(
                .PUT, "/v1/activities/adventure-1",
                [
                    "type": "Adventure", "state": .object(worse),
                    "alert": ["title": "Run!", "body": "The boss comes", "sound": "default"],
                ])
            let plain = try await stack.simulator.wait(for: phone, timeout: .seconds(90)) {
                $0.cards.first?.contentState["currentHealthLevel"]?.double == 0.125
            }
            let alert = try #require(plain.cards[0].alert)
            #expect(alert.title == "Run!" && alert.body == "The boss comes" && alert.sound == "default")
        }
    }

    // MARK: - Parts

    private func begin(_ adventure: Adventure, _ guild: Guild, _ stack: Stack, on phones: [PhoneID]) async throws {
        #expect(try await guild.begin(adventure).isTaken)
        try await EmojiRangersCheck.live(adventure, stack, on: phones)
    }

    @discardableResult
    private func shows(
        _ adventure: Adventure, on phone: PhoneID, _ stack: Stack, _ state: Card.State = .active
    ) async throws -> LockScreen {
        try await EmojiRangersCheck.shows(adventure, on: phone, stack, state)
    }
}

enum EmojiRangersCheck {
    /// Waits until a phone's only card shows the adventure's current state.
    @discardableResult
    static func shows(
        _ adventure: Adventure, on phone: PhoneID, _ stack: Stack, _ state: Card.State = .active
    ) async throws -> LockScreen {
        let wanted = try JSONValue(encoding: adventure.state).object
        return try await stack.simulator.wait(for: phone, timeout: .seconds(90)) { screen in
            screen.cards.count == 1 && screen.cards[0].state == state && screen.cards[0].contentState == wanted
        }
    }

    /// Waits until the phones show the adventure and the server has their tokens.
    static func live(_ adventure: Adventure, _ stack: Stack, on phones: [PhoneID]) async throws {
        for phone in phones {
            try await shows(adventure, on: phone, stack)
            try await stack.reported(phone)
            try await stack.device(phone.text, of: "adventure-\(adventure.id)", "is live") {
                $0.state == "live" && $0.revision == 1
            }
        }
    }
}
