public import APNSSimulator
import BackendCalls
public import EmojiRangers
import JSONText
import LiveActivityAPI

extension AdventureAttributes: SimulatedActivityAttributes {}

/// An adventure of several heroes, who join and leave while it runs, and a raid that a whole guild watches.
struct EmojiRangersPlay: Play {
    static let name = "emoji-rangers"
    static let summary = "heroes share an adventure, join and leave while it runs, and a guild watches a raid"
    static let app = ExampleApp(
        bundleID: "com.example.rangers",
        types: [
            ExampleType(
                name: "Adventure", installed: InstalledActivityType(AdventureAttributes.self),
                contract: AdventureAttributes.contract,
                // Everybody may see every adventure, so one broadcast may carry what a guild sees. A party of a few
                // heroes gets pushes all the same.
                keys: ["activityIDAttribute: /adventureID", "public: true"],
                policy: [
                    #"startAlert: {title: {locKey: "An adventure begins!"}, body: "Your party waits for you"}"#,
                    "delivery: auto",
                ],
                view: [
                    #"title: "{/place}""#, #"subtitle: "{/eventDescription}""#, #"progress: /currentHealthLevel"#,
                    #"image: shield"#,
                ])
        ])

    private static let panda = Hero(player: "alice", name: "Power Panda", avatar: "🐼")
    private static let egg = Hero(player: "bob", name: "Eggsquisite", avatar: "🥚")
    private static let whale = Hero(player: "carol", name: "Spouty", avatar: "🐳")

    private static let nobody: [String: Expected] = [
        "alice": .nothing, "alice-2": .nothing, "bob": .nothing, "carol": .nothing,
    ]

    func run(on stage: PlayStage) async throws {
        let guild = Guild(islet: stage.isletAddress, key: stage.key)
        try await stage.addPhone("alice", "Power Panda", ["frequentPushesEnabled": true])
        try await stage.addPhone("alice-2", "her second phone", ["user": "alice"])
        try await stage.addPhone("bob", "Eggsquisite")
        try await stage.addPhone("carol", "Spouty")

        var cave = Adventure(id: "cave", place: "the mushroom cave", importance: 10, party: [Self.panda, Self.egg])
        try await say("Two heroes enter the mushroom cave", try await guild.begin(cave), stage)
        try await show(cave, on: ["alice", "alice-2", "bob"], stage, alert: "An adventure begins!")
        for phone in ["alice", "alice-2", "bob"] { try await stage.registers(phone) }

        try await say(
            "Power Panda finds a sword", try await guild.report(.found("a sword", by: Self.panda), in: &cave), stage)
        try await show(cave, on: ["alice", "alice-2", "bob"], stage)

        try await say("Spouty joins", try await guild.join(Self.whale, &cave), stage)
        try await show(cave, on: ["alice", "alice-2", "bob", "carol"], stage)
        try await stage.registers("carol")
        try await stage.act("rotateUpdateToken", on: "bob")
        try await stage.registers("bob")

        try await say(
            "Eggsquisite is knocked down", try await guild.report(.knockedDown(Self.egg), in: &cave), stage)
        try await show(cave, on: ["alice", "alice-2", "bob", "carol"], stage, alert: "Eggsquisite is knocked down!")

        try await say("Eggsquisite leaves", try await guild.leave(Self.egg, &cave), stage)
        try await leftBehind(cave, stage)
        try await secondAdventure(guild, &cave, stage)
        try await explain(guild, cave, stage)
        try await raid(guild, cave, stage)
    }

    static func lines(of card: JSONObject) -> [String] {
        let state = card["contentState"]?.object ?? [:]
        let party = state["party"]?.array?.compactMap { $0.object?["avatar"]?.string } ?? []
        let place = card["attributes"]?.object?["place"]?.string ?? ""
        return [
            "\(party.joined())  \(place)",
            "\(Wording.bar(state["currentHealthLevel"]?.double ?? 0))  "
                + (state["eventDescription"]?.string ?? ""),
        ]
    }

    // MARK: - Steps

