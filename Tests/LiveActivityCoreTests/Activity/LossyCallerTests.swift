import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of calls that arrive twice, late, reordered, or around a crash.
@Suite struct LossyCallerTests {
    @Test(arguments: UInt64(1)...150)
    func `with sequences the newest state stands, whatever order the calls come in`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        var scene = try Scene.live()
        let calls = (1...12).flatMap { sequence in (0...dice.roll(3)).map { _ in Int64(sequence) } }
            .shuffled(using: &dice)
        var taken: Int64 = 0
        for sequence in calls {
            scene.wait(.milliseconds(Int64(dice.roll(2000))))
            let reply: SetDesiredState.Reply
            if sequence % 2 == 0 {
                var body = PatchActivity.Body()
                body.state = Sample.state(Int(sequence))
                var patch = PatchActivity(app: scene.app, id: Sample.activityID("a"), body: body, now: scene.now)
                patch.preconditions.sequence = sequence
                reply = try scene.run(patch)
            } else {
                var put = SetDesiredState(
                    app: scene.app.bundleID, id: Sample.activityID("a"), type: scene.type,
                    body: .init(state: Sample.state(Int(sequence))), now: scene.now)
                put.preconditions.sequence = sequence
                reply = try scene.run(put)
            }
            #expect(reply.isSuperseded == (sequence <= taken), "seed \(seed), sequence \(sequence)")
            taken = max(taken, sequence)
            if dice.chance(30) { try scene.deliver() }
        }
        scene.wait(.seconds(5))
        try scene.deliver()
        let content = scene.store.rows.contents[try scene.activity().number]
        #expect(content?.digest == ContentDigest.of(Sample.state(12)), "seed \(seed)")
        #expect(try scene.card().sentRevision == scene.activity().revision, "seed \(seed)")
    }

    @Test func `a crash never separates a change from the memory of its key`() throws {
        var scene = try Scene.live()
        func put(_ step: Int, at now: UnixTime) -> Idempotent<SetDesiredState> {
            let command = SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(),
                body: .init(state: Sample.state(step)), now: now)
            return Idempotent(command, app: Sample.bundleID, at: .init(hash: [1]), digest: [UInt8(step)], now: now)
        }
        let before = scene.store
        let first = try scene.run(put(5, at: scene.now))
        #expect(first.reply.changed && !first.isReplayed)
        // After a crash before the commit, the repetition makes the change. After the commit, it gets the stored
        // reply.
        var crashed = scene
        crashed.store = before
        #expect(try crashed.run(put(5, at: scene.now)).reply == first.reply)
        let again = try scene.run(put(5, at: scene.now + .seconds(60)))
        #expect(again.isReplayed && again.reply == first.reply)
        #expect(scene.store.lastChanges.isEmpty)
        #expect(throws: Refusal.idempotencyKeyReused) { try scene.run(put(6, at: scene.now)) }
    }

    @Test func `where calls share a place the newest is known again, and another's name is refused nothing`() throws {
        var scene = try Scene.live()
        func put(_ step: Int, name: UInt8) throws -> Idempotent<SetDesiredState>.Reply {
            let command = SetDesiredState(
                app: Sample.bundleID, id: Sample.activityID("a"), type: Sample.type(),
                body: .init(state: Sample.state(step)), now: scene.now)
            return try scene.run(
                Idempotent(
                    command, app: Sample.bundleID, at: .init(hash: [1], name: [name]), digest: [UInt8(step)],
                    now: scene.now))
        }
        #expect(try put(5, name: 1).reply.changed)
        #expect(try put(6, name: 2).reply.changed)
        #expect(try put(6, name: 2).isReplayed)
        #expect(throws: Refusal.idempotencyKeyReused) { try put(7, name: 2) }
        // The key's record was displaced, so the repetition makes the call again.
        let again = try put(5, name: 1)
        #expect(!again.isReplayed && again.reply.changed)
        #expect(scene.store.rows.idempotency.count == 1)
    }

    @Test func `what is left of a replacement removes nobody whom a newer one has named`() throws {
        let newer: [(inout Scene) throws -> Void] = [
            { try $0.put(users: ["old", "new"]) },
            { try $0.change(.replace([Sample.user("old"), Sample.user("new")])) },
            { try $0.change(.page(session: "s2", users: [Sample.user("old"), Sample.user("new")], isLast: true)) },
        ]
        for replace in newer {
            var scene = Scene()
            let id = Sample.activityID("a")
            try scene.put(users: ["old"])
            let page = ChangeAudience.Change.page(session: "s1", users: [Sample.user("x")], isLast: true)
            let reply = try scene.run(ChangeAudience(app: scene.app.bundleID, id: id, change: page, now: scene.now))
            try replace(&scene)
            let sweep = SweepAudience(
                app: scene.app.bundleID, id: id, reply: reply, sweep: try #require(reply.sweep), now: scene.now)
            #expect(throws: Refusal.sessionReplaced(id)) { try scene.run(sweep) }
            #expect(throws: Refusal.sessionReplaced(id)) { try scene.change(page) }
            #expect(scene.store.rows.members[try scene.activity().number]?.count == 2)
        }
    }

    @Test(arguments: UInt64(1)...120)
    func `an audience is what its calls said, and its number is kept right`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        var scene = Scene()
        try scene.put(users: ["start"])
        let names = (0..<8).map { "u\($0)" }
        for (index, name) in names.enumerated() {
            try scene.register("phone-\(name)", user: name, startToken: nil, key: DeviceKey(index + 1))
        }
        var wanted: Set<String> = ["start"]
        for session in 0..<12 {
            let users = names.filter { _ in dice.chance(50) }
            switch dice.roll(4) {
            case 0:
                try scene.change(.change(add: users.map(Sample.user), remove: []))
                wanted.formUnion(users)
            case 1:
                try scene.change(.change(add: [], remove: users.map(Sample.user)))
                wanted.subtract(users)
            case 2:
                try scene.change(.replace(users.map(Sample.user)))
                wanted = Set(users)
            default:
                // Pages of a replacement. Each may be repeated, the last one after a crash in the middle of its
                // sweeps.
                let half = users.count / 2
                let pages = [users[..<half], users[half...]].map { $0.map(Sample.user) }
                for (index, page) in pages.enumerated() {
                    for repetition in 0...dice.roll(3) {
                        try scene.change(
                            .page(session: "s\(session)", users: page, isLast: index == 1),
                            sweeps: repetition == 0 ? !dice.chance(30) : true)
                    }
                }
                try scene.change(.page(session: "s\(session)", users: pages[1], isLast: true))
                wanted = Set(users)
            }
            let number = try scene.activity().number
            let members = scene.store.rows.members[number] ?? []
            let ids = scene.store.rows.users.filter { members.contains($0.value) }.map(\.key.id.text)
            #expect(Set(ids) == wanted, "seed \(seed), session \(session)")
            #expect(scene.store.rows.audiences[number]?.members == wanted.count, "seed \(seed), session \(session)")
            for name in names {
                let card = try? scene.card("phone-\(name)")
                #expect(card?.isWanted ?? false == wanted.contains(name), "seed \(seed), \(name)")
            }
            #expect(try scene.activity().revision == 1)
        }
    }
}

extension Scene {
    /// Makes the call and its sweeps as the server does. Without sweeps, the server has crashed before them.
    mutating func change(_ change: ChangeAudience.Change, sweeps: Bool = true) throws {
        let id = Sample.activityID("a")
        var reply = try run(ChangeAudience(app: app.bundleID, id: id, change: change, now: now))
        while sweeps, let sweep = reply.sweep {
            reply = try run(SweepAudience(app: app.bundleID, id: id, reply: reply, sweep: sweep, now: now))
        }
    }
}
