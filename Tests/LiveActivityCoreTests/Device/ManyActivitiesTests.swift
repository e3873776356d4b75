import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of devices with more activities than one call examines.
struct ManyActivitiesTests {
    /// A phone that shows a card of each of many activities. Its person never signed out.
    private static func scene(cards: Int, state: CardState = .live) throws -> Scene {
        var scene = Scene()
        let device = try scene.register(user: "ann", startToken: "p2s", key: 7)
        let app = scene.app.bundleID
        scene.store.edit { draft in
            let user = draft.user(app, Sample.user("ann"))
            for _ in 0..<cards {
                let number = Sample.addActivity(of: app, to: &draft)
                draft.addMember(user, to: number)
                var card = CardMachine(activity: number, device: device, run: 1, at: Sample.now)
                card.columns.state = state
                card.columns.sentRevision = 1
                if state == .live {
                    card.columns.startedAt = Sample.now
                    card.columns.localID = Sample.local("card-\(number)")
                    card.columns.tokenGeneration = 1
                    draft.put(Sample.updateToken(number, device))
                }
                draft.put(card)
            }
        }
        return scene
    }

    private static func registration(_ scene: Scene, _ user: String) -> RegisterDevice {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.osVersion = OSVersion(18, 0)
        return RegisterDevice(
            app: scene.app, id: Sample.device("phone"), body: body, now: scene.now, freshKey: 99)
    }

    @Test func `a phone with very many activities is another person's only once nothing there is the former's`() throws
    {
        var scene = try Self.scene(cards: 650)
        scene.wait(.seconds(60))
        let registration = Self.registration(scene, "bob")
        let before = scene.store.rows
        #expect(throws: Refusal.deviceChangesHands(Sample.device("phone"))) { try scene.run(registration) }
        #expect(scene.store.rows == before)
        var progress: HandOverDevice.Progress? = .begin
        var pages = 0
        while let next = progress {
            pages += 1
            progress = try scene.run(HandOverDevice(for: registration, next))
            let device = try #require(scene.store.rows.devices[7])
            #expect(device.signedOutAt == scene.now && (device.user == 2) == (progress == nil))
        }
        #expect(pages == 4)
        #expect(scene.store.rows.cards.values.allSatisfy { !$0.isWanted })
        _ = try scene.run(registration)
        #expect(scene.store.rows.devices[7]?.signedOutAt == nil && scene.store.rows.devices[7]?.userID.text == "bob")
        // Only ends are sent to the phone.
        for number in [1, 300, 650] { try scene.put("a\(number)", 2) }
        let sent = try scene.deliver(claims: 200)
        #expect(sent.count == 650 && sent.allSatisfy { $0.plan.kind == .end })
    }

    @Test func `a former person who signs in between two pages has the phone, and the next begins anew`() throws {
        var scene = try Self.scene(cards: 450)
        let registration = Self.registration(scene, "bob")
        let next = try #require(try scene.run(HandOverDevice(for: registration, .begin)))
        scene.wait(.seconds(1))
        try scene.register(user: "ann", startToken: nil)
        #expect(try scene.run(HandOverDevice(for: registration, next)) == .begin)
        #expect(scene.store.rows.devices[7]?.userID.text == "ann" && scene.store.rows.devices[7]?.signedOutAt == nil)
    }

    @Test func `a phone that signed out is sent nothing but ends, however many activities it has`() throws {
        var scene = try Self.scene(cards: 400)
        scene.wait(.seconds(60))
        _ = try scene.run(SignOutDevice(app: scene.app.bundleID, id: Sample.device("phone"), now: scene.now))
        // Activities that the call did not examine are ended with their next change.
        for number in 1...400 { try scene.put("a\(number)", 2) }
        let sent = try scene.deliver(claims: 200)
        #expect(sent.count == 400 && sent.allSatisfy { $0.plan.kind == .end })
        #expect(sent.allSatisfy { $0.plan.alertRevision == 0 })
    }

    @Test func `a report finds the oldest card by its id, and an inventory the newest hundred that are missing`() throws
    {
        var scene = try Self.scene(cards: 400)
        var report = CardReport(localID: Sample.local("card-1"), type: scene.type, state: .dismissed)
        _ = try scene.run(ReportCard(app: scene.app, device: Sample.device("phone"), report: report, now: scene.now))
        #expect(try scene.card(of: "a1").state == .dismissed)
        report = CardReport(localID: Sample.local("card-2"), type: scene.type, state: .active)
        for sequence in 1...4 as ClosedRange<Int64> {
            _ = try scene.inventory(sequence: sequence, [report])
            let gone = scene.store.rows.cards.values.filter { $0.state == .gone }.map(\.activity)
            #expect(gone.count == min(100 * Int(sequence), 398) && gone.max() == 400)
        }
        #expect(try scene.card(of: "a2").state == .live)
    }

