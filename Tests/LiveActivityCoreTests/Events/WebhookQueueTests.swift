import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct WebhookQueueTests {
    private static let key = WebhookKey(Sample.bundleID, "backend")

    private static func event(_ number: EventNumber, of activity: ActivityNumber?) -> StoredEvent {
        var record = EventRecord(.ended, app: Sample.bundleID, at: Sample.now)
        record.activity = activity
        return StoredEvent(number: number, record: record)
    }

    /// A queue at position 0 with one event for each of these activities.
    private static func queue(
        _ activities: [ActivityNumber?], _ change: (inout WebhookQueue.Limits) -> Void = { _ in }
    ) -> WebhookQueue {
        var limits = WebhookQueue.Limits()
        change(&limits)
        var queue = WebhookQueue(WebhookState(place: WebhookPlace(key, position: 0)), limits: limits)
        queue.take(
            activities.enumerated().map { event(EventNumber($0 + 1), of: $1) }, through: EventNumber(activities.count))
        return queue
    }

    private static let failed = WebhookQueue.Outcome.failed("HTTP 500")
    private let now = Sample.now

    // MARK: - Order

    @Test func `events of an activity go one after another, those of others beside them`() {
        var queue = Self.queue([1, 1, 2, nil, nil])
        #expect(queue.next(at: now) == [1, 3, 4])
        #expect(queue.next(at: now).isEmpty)
        #expect(queue.finish(3, .taken, at: now, dice: 1).isEmpty)
        #expect(queue.next(at: now).isEmpty)
        _ = queue.finish(1, .taken, at: now, dice: 1)
        #expect(queue.next(at: now) == [2])
        _ = queue.finish(4, .taken, at: now, dice: 1)
        #expect(queue.next(at: now) == [5])
        _ = queue.finish(2, .taken, at: now, dice: 1)
        _ = queue.finish(5, .taken, at: now, dice: 1)
        #expect(queue.waiting == 0 && queue.nextAt(after: now) == nil)
    }

    @Test func `so many calls at the same time, the earliest first`() {
        var queue = Self.queue([5, 4, 3, 2, 1]) { $0.open = 2 }
        #expect(queue.next(at: now) == [1, 2])
        #expect(queue.nextAt(after: now) == nil)
        _ = queue.finish(2, .taken, at: now, dice: 1)
        #expect(queue.next(at: now) == [3])
    }

    @Test func `a failure holds its own activity, until its time has come`() {
        var queue = Self.queue([1, 1, 2, 2])
        #expect(queue.next(at: now) == [1, 3])
        _ = queue.finish(1, Self.failed, at: now, dice: 1)
        _ = queue.finish(3, .taken, at: now, dice: 1)
        #expect(queue.next(at: now) == [4])
        _ = queue.finish(4, .taken, at: now, dice: 1)
        #expect(queue.next(at: now).isEmpty)
        #expect(queue.nextAt(after: now) == now + .seconds(2))
        #expect(queue.next(at: now + .milliseconds(1999)).isEmpty)
        #expect(queue.next(at: now + .seconds(2)) == [1])
        _ = queue.finish(1, .taken, at: now, dice: 1)
        #expect(queue.next(at: now + .seconds(2)) == [2])
    }

    // MARK: - Waits

    @Test(arguments: [
        (1, 2.0), (2, 6), (3, 18), (4, 54), (5, 162), (6, 486), (7, 1458), (8, 3600), (9, 3600), (1000, 3600),
    ])
    func `waits triple up to an hour`(tries: Int, seconds: Double) {
        let full = Int(seconds * 1000)
        #expect(WebhookQueue.wait(tries: tries, dice: 1) == .milliseconds(full))
        #expect(WebhookQueue.wait(tries: tries, dice: 0.5) == .milliseconds(full / 2))
        #expect(WebhookQueue.wait(tries: tries, dice: 0) == .milliseconds(full / 10))
    }

    @Test func `an endpoint that says when to come again is heeded, up to an hour`() {
        for (asked, given) in [(30, 30), (100_000, 3600), (1, 2)] {
            var queue = Self.queue([1])
            _ = queue.next(at: now)
            _ = queue.finish(1, .failed("HTTP 429", retryAfter: .seconds(asked)), at: now, dice: 1)
            #expect(queue.nextAt(after: now) == now + .seconds(given))
        }
    }

    // MARK: - An endpoint in trouble

    @Test(arguments: [1, 5]) func `no wait outlasts the longest, though the clock was set back`(failures: Int) {
        var queue = Self.queue([1])
        let failedAt = Self.fail(&queue, failures, every: .seconds(3600))
        #expect(queue.next(at: failedAt + .seconds(3599)).isEmpty)
        #expect(queue.nextAt(after: failedAt) == failedAt + .seconds(3600))
        #expect(queue.nextAt(after: failedAt - .seconds(60)) == failedAt - .seconds(60))
    }

    @Test(arguments: [1, 5]) func `what waits when the clock is set back is due`(failures: Int) {
        var queue = Self.queue([1])
        let failedAt = Self.fail(&queue, failures, every: .seconds(600))
        #expect(queue.next(at: failedAt - .milliseconds(500)).isEmpty)
        #expect(queue.next(at: failedAt - .seconds(2400)) == [1])
    }

    @Test func `what waits too long when a process begins waits for no other's time either`() {
        let waiting = [(EventNumber(1), 600), (2, 5000)].map { number, seconds in
            WebhookDelivery(
                number: number, activity: 1, tries: 1, firstTriedAt: now, dueAt: now + .seconds(seconds), deadAt: nil,
                failure: "HTTP 500")
        }
        var queue = WebhookQueue(WebhookState(place: WebhookPlace(Self.key, position: 2), waiting: waiting, parked: []))
        #expect(queue.next(at: now).isEmpty)
        #expect(queue.next(at: now + .seconds(1800)) == [1])
        _ = queue.finish(1, .taken, at: now + .seconds(1800), dice: 1)
        #expect(queue.next(at: now + .seconds(1800)) == [2])
    }

    /// - Returns: Time of event 1's last failure.
    private static func fail(_ queue: inout WebhookQueue, _ times: Int, every pause: Duration) -> UnixTime {
        var time = Sample.now
        for _ in 0..<times {
            time = time + pause
            #expect(queue.next(at: time) == [1])
            _ = queue.finish(1, .failed("HTTP 500", retryAfter: pause), at: time, dice: 1)
        }
        return time
    }

    @Test func `after failures in a row one event at a time is tried, and all go on with the first that is taken`()
        throws
    {
        var queue = Self.queue([1, 2, 3, 4, 5, 6, 6]) { $0.open = 5 }
        var changes: [WebhookQueue.Change] = []
        for number in queue.next(at: now) { changes += queue.finish(number, Self.failed, at: now, dice: 1) }
        #expect(changes == [.inTrouble("HTTP 500")])
        #expect(queue.next(at: now).isEmpty)
        var time = try #require(queue.nextAt(after: now))
        #expect(time == now + .seconds(162))
        // Only the first event's tries are used up.
        for _ in 0..<3 {
            #expect(queue.next(at: time) == [1])
            #expect(queue.next(at: time).isEmpty)
            _ = queue.finish(1, Self.failed, at: time, dice: 1)
            time = try #require(queue.nextAt(after: time))
        }
        #expect(queue.next(at: time) == [1])
        #expect(queue.finish(1, .taken, at: time, dice: 1) == [.takesAgain])
        #expect(queue.next(at: time) == [2, 3, 4, 5, 6])
    }

    @Test func `an event that the endpoint cannot take does not hold up those of other activities`() throws {
        var queue = Self.queue([1]) { $0.trouble = 3 }
        var time = now
        for _ in 1...3 {
            #expect(queue.next(at: time) == [1])
            _ = queue.finish(1, Self.failed, at: time, dice: 1)
            time = try #require(queue.nextAt(after: time))
        }
        #expect(queue.isInTrouble)
        queue.take([Self.event(2, of: 2), Self.event(3, of: 3)], through: 3)
        #expect(queue.next(at: time) == [2])
        #expect(queue.finish(2, .taken, at: time, dice: 1) == [.takesAgain])
        #expect(queue.next(at: time) == [1, 3])
    }

    @Test func `an event is given up after so many tries, and the next of its activity follows`() throws {
        var queue = Self.queue([1, 1]) { $0.tries = 3 }
        var time = now
        for trial in 1...3 {
            #expect(queue.next(at: time) == [1])
            let changes = queue.finish(1, Self.failed, at: time, dice: 1)
            #expect(changes == (trial == 3 ? [.gaveUp(1, "HTTP 500")] : []))
            if trial < 3 { time = try #require(queue.nextAt(after: time)) }
        }
        #expect(queue.next(at: time) == [2])
        _ = queue.finish(2, .taken, at: time, dice: 1)
        let written = queue.takeProgress()
        let progress = try #require(written)
        #expect(progress.place.position == 2 && progress.done.isEmpty)
        let dead = try #require(progress.rows.first)
        #expect(progress.rows.count == 1 && dead.number == 1 && dead.activity == 1 && dead.tries == 3)
        #expect(dead.deadAt == time && dead.firstTriedAt == now && dead.failure == "HTTP 500")
        #expect(queue.takeProgress() == nil)
    }

    @Test func `or a day after the first try`() {
        var queue = Self.queue([1])
        _ = queue.next(at: now)
        #expect(queue.finish(1, Self.failed, at: now, dice: 1).isEmpty)
        let later = now + .seconds(24 * 3600)
        #expect(queue.next(at: later) == [1])
        #expect(queue.finish(1, Self.failed, at: later, dice: 1) == [.gaveUp(1, "HTTP 500")])
    }

    @Test func `an endpoint that takes nothing for days is turned off, and told nothing more`() {
        var queue = Self.queue([1, 2, 3])
        _ = queue.next(at: now)
        _ = queue.finish(1, Self.failed, at: now, dice: 1)
        _ = queue.finish(2, Self.failed, at: now, dice: 1)
        let later = now + .seconds(3 * 86_400)
        #expect(queue.finish(3, Self.failed, at: later, dice: 1) == [.disabled("HTTP 500")])
        #expect(queue.isDisabled && queue.disabledAt == later)
        #expect(queue.next(at: later + .seconds(86_400)).isEmpty)
        #expect(queue.nextAt(after: later) == nil && queue.room == 0)
        // A 410 disables the endpoint at once.
        queue = Self.queue([1])
        _ = queue.next(at: now)
        #expect(queue.finish(1, .unsubscribed, at: now, dice: 1) == [.disabled("HTTP 410: the endpoint unsubscribed")])
        #expect(queue.takeProgress()?.place.position == 0)
    }

    @Test func `an event that was erased is told nobody, and says nothing of the endpoint`() {
        var queue = Self.queue([1, 1, 2]) { $0.trouble = 2 }
        _ = queue.next(at: now)
        _ = queue.finish(1, Self.failed, at: now, dice: 1)
        #expect(queue.finish(3, Self.failed, at: now, dice: 1) == [.inTrouble("HTTP 500")])
        #expect(queue.next(at: now + .seconds(60)) == [1])
        #expect(queue.finish(1, .erased, at: now + .seconds(60), dice: 1).isEmpty)
        #expect(queue.isInTrouble && queue.failingSince == now && queue.waiting == 2)
        #expect(queue.next(at: now + .seconds(60)) == [2])
    }

    // MARK: - Its place

    @Test func `the position is behind all that is done, and never past what is not`() {
        var queue = Self.queue([1, 2, 3, 4])
        #expect(queue.takeProgress() == nil)
        _ = queue.next(at: now)
        _ = queue.finish(2, .taken, at: now, dice: 1)
        _ = queue.finish(3, .taken, at: now, dice: 1)
        #expect(queue.takeProgress() == nil, "the first is not done")
        _ = queue.finish(1, .taken, at: now, dice: 1)
        #expect(queue.takeProgress()?.place.position == 3)
        queue.take([], through: 90)
        #expect(queue.takeProgress() == nil)
        _ = queue.finish(4, .taken, at: now, dice: 1)
        #expect(queue.takeProgress()?.place.position == 90)
    }

    @Test func `what failed, and what waits behind it, has rows, and holds up the position no more`() {
        var queue = Self.queue([1, 1, 2])
        _ = queue.next(at: now)
        _ = queue.finish(1, Self.failed, at: now, dice: 1)
        _ = queue.finish(3, .taken, at: now, dice: 1)
        let first = queue.takeProgress()
        #expect(first?.place.position == 3 && first?.place.failures == 0)
        #expect(first?.rows.map(\.number) == [1, 2] && first?.rows.map(\.tries) == [1, 0])
        #expect(queue.next(at: now + .seconds(2)) == [1])
        _ = queue.finish(1, .taken, at: now + .seconds(2), dice: 1)
        let second = queue.takeProgress()
        #expect(second?.done == [1] && second?.rows.isEmpty == true && second?.place.position == 3)
    }

    @Test func `a row that a crash left ahead of the position does not pull it past what was not read again`() {
        let place = WebhookPlace(Self.key, position: 4)
        var queue = WebhookQueue(WebhookState(place: place, waiting: [WebhookDelivery(number: 10, activity: 1)]))
        #expect(queue.readThrough == 4 && queue.takeProgress() == nil)
        queue.take([Self.event(6, of: 2)], through: 7)
        #expect(queue.takeProgress()?.place.position == 5)
        #expect(queue.next(at: now) == [6, 10])
        _ = queue.finish(6, .taken, at: now, dice: 1)
        #expect(queue.takeProgress()?.place.position == 7)
        _ = queue.finish(10, .taken, at: now, dice: 1)
        let last = queue.takeProgress()
        #expect(last?.place.position == 7 && last?.done == [10])
    }

    @Test func `a window is read at a time`() {
        var queue = Self.queue([1, 2, 3]) { $0.window = 3 }
        #expect(queue.room == 0)
        _ = queue.next(at: now)
        _ = queue.finish(1, .taken, at: now, dice: 1)
        #expect(queue.room == 1)
    }

    @Test func `what was given up and is replayed is told before what came later`() {
        var place = WebhookPlace(Self.key, position: 5)
        place.version = 1
        var queue = WebhookQueue(
            WebhookState(place: place, waiting: [WebhookDelivery(number: 3, activity: 1)]))
        queue.take([Self.event(6, of: 1)], through: 6)
        #expect(queue.next(at: now) == [3])
        _ = queue.finish(3, .taken, at: now, dice: 1)
        #expect(queue.next(at: now) == [6])
    }

    /// Tests all outcomes with crashes. A new queue knows only what was written.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `at least once, in order, whatever fails and crashes`(seed: UInt64) throws {
        var dice = SeededDice(seed: seed)
        let total = 60
        let events = (1...total).map { number in
            Self.event(EventNumber(number), of: dice.chance(15) ? nil : ActivityNumber(dice.roll(4)))
        }
        var limits = WebhookQueue.Limits()
        (limits.window, limits.open, limits.tries) = (1 + dice.roll(20), 1 + dice.roll(4), .max)
        (limits.age, limits.disableAfter) = (.seconds(1 << 40), .seconds(1 << 40))
        var stored = WebhookState(place: WebhookPlace(Self.key, position: 0))
        var queue = WebhookQueue(stored, limits: limits)
        var now = Sample.now
        var open: [EventNumber] = []
        /// Events that the endpoint took, in order.
        var taken: [EventNumber] = []

        func write() {
            guard let progress = queue.takeProgress() else { return }
            stored.place = progress.place
            for row in progress.rows {
                stored.waiting.removeAll { $0.number == row.number }
                if row.deadAt == nil { stored.waiting.append(row) }
            }
            stored.waiting.removeAll { progress.done.contains($0.number) }
        }

        for _ in 0..<5000 where queue.waiting > 0 || queue.readThrough < total || !open.isEmpty {
            switch dice.roll(10) {
            case 0, 1:
                let from = Int(queue.readThrough)
                let end = min(total, from + min(queue.room, dice.roll(10)))
                queue.take(Array(events[from..<max(from, end)]), through: EventNumber(max(from, end)))
            case 2, 3, 4: open += queue.next(at: now)
            case 5, 6, 7:
                guard !open.isEmpty else { continue }
                let number = open.remove(at: dice.roll(open.count))
                let isTaken = dice.chance(60)
                if isTaken { taken.append(number) }
                _ = queue.finish(
                    number, isTaken ? .taken : Self.failed, at: now, dice: Double(dice.roll(100)) / 100)
            case 8: write()
            default:
                now = now + .seconds(dice.roll(2000))
                guard dice.chance(20) else { continue }
                // A crash. The endpoint may have taken events whose answer is lost.
                taken += open.filter { _ in dice.chance(50) }
                open = []
                queue = WebhookQueue(stored, limits: limits)
            }
        }
        #expect(queue.waiting == 0 && queue.readThrough == total, "seed \(seed)")
        #expect(Set(taken) == Set(events.map(\.number)), "seed \(seed)")
        // Each event is first sent after all earlier events of its activity.
        for activity in Set(events.map(\.record.activity)) {
            let its = Set(events.filter { $0.record.activity == activity }.map(\.number))
            var firsts: [EventNumber] = []
            for number in taken where its.contains(number) && !firsts.contains(number) { firsts.append(number) }
            #expect(firsts == firsts.sorted(), "seed \(seed)")
        }
        write()
        #expect(stored.place.position == total && stored.waiting.isEmpty, "seed \(seed)")
    }
}
