import APNSModel
import APNSSimulator
import BackendCalls
import EmojiRangers
import LiveActivityCore
import Testing

@testable import islet

/// Emoji Rangers: a raid that a whole guild watches, with phones that know broadcasts and phones that do not.
@Suite(.serialized) struct EmojiRangersGuildTests {
    private static let panda = Hero(player: "alice", name: "Power Panda", avatar: "🐼")
    /// Enough that `auto` takes a channel.
    private static let watchers = 60
    private static let veterans = 10
    private static let bundleID = BundleID(EmojiRangersPlay.app.bundleID).unsafelyUnwrapped

    private func run(
        _ change: (inout TypePolicy) -> Void = { _ in }, _ body: @escaping @Sendable (Stack, Guild) async throws -> Void
    ) async throws {
        try await Stack.run(try Stack.Options(EmojiRangersPlay.app, change)) { stack in
            try await body(stack, Guild(islet: stack.address, key: stack.key))
        }
    }

    @Test func `L25: one change of a raid is one broadcast for the guild, and one push for each phone before iOS 18`()
        async throws
    {
        try await run { stack, guild in
            let watchers = try await phones("watcher", Self.watchers, IOSVersion(18, 2), stack)
            let veterans = try await phones("veteran", Self.veterans, IOSVersion(17, 4), stack)
            let all = watchers + veterans
            var raid = Adventure(id: "raid", place: "volcano", party: [Self.panda], isRaid: true)
            #expect(try await guild.begin(raid).isTaken)
            #expect(try await guild.invite(all.map(\.text), to: raid).isTaken)
            try await shows(raid, on: all, stack)
            for phone in all { try await stack.reported(phone) }
            let starts = stack.simulator.received.filter { $0.event == "start" }
            #expect(starts.count == all.count && Set(starts.compactMap(\.phone)) == Set(all))
            #expect(stack.simulator.channels(of: Self.bundleID, in: .sandbox).count == 1)
            let calls = try await channelCalls(stack)
            #expect(calls.contains { $0.contains(#"kind="create""#) }, "\(calls)")
            for phone in watchers {
                let card = try #require(stack.simulator.lockScreen(of: phone).cards.first)
                #expect(card.channel != nil && card.token == nil)
            }

            for event in [Adventure.Event.found("a key", by: Self.panda), .struck(by: "the dragon", damage: 0.25)] {
                let before = stack.simulator.receivedCount
                #expect(try await guild.report(event, in: &raid).isTaken)
                try await shows(raid, on: all, stack)
                let sent = stack.simulator.received.filter { $0.number > before }
                #expect(sent.count { $0.channel != nil } == 1 && sent.count == 1 + Self.veterans)
                #expect(Set(sent.compactMap(\.phone)) == Set(veterans))
                #expect(sent.allSatisfy { $0.status == 200 && $0.event == "update" })
            }

            let before = stack.simulator.receivedCount
            #expect(try await guild.end(&raid, saying: "The volcano sleeps!", .after("30m")).isTaken)
            try await shows(raid, on: all, stack, .ended)
            let ends = stack.simulator.received.filter { $0.number > before && $0.event == "end" }
            #expect(ends.count { $0.channel != nil } == 1 && ends.count == 1 + Self.veterans)
        }
    }

    @Test(arguments: [DeliveryMode.auto, .token])
    func `a party of a few heroes, and any by token, gets pushes of its own, and nothing is asked about channels`(
        delivery: DeliveryMode
    ) async throws {
        try await run {
            $0.delivery = delivery
            // With `auto` this alone would put the card on a channel.
            if delivery == .token { $0.join = .open }
        } _: { stack, guild in
            let phone = try await stack.phone("alice")
            var cave = Adventure(id: "1", place: "cave", party: [Self.panda])
            #expect(try await guild.begin(cave).isTaken)
            try await EmojiRangersCheck.live(cave, stack, on: [phone])
            #expect(try await guild.report(.found("a sword", by: Self.panda), in: &cave).isTaken)
            try await EmojiRangersCheck.shows(cave, on: phone, stack)
            #expect(try await guild.end(&cave).isTaken)
            try await EmojiRangersCheck.shows(cave, on: phone, stack, .ended)
            #expect(stack.simulator.channels(of: Self.bundleID, in: .sandbox).isEmpty)
            #expect(stack.simulator.received.map(\.event) == ["start", "update", "end"])
            #expect(stack.simulator.received.allSatisfy { $0.channel == nil && $0.phone == phone })
            // A type by `auto` has its channels counted.
            let calls = try await channelCalls(stack).filter { delivery == .token || !$0.contains(#"kind="list""#) }
            #expect(calls.isEmpty, "\(calls)")
        }
    }

    // MARK: - Parts

    /// Returns the server's counts of its calls about channels: lists, creations, deletions and broadcasts.
    private func channelCalls(_ stack: Stack) async throws -> [Substring] {
        try await JSONCaller(stack.address).text("/metrics").split(separator: "\n").filter {
            $0.hasPrefix("islet_channel_calls_total{")
        }
    }

    /// Adds phones of users with the same names, several at a time, and waits until they have registered.
    private func phones(_ name: String, _ count: Int, _ iOS: IOSVersion, _ stack: Stack) async throws -> [PhoneID] {
        try await withThrowingTaskGroup(of: PhoneID.self) { group in
            for number in 1...count {
                group.addTask { try await stack.phone("\(name)-\(number)") { $0.iOS = iOS } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func shows(
        _ raid: Adventure, on phones: [PhoneID], _ stack: Stack, _ state: Card.State = .active
    ) async throws {
        for phone in phones { try await EmojiRangersCheck.shows(raid, on: phone, stack, state) }
    }
}
