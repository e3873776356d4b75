// The machine behind one webhook: what is sent next, what is tried again when, and what is given up.
package import APNSModel

/// The events that one endpoint is still to be told, as a machine without a clock or a wire.
///
/// Events of an activity are told one after another, each until it was taken or given up; those of others go beside
/// them. An endpoint that takes nothing is tried with one event at a time, so that its outage uses up the tries of few;
/// one that has taken nothing for days is turned off until somebody turns it on.
///
/// An activity whose first event keeps failing by itself is *stuck*. A few of its events stay in memory; those behind
/// them are parked in the database, so that they take no room from the events of others.
package struct WebhookQueue: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Calls at the same time.
        package var open = 8
        /// Events in memory; further ones wait in the database.
        package var window = 1000
        /// Those of an activity that is stuck.
        package var stuckWindow = 10
        /// Parked events of an activity that are fetched at once.
        package var refill = 100
        /// An event is given up after so many tries, or so long after the first.
        package var tries = 30
        package var age = Duration.seconds(24 * 3600)
        /// Failures in a row after which one event at a time is tried.
        package var trouble = 5
        /// An endpoint that has taken nothing for so long is turned off, unless one activity alone may be the reason.
        package var disableAfter = Duration.seconds(3 * 86_400)

        package init() {}
    }

    /// How a call ended.
    package enum Outcome: Sendable, Equatable {
        case taken
        /// In words without anything that the endpoint said.
        case failed(String, retryAfter: Duration? = nil)
        /// 410: whoever was there wants nothing more.
        case unsubscribed
        /// It was not sent: the event is erased by now, and nobody can be told of it any more.
        case erased
    }

    /// What is worth a line in a log.
    package enum Change: Sendable, Equatable {
        case inTrouble(String)
        case takesAgain
        case gaveUp(EventNumber, String)
        case disabled(String)
    }

    struct Item {
        var number: EventNumber
        var activity: ActivityNumber?
        var tries = 0
        var firstTriedAt: UnixTime?
        var dueAt: UnixTime?
        var failure: String?
        var isOpen = false
    }

    let limits: Limits
    var items: [EventNumber: Item] = [:]
    /// The numbers of each activity in order.
    var lines: [ActivityNumber?: [EventNumber]] = [:]
    private var open = 0
    /// Everything up to it was read.
    private(set) package var readThrough: EventNumber
    package private(set) var failures: Int
    package private(set) var failingSince: UnixTime?
    package private(set) var disabledAt: UnixTime?
    package private(set) var lastFailure: String?
    /// While it is in trouble: not before then.
    private var restsUntil: UnixTime?
    /// Activities of which it has refused something since it took anything. How long it rests grows with their number,
    /// and not with the tries of each: a few that it cannot take say little of what it makes of others.
    private var refusedActivities: Set<ActivityNumber?> = []
    /// Activities with events left of which the endpoint has had one given up, and has taken none since. Their next
    /// events are as likely to be refused.
    var hasGivenUpOn: Set<ActivityNumber?> = []
    /// When it was last asked what is to be sent.
    private var askedAt: UnixTime?
    /// What the database holds, to write only what differs.
    var written: [EventNumber: WebhookDelivery] = [:]
    private var writtenPlace: WebhookPlace
    /// Given up since the last writing.
    private var givenUp: [WebhookDelivery] = []
    /// Activities of which events are parked behind those in memory.
    var parked: Set<ActivityNumber?>
    /// Parked since the last writing: the database does not have them yet.
    var toPark: [WebhookDelivery] = []

    package init(_ state: WebhookState, limits: Limits = Limits()) {
        self.limits = limits
        readThrough = state.place.position
        failures = state.place.failures
        failingSince = state.place.failingSince
        disabledAt = state.place.disabledAt
        lastFailure = state.place.failure
        writtenPlace = state.place
        parked = state.parked
        for delivery in state.waiting.sorted(by: { $0.number < $1.number }) {
            written[delivery.number] = delivery
            add(Item(delivery))
        }
    }

    package var isDisabled: Bool { disabledAt != nil }
    package var isInTrouble: Bool { failures >= limits.trouble }
    package var waiting: Int { items.count }

    // MARK: - Reading

    /// Number of events that may still be read. Events of stuck activities take half of the window at most, so that the
    /// others have the rest; with them the queue holds two windows at most.
    package var room: Int {
        guard !isDisabled else { return 0 }
        let stuck = stuckItems
        let others = limits.window - toPark.count - (items.count - stuck) - min(stuck, limits.window / 2)
        return max(0, min(others, 2 * limits.window - toPark.count - items.count))
    }

    /// Events that the endpoint wants, of all up to `number`.
    package mutating func take(_ events: [StoredEvent], through number: EventNumber) {
        for event in events where event.number > readThrough && items[event.number] == nil {
            let item = Item(number: event.number, activity: event.record.activity)
            if mustPark(item.activity) { park(item) } else { add(item) }
        }
        readThrough = max(readThrough, number)
    }

    mutating func add(_ item: Item) {
        items[item.number] = item
        var line = lines[item.activity, default: []]
        let place = line.firstIndex { $0 > item.number } ?? line.endIndex
        line.insert(item.number, at: place)
        lines[item.activity] = line
    }

    // MARK: - Sending

    /// What is to be sent now, the earliest first; each is open until `finish`.
    package mutating func next(at now: UnixTime) -> [EventNumber] {
        seeClock(now)
        guard !isDisabled else { return [] }
        let heads = lines.values.compactMap(\.first).compactMap { items[$0] }.filter { !$0.isOpen }
            .sorted { $0.number < $1.number }
        var chosen: [EventNumber] = []
        if isInTrouble {
            guard open == 0, let head = probe(heads.filter { probeAt($0, now) <= now }) else { return [] }
            chosen = [head.number]
        } else {
            chosen = heads.filter { Self.dueAt($0.dueAt, now) <= now }.prefix(max(0, limits.open - open))
                .map(\.number)
        }
        for number in chosen { items[number]?.isOpen = true }
        open += chosen.count
        return chosen
    }

    /// Where the clock was set back, what was put off by it would wait for so much longer. Of what was written down
    /// before this process nothing but its length tells.
    private mutating func seeClock(_ now: UnixTime) {
        if let askedAt {
            if now < askedAt - Self.clockSlack { forgetWaits() }
        } else {
            for (number, item) in items where Self.dueAt(item.dueAt, now) == now { items[number]?.dueAt = nil }
        }
        askedAt = now
    }

    private mutating func forgetWaits() {
        restsUntil = nil
        for number in items.keys { items[number]?.dueAt = nil }
    }

    /// What an endpoint in trouble is tried with: the earliest, so that no others use up their tries; but what has
    /// failed so often by itself may be the trouble, and lets those of other activities go first.
    private func probe(_ heads: [Item]) -> Item? {
        func turn(_ item: Item) -> (Int, EventNumber) { (isStuck(item) ? 1 + item.tries : 0, item.number) }
        return heads.min { turn($0) < turn($1) }
    }

    /// When an endpoint in trouble may be tried with an event. One that fails by itself keeps its own time, and the
    /// rest of the endpoint grows no longer by it: others would wait for nothing that is theirs.
    private func probeAt(_ head: Item, _ now: UnixTime) -> UnixTime {
        Self.dueAt(isStuck(head) ? head.dueAt : restsUntil, now)
    }

    /// No wait is longer than the longest: what is further ahead is by a clock that was set back while no process ran,
    /// and is due.
    private static func dueAt(_ time: UnixTime?, _ now: UnixTime) -> UnixTime {
        guard let time, time <= now + longestWait else { return now }
        return time
    }

    /// It has failed so often that it may be the trouble by itself, or one before it of its activity had.
    func isStuck(_ item: Item) -> Bool {
        item.tries >= limits.trouble || parked.contains(item.activity) || hasGivenUpOn.contains(item.activity)
    }

    /// The earliest instant at which there is something to send, if nothing comes before; `nil`: never.
    package func nextAt(after now: UnixTime) -> UnixTime? {
        guard !isDisabled, open < limits.open else { return nil }
        if isInTrouble, open > 0 { return nil }
        return lines.values.compactMap(\.first).compactMap { items[$0] }.filter { !$0.isOpen }
            .map { isInTrouble ? probeAt($0, now) : Self.dueAt($0.dueAt, now) }.min()
    }

    /// - Parameter dice: 0 to 1.
    package mutating func finish(
        _ number: EventNumber, _ outcome: Outcome, at now: UnixTime, dice: Double
    ) -> [Change] {
        guard var item = items[number], item.isOpen else { return [] }
        item.isOpen = false
        open -= 1
        switch outcome {
        case .taken:
            hasGivenUpOn.remove(item.activity)
            remove(item)
            let wasInTrouble = isInTrouble
            failures = 0
            failingSince = nil
            restsUntil = nil
            refusedActivities = []
            lastFailure = nil
            guard wasInTrouble else { return [] }
            // What waited for its own turn need not any more.
            forgetWaits()
            return [.takesAgain]
        case .erased:
            // Which says nothing of the endpoint.
            remove(item)
            return []
        case .unsubscribed:
            items[number] = item
            return disable("HTTP 410: it wants no more", at: now)
        case .failed(let words, let retryAfter):
            return failed(item, words, retryAfter, now, dice)
        }
    }

    private mutating func failed(
        _ old: Item, _ words: String, _ retryAfter: Duration?, _ now: UnixTime, _ dice: Double
    ) -> [Change] {
        var item = old
        item.tries += 1
        item.firstTriedAt = min(item.firstTriedAt ?? now, now)
        item.failure = words
        let asked = min(retryAfter ?? .zero, Self.longestWait)
        item.dueAt = now + max(asked, Self.wait(tries: item.tries, dice: dice))
        items[item.number] = item
        failingSince = failingSince ?? now
        lastFailure = words
        var changes: [Change] = []
        if isStuck(old) {
            // It says no more of the endpoint than it did: others show whether that takes anything.
            if isInTrouble { failures += 1 }
        } else {
            failures += 1
            refusedActivities.insert(item.activity)
            restsUntil = now + max(asked, Self.wait(tries: refusedActivities.count, dice: dice))
            if failures == limits.trouble { changes = [.inTrouble(words)] }
            if isStuck(item) { parkTail(of: item.activity) }
        }
        let takesNothing = takesNothing(at: now)
        if item.tries >= limits.tries || item.firstTriedAt.map({ now - $0 >= limits.age }) ?? false {
            hasGivenUpOn.insert(item.activity)
            remove(item)
            givenUp.append(item.delivery(deadAt: now))
            changes.append(.gaveUp(item.number, words))
        }
        if takesNothing { changes += disable(words, at: now) }
        return changes
    }

    /// It has refused everything for days, and not of one activity alone: the events of two have failed for a good part
    /// of that time, which is half a day.
    private func takesNothing(at now: UnixTime) -> Bool {
        guard let failingSince, now - failingSince >= limits.disableAfter else { return false }
        let since = lines.values.compactMap { $0.first.flatMap { items[$0]?.firstTriedAt } }
        return since.count { now - $0 >= limits.disableAfter / 6 } > 1
    }

    private mutating func disable(_ words: String, at now: UnixTime) -> [Change] {
        guard disabledAt == nil else { return [] }
        disabledAt = now
        lastFailure = words
        return [.disabled(words)]
    }

    private mutating func remove(_ item: Item) {
        items[item.number] = nil
        lines[item.activity]?.removeAll { $0 == item.number }
        guard lines[item.activity]?.isEmpty ?? true else { return }
        lines[item.activity] = nil
        if !parked.contains(item.activity) { hasGivenUpOn.remove(item.activity) }
    }

    package static let longestWait = Duration.seconds(3600)
    /// By so little clocks are set right all the time.
    private static let clockSlack = Duration.seconds(1)

    /// 2 s, 6 s, 18 s, … to an hour, full jitter but a tenth of it at least.
    package static func wait(tries: Int, dice: Double) -> Duration {
        var limit = 2.0
        for _ in 1..<max(1, min(tries, 12)) where limit < 3600 { limit *= 3 }
        return .milliseconds(Int64(min(limit, 3600) * 1000 * max(0.1, min(1, dice))))
    }

    // MARK: - Writing down

    /// What the database is to be told; `nil`: nothing that would be missed.
    ///
    /// Everything up to the position is done, or has a row. What was not tried yet has none: it stands behind the
    /// position, unless others of its activity are stuck before it.
    package mutating func takeProgress() -> WebhookProgress? {
        var rows: [EventNumber: WebhookDelivery] = [:]
        var firstFresh: EventNumber?
        for (activity, line) in lines {
            // Where a later one has a row, those before it have one: they are read in order after a crash.
            let haveRows = parked.contains(activity) || line.first.flatMap { items[$0] }.map { $0.tries > 0 } ?? false
            for number in line {
                guard let item = items[number] else { continue }
                if haveRows || item.tries > 0 {
                    rows[number] = item.delivery(deadAt: nil)
                } else {
                    firstFresh = min(firstFresh ?? number, number)
                    // A row that stands already does no harm, and goes when its event is taken.
                    if let row = written[number] { rows[number] = row }
                }
            }
        }
        var place = writtenPlace
        // A row from before a crash may be of an event that was not read again yet: what lies between is not done.
        place.position = max(writtenPlace.position, min(readThrough, firstFresh.map { $0 - 1 } ?? readThrough))
        place.failures = failures
        place.failingSince = failingSince
        place.disabledAt = disabledAt
        place.failure = lastFailure
        let changed = rows.values.filter { written[$0.number] != $0 } + toPark + givenUp
        let gone = written.keys.filter { number in
            rows[number] == nil && !givenUp.contains { $0.number == number }
        }
        guard place != writtenPlace || !changed.isEmpty || !gone.isEmpty else { return nil }
        let progress = WebhookProgress(
            place: place, rows: changed.sorted { $0.number < $1.number }, done: gone.sorted())
        writtenPlace = place
        written = rows
        toPark = []
        givenUp = []
        return progress
    }
}

extension WebhookQueue.Item {
    init(_ delivery: WebhookDelivery) {
        number = delivery.number
        activity = delivery.activity
        tries = delivery.tries
        firstTriedAt = delivery.firstTriedAt
        dueAt = delivery.dueAt
        failure = delivery.failure
    }

    func delivery(deadAt: UnixTime?) -> WebhookDelivery {
        WebhookDelivery(
            number: number, activity: activity, tries: tries, firstTriedAt: firstTriedAt, dueAt: dueAt,
            deadAt: deadAt, failure: failure)
    }
}
