import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of the limits on rows that a person and their phones may create on their own authority.
struct PhonesLimitsTests {
    private static let eve = Reporter.person(Sample.user("eve"))
    private static let device = Sample.device("other")

    private static func card(
        _ local: String, _ activity: String, _ type: ActivityType, _ state: CardReport.State = .active
    ) -> CardReport {
        var report = CardReport(localID: Sample.local(local), type: type, state: state)
        report.activity = Sample.activityID(activity)
        return report
    }

    private static func report(_ card: CardReport, _ scene: inout Scene, by reporter: Reporter = eve) throws {
        var command = ReportCard(app: scene.app, device: device, report: card, now: scene.now)
        command.reporter = reporter
        _ = try scene.run(command)
    }

    private static func inventory(_ sequence: Int64, _ cards: [CardReport], _ scene: inout Scene) throws {
        var command = ReportInventory(
            app: scene.app, device: device, sequence: sequence, reports: cards, now: scene.now)
        command.reporter = eve
        #expect(try scene.run(command).supersededBy == nil)
    }

    private static func scene(_ types: ActivityType..., join: TypePolicy.Join = .audience) throws -> Scene {
        var type = Sample.type()
        type.policy.join = join
        var scene = Scene(type)
        for other in types { scene.app.types[other.name] = other }
        try scene.register("other", user: "eve", startToken: nil, key: 9)
        return scene
    }

    // MARK: - Cards that wait

    @Test func `an inventory leaves nothing of the cards that it refuses, and takes the others`() throws {
        var scene = try Self.scene()
        for number in 1...20 { try Self.report(Self.card("c\(number)", "x\(number)", scene.type), &scene) }
        try scene.put("hers", users: ["eve"])
        let before = scene.store.rows
        let refused = (1...80).map { Self.card("n\($0)", "new-\($0)", scene.type) }
        try Self.inventory(1, refused + [Self.card("mine", "hers", scene.type)], &scene)
        #expect(scene.store.rows.activities.count == before.activities.count)
        #expect(scene.store.rows.cards.count == before.cards.count)
        #expect(scene.store.rows.nextActivityNumber == before.nextActivityNumber)
        #expect(try scene.card("other", of: "hers").state == .live)
    }

    /// Adds activities that are newer than the phone's reports so far, each with a card on the phone.
    private static func addCards(_ count: Int, to scene: inout Scene) {
        let app = scene.app.bundleID
        scene.store.edit { draft in
            for _ in 0..<count {
                let number = Sample.addActivity(of: app, named: "newer-", to: &draft)
                var card = CardMachine(activity: number, device: 9, run: 1, at: Sample.now)
                card.columns.state = .live
                card.columns.localID = Sample.local("newer-\(number)")
                draft.put(card)
            }
        }
    }

