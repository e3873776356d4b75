import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a policy's promises, each over a thousand random lives of a phone.
struct PolicyPropertyTests {
    static let cases = 1000

    /// A push that was sent, and the activity's newest revision at that time.
    struct Sent {
        var at: UnixTime
        var plan: PushPlan
        var timestamp: Int64
    }

    /// Lets time pass and sends every push that becomes due. APNs takes all of them.
    static func pass(_ duration: Duration, _ scene: inout Scene, _ sent: inout [Sent]) throws {
        let end = scene.now + duration
        for _ in 0..<400 {
            guard let next = scene.store.nextWakeAt, next <= end else { break }
            scene.now = max(scene.now, next)
            for flight in try scene.claim().flights {
                sent += flight.seats.map { Sent(at: scene.now, plan: $0.plan, timestamp: $0.timestamp) }
                try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
            }
        }
        scene.now = max(scene.now, end)
    }

    /// A live card with this policy, up to date and past its first minute. Make it once and copy it.
    static func live(_ change: (inout TypePolicy) -> Void) throws -> Scene {
        var scene = try Scene.live(Sample.type("order", activityIDAttribute: nil, change))
        var sent: [Sent] = []
        try pass(.seconds(60), &scene, &sent)
        return scene
    }

    @Test func `Changes are coalesced, the last one always arrives, and timestamps grow`() async throws {
        let seed: UInt64 = 21
        var dice = SeededDice(seed: seed)
        let scenes = try [1000, 1001, 1700, 3000, 5500, 9999].map { window in
            (Duration.milliseconds(window), try Self.live { $0.coalescingWindow = .milliseconds(window) })
        }
        for number in 0..<Self.cases {
            await Task.yield()
            var (window, scene) = dice.pick(scenes)
            var sent: [Sent] = []
            for step in 0..<4 {
                try scene.put("a", 2 + dice.roll(40) + step) { body in
                    body.priority = dice.pick(ActivityRecord.PriorityWish.allCases)
                    if dice.chance(20) { body.alert = .init(Sample.alert) }
                }
                try Self.pass(.milliseconds(dice.pick([0, 1, 50, 700, 1500, 4000, 12_000])), &scene, &sent)
            }
            let last = scene.now
            try Self.pass(window, &scene, &sent)
            let label: Comment = "seed \(seed), case \(number), window \(window)"
            #expect(sent.last?.plan.revision == (try scene.activity().revision), label)
            #expect(sent.last.map { $0.at <= last + window } == true, label)
            for (before, after) in zip(sent, sent.dropFirst()) {
                #expect(before.at + window <= after.at, label)
                #expect(before.plan.revision < after.plan.revision && before.timestamp < after.timestamp, label)
            }
        }
    }

