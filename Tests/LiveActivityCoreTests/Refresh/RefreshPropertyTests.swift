import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of requests, claims, answers, failures and crashes in any order.
struct RefreshPropertyTests {
    @Test(arguments: [UInt64(1), 501, 1001, 1501])
    func `no ask is lost, one run goes on at a time, and many asks are few runs`(first: UInt64) throws {
        for seed in first..<first + 500 {
            var dice = SeededDice(seed: seed)
            var scene = RefreshScene()
            try scene.register()
            var open: [RefreshRun] = []
            // The backend's knowledge. A run reads it when it begins, as a provider does.
            var truth = 1
            var read: [Int64: Int] = [:]
            var (asks, runs, again) = (0, 0, 0)
            for _ in 0..<40 {
                switch dice.roll(10) {
                case 0..<4:
                    truth += 1
                    asks += 1
                    try scene.ask(dice.chance(50) ? .prompt : .paced)
                case 4..<6:
                    let claimed = try scene.claim()
                    runs += claimed.count
                    for run in claimed {
                        // A claim while a run of this process holds its lease would make two runs.
                        #expect(open.isEmpty, "seed \(seed)")
                        read[run.fence] = truth
                        open.append(run)
                    }
                case 6..<8:
                    guard let run = open.popLast() else { continue }
                    let shown = read[run.fence] ?? 0
                    let fails = dice.chance(20)
                    again += fails ? 1 : 0
                    try scene.finish(run) { _ in
                        fails ? .failed(RefreshFailure(.timeout, "slow")) : RefreshScene.show(shown)
                    }
                case 8:
                    // A crash between claim and answer.
                    guard dice.chance(30) else { continue }
                    scene.node += 1
                    again += open.count
                    open = []
                default: scene.now = scene.now + .seconds(dice.roll(4))
                }
            }
            // A run is either asked for or repeats one that failed.
            #expect(runs <= asks + again, "seed \(seed)")
            // Faults stop. Everything that was asked for is computed with the latest knowledge.
            scene.node += 1
            for _ in 0..<5 {
                scene.now = scene.now + .seconds(400)
                try scene.compute { _ in RefreshScene.show(truth) }
            }
            #expect(scene.state() == .object(Sample.state(truth)), "seed \(seed)")
            #expect(scene.record?.done == scene.record?.asked, "seed \(seed)")
            #expect(scene.store.rows.laneFaults.isEmpty, "seed \(seed)")
        }
    }

    /// Answers as a provider that keeps the first goal it chose for the day in its memo.
    private static func choose(_ due: [Int], _ memo: [UInt8]?, day: String) -> FinishRefresh.Zone.Outcome {
        let lock = memo.flatMap { try? JSONValue(parsing: $0).object }
        let locked = lock?["day"]?.string == day ? lock?["goal"]?.int : nil
        guard let goal = locked.flatMap({ due.contains($0) ? $0 : nil }) ?? due.first else { return .nothing }
        return RefreshScene.show(
            goal, memo: .object(["day": .string(day), "goal": .number(JSONNumber(goal))]))
    }

    @Test(arguments: [UInt64(1), 501, 1001])
    func `N3: a choice sticks for its local day until it is done, across crashes, and no longer`(first: UInt64) throws {
        for seed in first..<first + 400 {
            var dice = SeededDice(seed: seed)
            var scene = RefreshScene()
            scene.zones.zones["Z"] = ZoneRules(offset: (dice.roll(27) - 12) * 3600)
            try scene.register(zone: "Z")
            var due = [5]
            var locked: (goal: Int, day: String)?
            for _ in 0..<30 {
                let day = (scene.zones.rules(of: "Z") ?? .utc).local(scene.now).date
                if dice.chance(40) { due = (1...6).filter { _ in dice.chance(50) } }
                try scene.ask()
                if dice.chance(20) {
                    _ = try scene.claim()
                    scene.node += 1
                }
                try scene.compute { Self.choose(due, $0.memo, day: day) }
                let wanted = locked.flatMap { $0.day == day && due.contains($0.goal) ? $0.goal : nil } ?? due.first
                locked = wanted.map { ($0, day) }
                if let wanted {
                    #expect(scene.state() == .object(Sample.state(wanted)), "seed \(seed)")
                } else {
                    #expect(scene.activity()?.phase != .active, "seed \(seed)")
                    #expect(scene.store.rows.memos.isEmpty, "seed \(seed)")
                }
                scene.now = scene.now + .seconds(dice.roll(30_000))
            }
        }
    }

    @Test func `a provider that fails about three people in a row is held, and probed until it answers`() {
        var health = ProviderHealth()
        let now = Sample.now
        for _ in 1...10 { health.failed(Sample.user("one"), at: now, dice: 0.5) }
        #expect(health.room(open: 0, limit: 32, at: now) == 32)
        health.failed(Sample.user("two"), at: now, dice: 0.5)
        let isHeld = health.failed(Sample.user("three"), at: now, dice: 0.5)
        #expect(isHeld)
        #expect(health.room(open: 0, limit: 32, at: now) == 0)
        let held = health.heldUntil ?? now
        #expect(held > now && held <= now + .seconds(60))
        #expect(health.room(open: 0, limit: 32, at: held) == 1)
        #expect(health.room(open: 1, limit: 32, at: held) == 0)
        let isHeldAnew = health.failed(Sample.user("one"), at: held, dice: 0.5)
        #expect(!isHeldAnew)
        let wasHeld = health.succeeded()
        #expect(wasHeld)
        #expect(health.room(open: 3, limit: 32, at: held) == 29)
    }

    @Test(arguments: UInt64(1)...200)
    func `in no second more go than the pace allows, twice that where two seconds meet`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        let rate = 1 + dice.roll(50)
        var (now, pace) = (Sample.now, ProviderPace(perSecond: rate, at: Sample.now))
        var spent: [(UnixTime, Int)] = []
        for _ in 0..<200 {
            let count = min(pace.allowance(at: now), dice.roll(rate * 2))
            pace.spend(count)
            spent.append((now, count))
            let last = spent.filter { $0.0 > now - .seconds(1) }.reduce(0) { $0 + $1.1 }
            #expect(last <= 2 * rate, "seed \(seed)")
            if pace.allowance(at: now) == 0 {
                let opens = pace.opens(after: now)
                #expect(opens > now)
                let later = pace.allowance(at: opens)
                #expect(later >= 1, "seed \(seed)")
                now = opens
            }
            now = now + .milliseconds(Int64(dice.roll(400)))
        }
    }
}
