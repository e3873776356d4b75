import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of an activity whose events the endpoint refuses, beside others whose events it takes.
struct WebhookParkingTests {
    private static let key = WebhookKey(Sample.bundleID, "backend")
    private static let failed = WebhookQueue.Outcome.failed("HTTP 500")

    private static func event(_ number: EventNumber, of activity: ActivityNumber?) -> StoredEvent {
        var record = EventRecord(.ended, app: Sample.bundleID, at: Sample.now)
        record.activity = activity
        return StoredEvent(number: number, record: record)
    }

    /// The part of the database that a queue reads and writes.
    private struct Stored {
        var place = WebhookPlace(key, position: 0)
        var waiting: [EventNumber: WebhookDelivery] = [:]
        var dead: Set<EventNumber> = []

        mutating func write(_ queue: inout WebhookQueue) {
            guard let progress = queue.takeProgress() else { return }
            place = progress.place
            for row in progress.rows {
                waiting[row.number] = row.deadAt == nil ? row : nil
                if row.deadAt != nil { dead.insert(row.number) }
            }
            for number in progress.done { waiting[number] = nil }
        }

        func of(_ activity: ActivityNumber?) -> [WebhookDelivery] {
            waiting.values.filter { $0.activity == activity }.sorted { $0.number < $1.number }
        }

        /// - Parameter most: Limit for one activity.
        func state(most: Int) -> WebhookState {
            let activities = Set(waiting.values.map(\.activity))
            return WebhookState(
                place: place, waiting: activities.flatMap { of($0).prefix(most) },
                parked: activities.filter { of($0).count > most })
        }

        mutating func refill(_ queue: inout WebhookQueue) {
            let refills = queue.refills
            write(&queue)
            for refill in refills {
                queue.take(Array(of(refill.activity).prefix(refill.limit)), for: refill)
            }
        }
    }

    /// 3000 events of activity 1, which the endpoint refuses. Every hundredth event is of another activity.
    private static let events = (1...3000).map { (number: Int) in
        let activity: ActivityNumber = number.isMultiple(of: 100) ? ActivityNumber(number + 1) : 1
        return event(EventNumber(number), of: activity)
    }

    @Test func `an activity that is refused for days leaves the others their room, and the endpoint stays on`() throws {
        var (queue, stored, now) = (WebhookQueue(WebhookState(place: Stored().place)), Stored(), Sample.now)
        var (taken, most) = (Set<EventNumber>(), 0)
        let end = now + .seconds(4 * 86_400)
        while now < end {
            while queue.room > 0, queue.readThrough < 3000 {
                let from = Int(queue.readThrough)
                let page = Self.events[from..<min(3000, from + min(queue.room, 500))]
                queue.take(Array(page), through: EventNumber(from + page.count))
                if queue.mustWrite { stored.write(&queue) }
            }
            stored.refill(&queue)
            for number in queue.next(at: now) {
                let isTaken = number % 100 == 0
                if isTaken { taken.insert(number) }
                _ = queue.finish(number, isTaken ? .taken : Self.failed, at: now, dice: 1)
            }
            stored.write(&queue)
            if queue.readThrough >= 3000 {
                most = max(most, queue.waiting)
                // Another activity has an event from time to time.
                let number = queue.readThrough + 100
                queue.take([Self.event(number, of: 1 + number)], through: number)
            }
            now = max(now + .seconds(3600), min(queue.nextAt(after: now) ?? end, now + .seconds(7200)))
        }
        let others = stride(from: EventNumber(100), to: queue.readThrough, by: 100)
        #expect(taken.isSuperset(of: others) && taken.count <= 1 + queue.readThrough / 100)
        #expect(!queue.isDisabled)
        #expect(most <= WebhookQueue.Limits().stuckWindow + WebhookQueue.Limits().refill)
        #expect(stored.place.position >= queue.readThrough - 100)
        // Events are given up one after another. The waiting ones are in the database.
        #expect(!stored.dead.isEmpty && stored.dead == Set(1...EventNumber(stored.dead.count)))
        #expect(stored.of(1).count == 2970 - stored.dead.count)
    }