    /// Checks that the card of the hero who left has ended unchanged, and that the others show the news.
    private func leftBehind(_ cave: Adventure, _ stage: PlayStage) async throws {
        try await stage.expect(try Self.showing(cave, on: ["alice", "alice-2", "carol"]))
    }

    /// Plays a less important adventure of one hero, shown below the first. Both end, each in a different way.
    private func secondAdventure(
        _ guild: Guild, _ cave: inout Adventure, _ stage: PlayStage
    ) async throws {
        let lake = Adventure(id: "lake", place: "the quiet lake", importance: 1, party: [Self.whale])
        try await say("Spouty enters a less important lake", try await guild.begin(lake), stage)
        var expected = try Self.showing(cave, on: ["alice", "alice-2", "carol"])
        expected["carol"]?.cards.append(try Expected.Card(lake.state))
        try await stage.expect(expected)
        try await stage.registers("carol")

        var drained = lake
        try await say("The lake is left at once", try await guild.end(&drained, .atOnce), stage)
        try await say(
            "The boss is defeated", try await guild.end(&cave, saying: "The boss is defeated!", .after("30m")), stage)
        try await stage.expect(try Self.showing(cave, on: ["alice", "alice-2", "carol"], "ended"))
    }

    private func explain(_ guild: Guild, _ cave: Adventure, _ stage: PlayStage) async throws {
        try await stage.device("alice", of: "adventure-\(cave.id)", "the card is over") {
            ["ending", "ended"].contains($0.state)
        }
        stage.line("\nWhat was sent to alice's phone, and what APNs answered:")
        let deliveries = try await guild.deliveries(of: cave, on: "alice")
        for delivery in deliveries {
            stage.line(
                "  \(delivery["at"]?.string ?? "")  \(delivery["kind"]?.string ?? "")  "
                    + "priority \(delivery["priority"]?.int ?? 0) → \(delivery["status"]?.int ?? 0)")
        }
        guard deliveries.first?["kind"] == "start", deliveries.last?["kind"] == "end" else {
            throw DemoFailure("the timeline does not tell of alice's start and end")
        }
    }

    private func say(_ what: String, _ answer: IsletAPI.Answer, _ stage: PlayStage) async throws {
        stage.line("\n\(what).\nIslet answers: \(answer.summary)")
        guard answer.isTaken else { throw DemoFailure("the server refused it") }
    }

    private func show(
        _ adventure: Adventure, on phones: [String], _ stage: PlayStage, alert: String? = nil
    ) async throws {
        try await stage.expect(try Self.showing(adventure, on: phones, alert: alert))
    }

    private static func showing(
        _ adventure: Adventure, on phones: [String], _ life: String = "active", alert: String? = nil
    ) throws -> [String: Expected] {
        var expected = nobody
        for phone in phones { expected[phone] = try .card(adventure.state, life, alert: alert) }
        return expected
    }
}

// MARK: - The guild

extension EmojiRangersPlay {
    /// Number of light phones with iOS 18 that watch the raid, beside a whole one. A whole one makes several calls by
    /// itself, so thousands would slow the demo down.
    private static let watchers = 4999
    /// Number of phones that watch it with a system that knows no broadcasts.
    private static let veterans = 10
    /// Maximum time until every watcher shows a state.
    private static let limit = Duration.seconds(120)

