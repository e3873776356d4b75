import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct BudgetTests {
    private static let key = BudgetKey(7, .high)

    /// A device that gets pushes as fast as its budget allows, while the server's clock is sometimes set.
    private struct Device {
        let limit: BudgetLimit
        var record: BudgetRecord?
        /// Time that has really passed, and how far the clock is behind it.
        var elapsed = Duration.zero
        var behind = Duration.zero
        /// Times of the pushes: in true time, and by the clock.
        var sent: [Duration] = []
        var sentByClock: [Duration] = []

        var now: UnixTime { Sample.now + elapsed - behind }

        func opens(_ use: BudgetLimit.Use) -> UnixTime { limit.opens(record, for: use, now: now) }

        mutating func trySend(_ use: BudgetLimit.Use) {
            guard opens(use) <= now else { return }
            record = limit.spent(record, BudgetTests.key, now: now)
            sent.append(elapsed)
            sentByClock.append(elapsed - behind)
        }

        /// Returns the largest number of pushes in any window of this length, its ends included.
        static func most(of times: [Duration], in window: Duration) -> Int {
            let sent = times.sorted()
            var (first, most) = (0, 0)
            for last in sent.indices {
                while sent[last] - sent[first] > window { first += 1 }
                most = max(most, last - first + 1)
            }
            return most
        }
    }

    private static func limit(_ dice: inout SeededDice) -> BudgetLimit {
        var limit = BudgetLimit(perHour: 1 + dice.roll(30), perDay: 1 + dice.roll(300))
        limit.reserve = dice.pick([0, 10, 30, 100])
        return limit
    }

    @Test(arguments: UInt64(1)...150)
    func `no hour and no day, wherever it begins, sees more than the number`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var device = Device(limit: Self.limit(&dice))
        for _ in 0..<1500 {
            let use: BudgetLimit.Use = dice.chance(50) ? .ordinary : .alertOrEnd
            for _ in 0..<1 + dice.roll(3) { device.trySend(use) }
            if dice.chance(40) {
                // Sends as early as the budget allows.
                device.elapsed += max(.zero, device.opens(use) - device.now)
            } else {
                device.elapsed += .milliseconds(dice.pick([1, 900, 60_000, 600_000, 3_600_000, 20_000_000]))
            }
            if dice.chance(3) { device.behind += .milliseconds(dice.roll(7_200_000)) }
        }
        #expect(Device.most(of: device.sent, in: .seconds(3600)) <= device.limit.perHour, "seed \(seed)")
        #expect(Device.most(of: device.sent, in: .seconds(86_400)) <= device.limit.perDay, "seed \(seed)")
        #expect(device.sent.count > 2, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...150)
    func `no hour by the clock sees more than the number, however the clock is set`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var device = Device(limit: Self.limit(&dice))
        for _ in 0..<1500 {
            for _ in 0..<1 + dice.roll(3) { device.trySend(.alertOrEnd) }
            device.elapsed += .milliseconds(dice.pick([1, 900, 60_000, 600_000, 3_600_000]))
            // The clock is never more than an hour off, so it is never set back by more than two hours.
            if dice.chance(20) { device.behind = .milliseconds(dice.roll(7_200_000) - 3_600_000) }
        }
        #expect(Device.most(of: device.sentByClock, in: .seconds(3600)) <= device.limit.perHour, "seed \(seed)")
        #expect(Device.most(of: device.sentByClock, in: .seconds(86_400)) <= device.limit.perDay, "seed \(seed)")
        #expect(device.sent.count > 2, "seed \(seed)")
    }

    @Test(arguments: UInt64(1)...150)
    func `it opens at the instant it names and not a millisecond earlier`(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        var device = Device(limit: Self.limit(&dice))
        for use in [BudgetLimit.Use.ordinary, .alertOrEnd] {
            #expect(device.opens(use) == device.now, "an untouched budget is open")
        }
        for _ in 0..<300 {
            let use: BudgetLimit.Use = dice.chance(50) ? .ordinary : .alertOrEnd
            device.trySend(use)
            device.elapsed += .milliseconds(dice.roll(200_000))
            if dice.chance(10) { device.behind += .milliseconds(dice.roll(4_000_000)) }
            let opens = device.opens(use)
            guard opens > device.now else { continue }
            #expect(device.limit.opens(device.record, for: use, now: opens) == opens, "seed \(seed)")
            let before = opens - .milliseconds(1)
            #expect(device.limit.opens(device.record, for: use, now: before) == opens, "seed \(seed)")
        }
    }

    @Test func `half goes at once, and the reserve is for alerts and ends`() {
        var device = Device(limit: BudgetLimit(perHour: 40, perDay: 1000))
        for _ in 0..<100 { device.trySend(.ordinary) }
        #expect(device.sent.count == 18)
        for _ in 0..<100 { device.trySend(.alertOrEnd) }
        #expect(device.sent.count == 20)
        // Twenty pushes of an hourly limit are restored within an hour.
        #expect(device.opens(.alertOrEnd) == device.now + .seconds(180))
        #expect(device.opens(.ordinary) == device.now + .seconds(3 * 180))
    }

    @Test func `a clock that is set back gives back what drained, and says when the budget really opens`() {
        var device = Device(limit: BudgetLimit(perHour: 2, perDay: 1000))
        device.trySend(.alertOrEnd)
        device.behind = .seconds(7199)
        #expect(device.opens(.alertOrEnd) == Sample.now + .seconds(3600))
        // Two hours later the push no longer counts. If the clock is then set back by an hour, it counts in part.
        device.behind = .zero
        device.elapsed = .seconds(7200)
        device.trySend(.alertOrEnd)
        device.behind = .seconds(3600)
        #expect(device.opens(.alertOrEnd) == Sample.now + .seconds(10_800))
    }

    @Test func `a clock that is set back by days leaves what was left of the budget`() {
        var device = Device(limit: BudgetLimit(perHour: 4, perDay: 4))
        device.trySend(.alertOrEnd)
        device.behind = .seconds(2 * 86_400 - 1)
        #expect(device.opens(.alertOrEnd) > device.now)
        device.behind = .seconds(2 * 86_400)
        device.trySend(.alertOrEnd)
        #expect(device.sent.count == 2 && device.opens(.alertOrEnd) == device.now + .seconds(43_200))
    }

    @Test func `the largest numbers that a policy may name are computed as well`() {
        var device = Device(limit: BudgetLimit(perHour: 100_000, perDay: 1_000_000))
        for step in [Duration.zero, .seconds(80_000), .seconds(2 * 86_400 - 1), .seconds(-40_000)] {
            device.elapsed += step
            device.trySend(.ordinary)
            #expect(device.limit.used(device.record, now: device.now).hour >= 1)
        }
        #expect(device.sent.count == 4)
    }

    // MARK: - The reconciler's use

    private static func spent(_ kind: BudgetRecord.Kind, _ limit: BudgetLimit) -> BudgetRecord? {
        var record: BudgetRecord?
        while limit.opens(record, for: .alertOrEnd, now: Sample.now) <= Sample.now {
            record = limit.spent(record, BudgetKey(7, kind), now: Sample.now)
        }
        return record
    }

    @Test func `over the budget updates and ends go low, and high again once it opens`() throws {
        let limit = BudgetPolicy().high
        let record = try #require(Self.spent(.high, limit))
        let opens = limit.opens(record, for: .alertOrEnd, now: Sample.now)
        for phase in [ActivityRecord.Phase.active, .ended] {
            var situation = Situation("") { $0.makeLive() }
            situation.desired.activity.priority = .high
            situation.desired.activity.phase = phase
            situation.alert(expiresAt: opens + .seconds(60))
            for (budget, now, priority) in [
                (nil, Sample.now, PushPriority.high), (record, Sample.now, .low),
                (record, opens - .milliseconds(1), .low), (record, opens, .high),
            ] {
                situation.phone.highBudget = budget
                situation.now = now
                guard case .send(let plan) = situation.decision else {
                    Issue.record("\(phase) at \(now): \(situation.decision)")
                    continue
                }
                #expect(plan.priority == priority, "\(phase) at \(now)")
            }
        }
    }

    @Test func `over the budget a start waits until it opens, and then goes`() throws {
        let limit = BudgetPolicy().start
        let record = try #require(Self.spent(.start, limit))
        let opens = limit.opens(record, for: .alertOrEnd, now: Sample.now)
        var situation = Situation("") { $0.phone.startBudget = record }
        guard case .wait(let until, let reason) = situation.decision else {
            Issue.record("\(situation.decision)")
            return
        }
        #expect(until == opens && reason.code == .startBudget && opens > Sample.now)
        situation.now = opens
        guard case .send(let plan) = situation.decision else {
            Issue.record("\(situation.decision)")
            return
        }
        #expect(plan.kind == .start)
    }

    @Test func `what is left is the smaller share of what may go at once`() {
        let limit = BudgetLimit(perHour: 20, perDay: 40)
        var record = limit.spent(nil, Self.key, now: Sample.now)
        #expect(limit.shareLeft(record) == 0.9)
        for _ in 0..<9 { record = limit.spent(record, Self.key, now: Sample.now) }
        #expect(limit.shareLeft(record) == 0)
        // An hour later the hourly measure is restored, but the daily one is not.
        record = limit.spent(record, Self.key, now: Sample.now + .seconds(3600))
        #expect((0.4...0.6).contains(limit.shareLeft(record)), "\(limit.shareLeft(record))")
    }
}