    @Test func `an endpoint that is turned on again for one activity gets what was parked, in order`() {
        var (queue, stored, now) = (WebhookQueue(WebhookState(place: Stored().place)), Stored(), Sample.now)
        queue.take(Array(Self.events.prefix(900)), through: 900)
        for _ in 1...5 {
            for number in queue.next(at: now) {
                _ = queue.finish(number, number % 100 == 0 ? .taken : Self.failed, at: now, dice: 1)
            }
            now = now + .seconds(200)
        }
        stored.write(&queue)
        #expect(queue.waiting == WebhookQueue.Limits().stuckWindow)
        #expect(stored.of(1).count == 891)
        // Another process reads the stored state.
        queue = WebhookQueue(stored.state(most: WebhookState.waitingOfOne))
        var told: [EventNumber] = []
        while !stored.waiting.isEmpty || queue.waiting > 0, told.count < 2000 {
            stored.refill(&queue)
            for number in queue.next(at: now) {
                told.append(number)
                _ = queue.finish(number, .taken, at: now, dice: 1)
            }
            stored.write(&queue)
            now = now + .seconds(1)
        }
        #expect(told == (1...900).filter { !$0.isMultiple(of: 100) }.map { EventNumber($0) })
        #expect(queue.refills.isEmpty && stored.place.position == 900)
    }

    @Test func `a failure that goes on by itself keeps no other waiting, and brings no trouble back`() throws {
        var queue = WebhookQueue(WebhookState(place: Stored().place))
        queue.take([Self.event(1, of: 1)], through: 1)
        var now = Sample.now
        for _ in 1...8 {
            _ = queue.next(at: now)
            _ = queue.finish(1, Self.failed, at: now, dice: 1)
            now = try #require(queue.nextAt(after: now))
        }
        // The event's own wait is now an hour. The endpoint's wait is that of five failures.
        queue.take([Self.event(2, of: 2)], through: 2)
        #expect(queue.isInTrouble)
        let time = now - .seconds(3600)
        #expect(queue.next(at: time) == [2])
        #expect(queue.finish(2, .taken, at: time, dice: 1) == [.takesAgain])
        for _ in 1...10 {
            #expect(queue.next(at: now) == [1])
            #expect(queue.finish(1, Self.failed, at: now, dice: 1).isEmpty)
            now = try #require(queue.nextAt(after: now))
        }
        #expect(!queue.isInTrouble && queue.failures == 0)
    }

    @Test func `many refused activities leave others half of the window`() {
        var stored = Stored()
        for number in 1...4000 as ClosedRange<EventNumber> {
            stored.waiting[number] = WebhookDelivery(
                number: number, activity: number % 20, tries: 0, firstTriedAt: nil, dueAt: nil, deadAt: nil,
                failure: nil)
        }
        stored.place = WebhookPlace(Self.key, position: 4000)
        var queue = WebhookQueue(stored.state(most: 0))
        stored.refill(&queue)
        let half = WebhookQueue.Limits().window / 2
        #expect(queue.waiting <= half + 20 && queue.room == half)
        queue.take([Self.event(4001, of: 100)], through: 4001)
        var (told, now) = (Set<EventNumber>(), Sample.now)
        for _ in 1...9 {
            for number in queue.next(at: now) {
                told.insert(number)
                _ = queue.finish(number, number == 4001 ? .taken : Self.failed, at: now, dice: 1)
            }
            now = queue.nextAt(after: now) ?? now
        }
        #expect(told.contains(4001))
    }

    @Test func `stuck activities never fill more than two windows`() {
        let window = WebhookQueue.Limits().window
        var queue = WebhookQueue(
            WebhookState(
                place: WebhookPlace(Self.key, position: 3000),
                waiting: (1...1900).map { number in
                    WebhookDelivery(
                        number: number, activity: number, tries: 5, firstTriedAt: Sample.now, dueAt: nil, deadAt: nil,
                        failure: "HTTP 500")
                }, parked: []))
        #expect(queue.room == 2 * window - 1900)
        queue.take((3001...3100).map { Self.event($0, of: 1) }, through: 3100)
        #expect(queue.waiting + queue.room <= 2 * window)
    }