    /// Plays a raid that thousands of phones watch. One change of it is one broadcast, and a push for each old phone.
    private func raid(_ guild: Guild, _ cave: Adventure, _ stage: PlayStage) async throws {
        let crowd = CrowdCalls(
            control: stage.control, name: "guild", bundleID: Self.app.bundleID,
            attributesType: String(describing: AdventureAttributes.self))
        try await crowd.make(Self.watchers)
        try await register(stage)
        stage.line("\nA guild: \(Self.watchers + 1) phones with iOS 18, and \(Self.veterans) with iOS 17.4.")
        try await stage.addPhone("dora", "one of \(Self.watchers + 1)")
        let old = try await stage.addPhones("veteran", count: Self.veterans, "iOS 17.4", ["iOS": "17.4"])

        var raid = Adventure(id: "raid", place: "the volcano", party: [Self.panda, Self.egg], isRaid: true)
        try await say("Two heroes enter the volcano", try await guild.begin(raid), stage)
        let players = (0..<Self.watchers).map { "watcher-\($0)" } + ["dora"] + old
        try await say("The whole guild watches", try await guild.invite(players, to: raid), stage)
        try await show(raid, crowd, old, cave, stage)
        for phone in ["dora"] + old { try await stage.registers(phone) }

        let before = try await Sent(crowd, stage)
        try await say(
            "Power Panda finds a key", try await guild.report(.found("a key", by: Self.panda), in: &raid), stage)
        try await show(raid, crowd, old, cave, stage)
        let now = try await Sent(crowd, stage)
        let (broadcasts, single) = (now.broadcasts - before.broadcasts, try await now.updates(since: before, stage))
        stage.line("APNs took \(broadcasts) broadcast and \(single) pushes for \(players.count) lock screens.")
        guard broadcasts == 1, single == old.count, now.starts == before.starts else {
            throw DemoFailure("one broadcast and \(old.count) pushes were due")
        }

        let end = try await guild.end(&raid, saying: "The volcano sleeps!", .after("30m"))
        try await say("The volcano sleeps", end, stage)
        try await show(raid, crowd, old, cave, stage, "ended")
        let running = try await crowd.totals().running
        guard running == 0 else { throw DemoFailure("\(running) cards of the guild still run") }
    }

    /// Registers the watchers' phones with their push-to-start tokens, as their apps would.
    private func register(_ stage: PlayStage) async throws {
        let calls = LoadCaller(stage.isletAddress, key: stage.key)
        defer { calls.close() }
        try await calls.make(Self.watchers, streams: 2) { number in
            APICall(
                "/v1/devices/watcher-\(number)",
                #"{"user":"watcher-\#(number)","osVersion":"18.2","environment":"sandbox","activitiesEnabled":true,"#
                    + #""channels":true}"#)
        }
        let tokens = CrowdTokens(crowd: "guild", kind: .pushToStart)
        try await calls.make(Self.watchers, streams: 2) { number in
            APICall(
                "/v1/devices/watcher-\(number)/push-to-start-tokens/Adventure",
                #"{"token":"\#(tokens.hex(of: number))"}"#)
        }
    }

    /// Waits until every phone of the guild shows the raid, and every other phone what it showed before.
    private func show(
        _ raid: Adventure, _ crowd: CrowdCalls, _ old: [String], _ cave: Adventure, _ stage: PlayStage,
        _ life: String = "active"
    ) async throws {
        let state = try JSONValue(encoding: raid.state).text
        try await Waiting.until("each of \(Self.watchers) phones shows the raid", within: Self.limit) {
            try await crowd.members(holding: state) == Self.watchers
        }
        var expected = try Self.showing(cave, on: ["alice", "alice-2", "carol"], "ended")
        for phone in ["dora"] + old { expected[phone] = try .card(raid.state, life) }
        try await stage.expect(expected)
        stage.line("  … and so do \(Self.watchers + old.count - 1) more phones")
    }

    /// Broadcasts and pushes that APNs has taken so far.
    private struct Sent {
        let broadcasts: Int
        /// Pushes to single watchers, each of which started a card.
        let starts: Int
        /// Number of the last push or broadcast.
        let last: Int

        init(_ crowd: CrowdCalls, _ stage: PlayStage) async throws {
            let totals = try await crowd.totals()
            broadcasts = totals.broadcasts
            starts = totals.accepted
            last = try await stage.control.call(.GET, "/v1/simulator").object?["received"]?.int ?? 0
        }

        /// Returns the number of pushes to whole phones since then.
        func updates(since before: Sent, _ stage: PlayStage) async throws -> Int {
            let pushes = try await stage.control.call(.GET, "/v1/pushes?after=\(before.last)")
            return pushes.object?["pushes"]?.array?.count { $0.object?["phone"]?.string != nil } ?? 0
        }
    }
}