    @Test(arguments: [0, 150])
    func `whatever the name of a card's activity, the twenty-first that waits is refused alike`(newer: Int) throws {
        let other = Sample.type("other")
        for first in ["theirs", "of-another-type", "unknown"] {
            var scene = try Self.scene(other)
            try scene.put("theirs", users: ["ann"])
            try scene.put("of-another-type", users: ["ann"], type: other)
            try Self.report(Self.card("c0", first, scene.type), &scene)
            for number in 1...19 { try Self.report(Self.card("c\(number)", "x\(number)", scene.type), &scene) }
            Self.addCards(newer, to: &scene)
            for name in ["theirs", "of-another-type", "unknown", "nobodys"] where name != first {
                #expect(throws: Refusal.tooManyAwaiting(limit: 20), "\(first), then \(name)") {
                    try Self.report(Self.card("c20", name, scene.type), &scene)
                }
            }
        }
    }

    @Test func `who signs out and in again has no room for more cards that wait until the day is over`() throws {
        var scene = try Self.scene()
        for number in 1...20 { try Self.report(Self.card("c\(number)", "x\(number)", scene.type), &scene) }
        for round in 1...3 {
            _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Self.device, now: scene.now))
            try scene.register("other", user: round == 2 ? "bob" : "eve", startToken: nil, key: 9)
            let reporter = round == 2 ? Reporter.person(Sample.user("bob")) : Self.eve
            #expect(throws: Refusal.tooManyAwaiting(limit: 20), "round \(round)") {
                try Self.report(Self.card("r\(round)", "y\(round)", scene.type), &scene, by: reporter)
            }
            scene.wait(.seconds(3600))
        }
        #expect(scene.store.rows.cards.count == 20)
        scene.wait(.seconds(86_400))
        try Self.report(Self.card("later", "later", scene.type), &scene)
    }

    // MARK: - Rows of a phone

    @Test func `a device names five hundred new tokens a day, and known ones as often as it likes`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["eve"])
        func name(_ number: Int, _ state: CardReport.State = .active) throws {
            var card = Self.card("c", "a", scene.type, state)
            card.token = Sample.token("u\(number)")
            try Self.report(card, &scene)
        }
        for number in 1...499 { try name(number) }
        try scene.registerStart("other", "start")
        let before = scene.store.rows
        #expect(throws: Refusal.tooManyTokens(limit: 500)) { try name(500) }
        #expect(throws: Refusal.tooManyTokens(limit: 500)) { try scene.registerStart("other", "another") }
        #expect(scene.store.rows == before)
        try name(499)
        try scene.registerStart("other", "start")
        // A card whose token exceeds the limit is still over when its phone says so.
        try Self.report(Self.card("c", "a", scene.type, .dismissed), &scene)
        #expect(try scene.card("other").state == .dismissed)
        scene.wait(.seconds(86_400))
        try scene.registerStart("other", "another")
        #expect(scene.store.rows.owners.count == 501)
    }

    @Test func `of activities that anybody may join a phone's word makes a hundred new cards a day`() throws {
        var scene = try Self.scene(join: .open)
        for number in 1...100 { try Self.report(Self.card("c\(number)", "x\(number)", scene.type), &scene) }
        let before = scene.store.rows
        #expect(throws: Refusal.tooManyCards(limit: 100)) {
            try Self.report(Self.card("c101", "x101", scene.type), &scene)
        }
        #expect(scene.store.rows == before)
        // Known activities are still reported, the backend has no limit, and a named person belongs to the audience.
        try Self.report(Self.card("c1", "x1", scene.type, .dismissed), &scene)
        try Self.report(Self.card("c101", "x101", scene.type), &scene, by: .backend)
        try scene.put("hers", users: ["eve"])
        try Self.report(Self.card("c102", "hers", scene.type), &scene)
        scene.wait(.seconds(86_401))
        try Self.report(Self.card("c103", "x103", scene.type), &scene)
    }

    @Test func `of a device's cards that are over the newest two hundred are remembered`() throws {
        var scene = try Self.scene()
        try scene.put(users: ["eve"])
        for round in 1...5 as ClosedRange<Int64> {
            scene.wait(.seconds(1))
            // The first card replaces the one before. The others are duplicates beside it.
            let cards = (1...100).map { Self.card("r\(round)-\($0)", "a", scene.type) }
            try Self.inventory(round, cards, &scene)
            let over = Set(scene.store.rows.tombstones.keys.map(\.localID))
            #expect(over.count == min(Int(round) * 100 - 1, 200))
            #expect(over.contains(Sample.local("r\(round)-2")))
            #expect(over.contains(Sample.local("r1-2")) == (round <= 2))
        }
        #expect(try scene.card("other").localID == Sample.local("r5-1"))
        // Remembered cards still count.
        try Self.report(Self.card("r5-50", "a", scene.type), &scene)
        #expect(try scene.card("other").localID == Sample.local("r5-1"))
    }

    @Test func `a person has fifty devices on their own word, and a backend gives them more`() throws {
        var scene = try Self.scene()
        func register(_ number: Int, by reporter: Reporter) throws {
            var command = RegisterDevice(
                app: scene.app, id: Sample.device("d\(number)"), body: .init(user: Sample.user("eve")),
                now: scene.now, freshKey: DeviceKey(100 + number))
            command.reporter = reporter
            _ = try scene.run(command)
        }
        for number in 2...50 { try register(number, by: Self.eve) }
        let before = scene.store.rows
        #expect(throws: Refusal.tooManyDevices(limit: 50)) { try register(51, by: Self.eve) }
        #expect(scene.store.rows == before)
        try register(50, by: Self.eve)
        try register(51, by: .backend)
        // Devices without contact for a month are not counted.
        scene.wait(.seconds(30 * 86_400))
        try register(52, by: Self.eve)
    }

    @Test func `the inventories of a phone's next owner are taken, however far the one before had counted`() throws {
        var scene = try Self.scene()
        try Self.inventory(.max, [], &scene)
        try scene.register("other", user: "ann", startToken: nil, key: 9)
        try scene.put(users: ["ann"])
        #expect(try scene.inventory("other", sequence: 1, [Self.card("c", "a", scene.type)]).supersededBy == nil)
        #expect(try scene.card("other").state == .live)
        // Numbering continues for a person who signs in again.
        try scene.register("other", user: "ann", startToken: nil, key: 9)
        #expect(try scene.inventory("other", sequence: 1).supersededBy == 1)
    }
}