    @Test func `the rest of an endpoint grows with the activities that it refuses, not with their tries`() {
        var queue = WebhookQueue(WebhookState(place: Stored().place))
        queue.take((1...3).map { Self.event($0, of: $0) }, through: 3)
        var (now, tries) = (Sample.now, 0)
        while tries < 3 * WebhookQueue.Limits().trouble {
            now = queue.nextAt(after: now) ?? now
            for number in queue.next(at: now) {
                _ = queue.finish(number, Self.failed, at: now, dice: 1)
                tries += 1
            }
        }
        // Another activity's first event waits as after three failures, not fifteen.
        queue.take([Self.event(4, of: 4)], through: 4)
        #expect(queue.isInTrouble && queue.nextAt(after: now) == now + WebhookQueue.wait(tries: 3, dice: 1))
        #expect(queue.next(at: now + WebhookQueue.wait(tries: 3, dice: 1)) == [4])
    }

    @Test func `what follows an event that was given up goes behind the events of other activities`() throws {
        var limits = WebhookQueue.Limits()
        limits.tries = 6
        var queue = WebhookQueue(WebhookState(place: Stored().place), limits: limits)
        queue.take((1...3).map { Self.event($0, of: 1) }, through: 3)
        var now = Sample.now
        for _ in 1...limits.tries {
            now = try #require(queue.nextAt(after: now))
            #expect(queue.next(at: now) == [1])
            _ = queue.finish(1, Self.failed, at: now, dice: 1)
        }
        queue.take([Self.event(4, of: 2)], through: 4)
        #expect(queue.isInTrouble && queue.waiting == 3)
        var told: [EventNumber] = []
        for _ in 1...2 {
            now = try #require(queue.nextAt(after: now))
            for number in queue.next(at: now) {
                told.append(number)
                _ = queue.finish(number, Self.failed, at: now, dice: 1)
            }
        }
        #expect(told == [4, 2])
    }

    @Test func `an activity of which nothing is left to tell begins anew`() throws {
        var limits = WebhookQueue.Limits()
        (limits.tries, limits.stuckWindow) = (6, 1)
        var (queue, stored) = (WebhookQueue(WebhookState(place: Stored().place), limits: limits), Stored())
        queue.take((1...2).map { Self.event($0, of: 1) }, through: 2)
        var now = Sample.now
        for _ in 1...limits.tries {
            now = try #require(queue.nextAt(after: now))
            #expect(queue.next(at: now) == [1])
            _ = queue.finish(1, Self.failed, at: now, dice: 1)
        }
        // An operator discards the event that was parked behind the one that was given up.
        stored.write(&queue)
        #expect(queue.refills.count == 1 && stored.waiting.count == 1)
        stored.waiting = [:]
        stored.refill(&queue)
        queue.take([Self.event(3, of: 1), Self.event(4, of: 2)], through: 4)
        #expect(queue.isInTrouble && queue.next(at: now + .seconds(3600)) == [3])
    }