    @Test func `a report that names an old activity goes on with what is known of the phone there`() throws {
        var scene = try Self.scene(cards: 400, state: .dismissed)
        let before = try scene.card(of: "a1")
        try scene.report(local: "again", .requesting, activity: "a1")
        let after = try scene.card(of: "a1")
        #expect(after.state == .requesting && after.columns.stateBefore == .dismissed)
        #expect(after.createdAt == before.createdAt && after.sentRevision == 1)
        #expect(scene.store.rows.cards.count == 400 && scene.store.rows.laneFaults.isEmpty)
    }

    @Test func `a device that signs in is taken into the newest hundred that run, and into one that may begin anew`()
        throws
    {
        var scene = Scene(Sample.type("order"), Sample.type("timer") { $0.isReusable = true })
        try scene.put("old-timer", users: ["ann"], type: scene.app.types["timer"])
        try scene.end("old-timer")
        for number in 1...150 { try scene.put("a\(number)", users: ["ann"]) }
        for number in 100...150 { try scene.end("a\(number)") }
        scene.wait(.seconds(49 * 3600))
        try scene.register(user: "ann", startToken: nil)
        let taken = scene.store.rows.cards.keys.map(\.activity)
        #expect(taken.count == 100)
        #expect(try taken.contains(scene.activity("old-timer").number))
        #expect(try taken.contains(scene.activity("a99").number))
        #expect(try !taken.contains(scene.activity("a100").number), "it is over")
    }

    // MARK: - Persons with many devices

    /// A phone with a hundred cards, whose person has many other devices in all those activities.
    private static func scene(devices: Int64) throws -> Scene {
        var scene = try Self.scene(cards: 100)
        let app = scene.app.bundleID
        scene.store.edit { draft in
            for key in 100..<100 + devices {
                var device = DeviceRecord(
                    key: key, app: app, id: Sample.device("other-\(key)"), user: 1, userID: Sample.user("ann"),
                    at: Sample.now - .seconds(key))
                device.activitiesEnabled = true
                draft.put(device)
                for number in 1...100 as ClosedRange<ActivityNumber> {
                    var card = CardMachine(activity: number, device: key, run: 1, at: Sample.now)
                    card.columns.mayStart = false
                    draft.put(card)
                }
            }
        }
        return scene
    }

    private static func signIn(_ scene: inout Scene) throws -> [CardMachine] {
        _ = try scene.run(
            RegisterDevice(
                app: scene.app, id: Sample.device("new"), body: .init(user: Sample.user("ann")), now: scene.now,
                freshKey: 99))
        return scene.store.rows.cards.values.filter { $0.device == 99 }
    }

    @Test func `a new device of a person with few others is taken in at once, and starts no card that another shows`()
        throws
    {
        var scene = try Self.scene(devices: 9)
        let rows = try Self.signIn(&scene)
        #expect(rows.count == 100 && rows.allSatisfy { $0.isWanted && !$0.mayStart })
    }

    @Test func `a new device of a person with many others is taken into the rest with its next calls`() throws {
        var scene = try Self.scene(devices: 70)
        for call in 1...5 {
            let rows = try Self.signIn(&scene)
            // The newest come first.
            #expect(rows.count == 20 * call && rows.map(\.activity).min() == ActivityNumber(101 - 20 * call))
            #expect(rows.allSatisfy { $0.isWanted && !$0.mayStart }, "one that was heard of last shows the card")
        }
        let all = try Self.signIn(&scene)
        #expect(all.count == 100)
    }

    @Test func `a device signs in right after the card went to one device alone, and sees who has it`() throws {
        for isTogether in [false, true] {
            var scene = Scene()
            try scene.register("first", user: "ann", key: 7)
            try scene.put(users: ["ann"]) { $0.devices = .all }
            var body = SetDesiredState.Body(state: Sample.state(2))
            body.devices = .lastActive
            let change = SetDesiredState(
                app: scene.app.bundleID, id: Sample.activityID("a"), type: scene.type, body: body, now: scene.now)
            let registration = RegisterDevice(
                app: scene.app, id: Sample.device("second"), body: .init(user: Sample.user("ann")), now: scene.now,
                freshKey: 8)
            if isTogether {
                scene.store.run(together: [.init(change), .init(registration)])
            } else {
                _ = try scene.run(change)
                _ = try scene.run(registration)
            }
            #expect(try scene.card("first").mayStart && !scene.card("second").mayStart)
        }
    }
}
