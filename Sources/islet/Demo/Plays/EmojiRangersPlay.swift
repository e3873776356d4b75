public import APNSSimulator
import BackendCalls
public import EmojiRangers
import JSONText
import LiveActivityAPI

extension AdventureAttributes: SimulatedActivityAttributes {}

/// An adventure of several heroes, who join and leave while it runs.
struct EmojiRangersPlay: Play {
    static let name = "emoji-rangers"
    static let summary = "heroes share an adventure, join and leave while it runs"
    static let app = ExampleApp(
        bundleID: "com.example.rangers",
        types: [
            ExampleType(
                name: "Adventure", installed: InstalledActivityType(AdventureAttributes.self),
                contract: AdventureAttributes.contract,
                keys: ["activityIDAttribute: /adventureID"],
                policy: [
                    #"startAlert: {title: {locKey: "An adventure begins!"}, body: "Your party waits for you"}"#
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