    @Test(arguments: [1, 2])
    func `an endpoint is turned off for what it refuses of two activities, not of one`(activities: Int64) {
        var queue = WebhookQueue(WebhookState(place: Stored().place))
        queue.take((1...200).map { Self.event($0, of: $0 % activities) }, through: 200)
        var now = Sample.now
        let days = { (number: Int) in Sample.now + .seconds(number * 86_400) }
        while now < days(9), !queue.isDisabled {
            for number in queue.next(at: now) { _ = queue.finish(number, Self.failed, at: now, dice: 1) }
            now = max(now, queue.nextAt(after: now) ?? days(9))
        }
        #expect(queue.isDisabled == (activities == 2))
        if let disabledAt = queue.disabledAt { #expect(disabledAt >= days(3) && disabledAt < days(4)) }
        #expect(queue.failingSince == Sample.now)
    }

    @Test func `one that refuses an activity for days is not turned off when it is down for a moment`() {
        var queue = WebhookQueue(WebhookState(place: Stored().place))
        queue.take((1...200).map { Self.event($0, of: 1) }, through: 200)
        var now = Sample.now
        while now < Sample.now + .seconds(4 * 86_400) {
            for number in queue.next(at: now) { _ = queue.finish(number, Self.failed, at: now, dice: 1) }
            now = max(now, queue.nextAt(after: now) ?? Sample.now + .seconds(5 * 86_400))
        }
        queue.take([Self.event(201, of: 2)], through: 201)
        for _ in 1...8 {
            for number in queue.next(at: now) { _ = queue.finish(number, Self.failed, at: now, dice: 1) }
            now = max(now, queue.nextAt(after: now) ?? now)
        }
        #expect(!queue.isDisabled)
    }

    /// Tests all outcomes with crashes, and one activity that is refused until late.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `at least once and in order, with what is parked`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        let total = 80
        let events = (1...total).map { number in
            Self.event(EventNumber(number), of: dice.chance(10) ? nil : ActivityNumber(dice.roll(3)))
        }
        var limits = WebhookQueue.Limits()
        (limits.window, limits.open, limits.tries) = (4 + dice.roll(20), 1 + dice.roll(4), .max)
        (limits.age, limits.disableAfter) = (.seconds(1 << 40), .seconds(1 << 40))
        (limits.stuckWindow, limits.refill, limits.trouble) = (1 + dice.roll(4), 1 + dice.roll(6), 1 + dice.roll(4))
        var stored = Stored()
        var queue = WebhookQueue(stored.state(most: 5), limits: limits)
        var (now, open, taken) = (Sample.now, [EventNumber](), [EventNumber]())
        let refused: ActivityNumber? = dice.chance(20) ? nil : ActivityNumber(dice.roll(3))

        var steps = 0
        while queue.waiting > 0 || queue.readThrough < total || !open.isEmpty || !stored.waiting.isEmpty {
            steps += 1
            guard steps < 40_000 else {
                Issue.record("seed \(seed): it does not come to an end")
                return
            }
            switch dice.roll(10) {
            case 0, 1:
                let from = Int(queue.readThrough)
                let end = min(total, from + min(queue.room, dice.roll(10)))
                queue.take(Array(events[from..<max(from, end)]), through: EventNumber(max(from, end)))
                stored.refill(&queue)
            case 2, 3, 4: open += queue.next(at: now)
            case 5, 6, 7:
                guard !open.isEmpty else { continue }
                let number = open.remove(at: dice.roll(open.count))
                let isRefused = events[Int(number) - 1].record.activity == refused && steps < 300
                let isTaken = !isRefused && dice.chance(60)
                if isTaken { taken.append(number) }
                _ = queue.finish(
                    number, isTaken ? .taken : Self.failed, at: now, dice: Double(dice.roll(100)) / 100)
            case 8: stored.write(&queue)
            default:
                now = now + .seconds(dice.roll(2000))
                guard dice.chance(15) else { continue }
                // A crash. The endpoint may have taken events whose answer is lost.
                taken += open.filter { _ in dice.chance(50) }
                open = []
                queue = WebhookQueue(stored.state(most: 1 + dice.roll(8)), limits: limits)
            }
        }
        #expect(Set(taken) == Set(events.map(\.number)), "seed \(seed)")
        for activity in Set(events.map(\.record.activity)) {
            let its = Set(events.filter { $0.record.activity == activity }.map(\.number))
            var firsts: [EventNumber] = []
            for number in taken where its.contains(number) && !firsts.contains(number) { firsts.append(number) }
            #expect(firsts == firsts.sorted(), "seed \(seed)")
        }
        stored.write(&queue)
        #expect(stored.place.position == total, "seed \(seed)")
    }
}