    @Test func `In no hour and no day more high pushes than the budget; ends and alerts go out whatever it says`()
        async throws
    {
        let seed: UInt64 = 22
        var dice = SeededDice(seed: seed)
        let scenes = try (0..<20).map { _ in
            var budgets = BudgetPolicy()
            budgets.high = BudgetLimit(perHour: 2 + dice.roll(6), perDay: 8 + dice.roll(10))
            budgets.high.reserve = dice.roll(91)
            let interval = Duration.seconds(dice.roll(120))
            let scene = try Self.live { policy in
                policy.budgets = budgets
                policy.highPriorityInterval = interval
                policy.highWhen = .init(pointer: Sample.pointer("/status"), values: ["urgent"])
            }
            return (budgets.high, interval, scene)
        }
        for number in 0..<Self.cases {
            await Task.yield()
            var (limit, interval, scene) = dice.pick(scenes)
            var sent: [Sent] = []
            var alerts = 0
            for step in 0..<7 {
                let hasAlert = dice.chance(30)
                try scene.put("a", 100 + step) { body in
                    if dice.chance(50) { body.state = Sample.state(100 + step, status: "urgent") }
                    body.priority = dice.pick([.auto, .high])
                    if hasAlert { body.alert = .init(Sample.alert) }
                }
                alerts += hasAlert ? 1 : 0
                try Self.pass(.seconds(dice.pick([2, 5, 30, 61, 600, 2000, 9000])), &scene, &sent)
            }
            try scene.end()
            try Self.pass(.seconds(2), &scene, &sent)
            let label: Comment = "seed \(seed), case \(number), \(limit), interval \(interval)"
            #expect(sent.filter(\.plan.carriesAlert).count == alerts, label)
            #expect(sent.last?.plan.kind == .end, label)
            let high = sent.filter { $0.plan.priority == .high }
            for (index, push) in high.enumerated() {
                let time = push.at
                let later = high[index...]
                #expect(later.count { $0.at < time + .seconds(3600) } <= limit.perHour, label)
                #expect(later.count { $0.at < time + .seconds(86_400) } <= limit.perDay, label)
                // The interval applies to states. An alert is sent at once.
                if index > 0, !push.plan.carriesAlert { #expect(high[index - 1].at + interval <= time, label) }
            }
        }
    }

    @Test func `No card is started in quiet hours, and each that was held is started when they are over`() async throws
    {
        let seed: UInt64 = 23
        var dice = SeededDice(seed: seed)
        for number in 0..<Self.cases {
            await Task.yield()
            let change = Sample.now + .seconds(dice.roll(40 * 3600))
            let offset = (dice.roll(27) - 13) * 3600
            let rules = ZoneRules(
                offset: offset, transitions: [.init(at: change, offset: offset + (dice.roll(5) - 2) * 3600)])
            let (from, to) = (TimeOfDay(minute: dice.roll(1440)), TimeOfDay(minute: dice.roll(1440)))
            guard from != to else { continue }
            let quiet = QuietHours(from: from, to: to, zone: "Etc/Here", zones: ZoneTable(["Etc/Here": rules]))
            var scene = Scene(Sample.type { $0.quietHours = quiet })
            try scene.register()
            scene.wait(.seconds(60 + dice.roll(86_400)))
            let hasAlert = dice.chance(20)
            try scene.put(users: ["ann"]) { if hasAlert { $0.alert = .init(Sample.alert) } }
            var sent: [Sent] = []
            let asked = scene.now
            try Self.pass(.seconds(27 * 3600), &scene, &sent)
            let label: Comment = "seed \(seed), case \(number): \(from) to \(to), asked at \(asked)"
            #expect(!sent.isEmpty && sent.allSatisfy { $0.plan.kind == .start }, label)
            for start in sent {
                if start.plan.carriesAlert {
                    #expect(start.at == asked, label)
                } else {
                    #expect(quiet.end(at: start.at, zone: nil) == nil, label)
                }
            }
            guard let first = sent.first, !hasAlert else { continue }
            #expect(first.at == asked || quiet.end(at: first.at - .milliseconds(1), zone: nil) != nil, label)
        }
    }

    @Test func `Two cards at once only while one takes the place of the other, and never a third`() async throws {
        let seed: UInt64 = 24
        var dice = SeededDice(seed: seed)
        var before = try Self.live { $0.renewal = true }
        var none: [Sent] = []
        try Self.pass(Reconciler.renewalAge - .seconds(120), &before, &none)
        for number in 0..<Self.cases {
            await Task.yield()
            var scene = before
            var sent: [Sent] = []
            let label: Comment = "seed \(seed), case \(number)"
            let started = try #require(try scene.card().startedAt)
            let (comes, tokenAfter) = (dice.chance(70), Duration.seconds(dice.roll(2400)))
            var shown: Set<String> = ["card"]
            var tokenAt: UnixTime?
            for step in 0..<6 {
                if dice.chance(40) { try scene.put("a", 10 + step) }
                try Self.pass(.seconds(dice.pick([1, 20, 200, 700, 1500])), &scene, &sent)
                guard let start = sent.first(where: { $0.plan.kind == .start }), comes else { continue }
                shown.insert("second")
                let hasToken = start.at + tokenAfter <= scene.now
                if hasToken, tokenAt == nil { tokenAt = scene.now }
                try scene.report(local: "second", token: hasToken ? "u2" : nil)
                if dice.chance(30) { try scene.report(local: "card", token: "u1") }
                try Self.pass(.seconds(1), &scene, &sent)
                if sent.contains(where: { $0.plan.part == .predecessor }) { shown.remove("card") }
            }
            let starts = sent.filter { $0.plan.kind == .start }
            #expect(starts.count <= 1, label)
            for start in starts {
                #expect(start.plan.part == .successor, label)
                #expect(
                    started + Reconciler.renewalAge <= start.at && start.at < started + Reconciler.renewalEnd, label)
            }
            let ends = sent.filter { $0.plan.kind == .end }
            #expect(ends.count == (tokenAt == nil ? 0 : 1), label)
            #expect(ends.allSatisfy { end in tokenAt.map { $0 <= end.at } ?? false }, label)
            #expect(shown.count <= (tokenAt == nil ? 2 : 1), label)
            #expect(try scene.card().localID == Sample.local(tokenAt == nil ? "card" : "second"), label)
        }
    }

    /// A card as a phone shows it. It ignores pushes and its own updates unless they are newer.
    private struct Shown {
        var revision: Revision
        var timestamp: Int64
        /// Revision and time of the app's own state, while it is shown.
        var local: (basedOn: Revision, at: UnixTime)?
    }

    @Test(arguments: TypePolicy.Authority.allCases)
    func `The app's own state stays for its time, and then the newest of the server's is shown`(
        authority: TypePolicy.Authority
    ) async throws {
        let seed: UInt64 = 25
        var dice = SeededDice(seed: seed)
        let before = try Self.live { $0.authority = authority }
        for number in 0..<Self.cases {
            await Task.yield()
            var scene = before
            var sent: [Sent] = []
            var shown = Shown(revision: try scene.activity().revision, timestamp: try scene.card().timestamp)
            var seen = sent.count
            let label: Comment = "seed \(seed), case \(number), authority \(authority)"
            func apply() {
                for push in sent[seen...] {
                    if let local = shown.local, push.plan.revision <= local.basedOn {
                        #expect(authority == .server && local.at + Reconciler.localAheadLease <= push.at, label)
                    }
                    guard push.timestamp > shown.timestamp else { continue }
                    shown = Shown(revision: push.plan.revision, timestamp: push.timestamp)
                }
                seen = sent.count
            }
            for step in 0..<5 {
                if dice.chance(40) { try scene.put("a", 10 + step) }
                if dice.chance(40), scene.now.seconds > shown.timestamp {
                    shown = Shown(
                        revision: shown.revision, timestamp: scene.now.seconds, local: (shown.revision, scene.now))
                    try scene.report(token: "u1") { report in
                        report.contentState = ["local": .number(JSONNumber(step))]
                        report.basedOn = shown.revision
                        report.lastTimestamp = shown.timestamp
                    }
                }
                try Self.pass(.milliseconds(dice.pick([100, 1000, 5000, 59_000, 70_000])), &scene, &sent)
                apply()
            }
            try Self.pass(.seconds(70), &scene, &sent)
            apply()
            #expect(shown.revision == (try scene.activity().revision), label)
            if authority == .server { #expect(shown.local == nil, label) }
        }
    }
}
