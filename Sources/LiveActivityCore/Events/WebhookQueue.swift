// State machine of one webhook: which event is sent next, when a failed one is retried, and which are given up.
package import APNSModel

/// Queue of the events that one endpoint must still get, as a state machine without clock and I/O.
///
/// - Events of one activity are sent one after another. The next one is sent when the one before was accepted or given
///   up. Events of other activities are sent in parallel.
/// - An endpoint that accepts nothing is tried with one event at a time, so that its outage uses up the attempts of few
///   events.
/// - An endpoint that has accepted nothing for days is turned off until a person turns it on.
///
/// An activity is *stuck* if its first event keeps failing by itself. A few of its events stay in memory. Those behind
/// them are parked in the database, so that they take no room from the events of other activities.
package struct WebhookQueue: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Maximum number of concurrent calls.
        package var open = 8
        /// Maximum number of events in memory. Further events wait in the database.
        package var window = 1000
        /// Maximum number of events in memory for an activity that is stuck.
        package var stuckWindow = 10
        /// Maximum number of an activity's parked events that are fetched at once.
        package var refill = 100
        /// Number of attempts after which an event is given up. `age` is the time since the first attempt after which
        /// it is given up.
        package var tries = 30
        package var age = Duration.seconds(24 * 3600)
        /// Number of consecutive failures after which only one event at a time is tried.
        package var trouble = 5
        /// Time without success after which an endpoint is turned off, unless one activity alone may be the cause.
        package var disableAfter = Duration.seconds(3 * 86_400)

        package init() {}
    }

    /// Outcome of a call.
    package enum Outcome: Sendable, Equatable {
        case taken
        /// The call failed. The text contains nothing that the endpoint sent.
        case failed(String, retryAfter: Duration? = nil)
        /// The endpoint answered 410 and wants no more events.
        case unsubscribed
        /// The event was not sent, because it has been erased.
        case erased
    }

    /// A change that is worth a log line.
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
    /// Event numbers of each activity, in order.
    var lines: [ActivityNumber?: [EventNumber]] = [:]
    private var open = 0
    /// Number up to which every event was read.
    private(set) package var readThrough: EventNumber
    package private(set) var failures: Int
    package private(set) var failingSince: UnixTime?
    package private(set) var disabledAt: UnixTime?
    package private(set) var lastFailure: String?
    /// Time before which an endpoint in trouble is not tried.
    private var restsUntil: UnixTime?
    /// Activities with an event that the endpoint has refused since its last success.
    ///
    /// The endpoint's wait grows with the number of these activities, not with the attempts of each. A few events that
    /// it cannot accept say little about the others.
    private var refusedActivities: Set<ActivityNumber?> = []
    /// Activities with remaining events, of which an event was given up and none accepted since. Their next events are
    /// likely to be refused too.
    var hasGivenUpOn: Set<ActivityNumber?> = []
    /// Time of the last call of `next`.
    private var askedAt: UnixTime?
    /// Rows in the database. Only differences are written.
    var written: [EventNumber: WebhookDelivery] = [:]
    private var writtenPlace: WebhookPlace
    /// Deliveries given up since the last write.
    private var givenUp: [WebhookDelivery] = []
    /// Activities with events parked behind those in memory.
    var parked: Set<ActivityNumber?>
    /// Deliveries parked since the last write. They are not in the database yet.
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

    /// Number of events that may still be read.
    ///
    /// Events of stuck activities take at most half of the window, and the others have the rest. With stuck events, the
    /// queue holds at most two windows.
    package var room: Int {
        guard !isDisabled else { return 0 }
        let stuck = stuckItems
        let others = limits.window - toPark.count - (items.count - stuck) - min(stuck, limits.window / 2)
        return max(0, min(others, 2 * limits.window - toPark.count - items.count))
    }

    /// Takes the events that the endpoint wants, of all events up to `number`.
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

    /// Returns the events to send now, earliest first. Each stays open until `finish` is called for it.
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

    /// Forgets waits after the clock was set back, because they would last that much longer. For times written before
    /// this process started, only their length shows that the clock was set back.
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

    /// Returns the event to try an endpoint in trouble with: the earliest one, so that other events keep their
    /// attempts.
    ///
    /// Stuck events come last, because they may be the cause of the trouble.
    private func probe(_ heads: [Item]) -> Item? {
        func turn(_ item: Item) -> (Int, EventNumber) { (isStuck(item) ? 1 + item.tries : 0, item.number) }
        return heads.min { turn($0) < turn($1) }
    }

    /// Returns when an endpoint in trouble may be tried with an event.
    ///
    /// A stuck event keeps its own time. It does not extend the endpoint's wait, so that events of other activities do
    /// not wait because of it.
    private func probeAt(_ head: Item, _ now: UnixTime) -> UnixTime {
        Self.dueAt(isStuck(head) ? head.dueAt : restsUntil, now)
    }

    /// Returns when an event is due. A time further ahead than the longest wait comes from a clock that was set back
    /// while no process ran. Such an event is due now.
    private static func dueAt(_ time: UnixTime?, _ now: UnixTime) -> UnixTime {
        guard let time, time <= now + longestWait else { return now }
        return time
    }

    /// Returns whether an event is stuck: it, or an earlier event of its activity, has failed so often that it may be
    /// the cause itself.
    func isStuck(_ item: Item) -> Bool {
        item.tries >= limits.trouble || parked.contains(item.activity) || hasGivenUpOn.contains(item.activity)
    }

    /// Returns the earliest time with something to send if nothing happens before; `nil` if there is none.
    package func nextAt(after now: UnixTime) -> UnixTime? {
        guard !isDisabled, open < limits.open else { return nil }
        if isInTrouble, open > 0 { return nil }
        return lines.values.compactMap(\.first).compactMap { items[$0] }.filter { !$0.isOpen }
            .map { isInTrouble ? probeAt($0, now) : Self.dueAt($0.dueAt, now) }.min()
    }

    /// Records the outcome of a call.
    ///
    /// - Parameter dice: Random number from 0 to 1, for the jitter.
    /// - Returns: Changes that are worth a log line.
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
            // Events that waited for their own retry need not wait any more.
            forgetWaits()
            return [.takesAgain]
        case .erased:
            // This outcome says nothing about the endpoint.
            remove(item)
            return []
        case .unsubscribed:
            items[number] = item
            return disable("HTTP 410: the endpoint unsubscribed", at: now)
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
            // A stuck event says nothing new about the endpoint. Other events show whether it accepts any.
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

    /// Returns whether the endpoint accepts nothing: it has refused every event for `disableAfter`, and not only those
    /// of one activity.
    ///
    /// Events of at least two activities must have failed for a sixth of that time, which is half a day.
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
    /// Clock corrections up to this size are normal.
    private static let clockSlack = Duration.seconds(1)

    /// Returns the wait before a retry: up to 2 s, 6 s, 18 s, … one hour. Jitter is full, but the wait is at least a
    /// tenth of its limit.
    package static func wait(tries: Int, dice: Double) -> Duration {
        var limit = 2.0
        for _ in 1..<max(1, min(tries, 12)) where limit < 3600 { limit *= 3 }
        return .milliseconds(Int64(min(limit, 3600) * 1000 * max(0.1, min(1, dice))))
    }

    // MARK: - Writing

    /// Returns what to write to the database; `nil` if nothing has changed.
    ///
    /// Every event up to the position is done, or has a row. An event that was not tried yet has no row, because it is
    /// behind the position. The exception is an event behind others of its activity that have rows.
    package mutating func takeProgress() -> WebhookProgress? {
        var rows: [EventNumber: WebhookDelivery] = [:]
        var firstFresh: EventNumber?
        for (activity, line) in lines {
            // If a later event of an activity has a row, the earlier ones have one too. So they are read in order after
            // a crash.
            let haveRows = parked.contains(activity) || line.first.flatMap { items[$0] }.map { $0.tries > 0 } ?? false
            for number in line {
                guard let item = items[number] else { continue }
                if haveRows || item.tries > 0 {
                    rows[number] = item.delivery(deadAt: nil)
                } else {
                    firstFresh = min(firstFresh ?? number, number)
                    // An existing row does no harm. It is removed when its event is accepted.
                    if let row = written[number] { rows[number] = row }
                }
            }
        }
        var place = writtenPlace
        // A row from before a crash may belong to an event that was not read again yet. The events between are not
        // done.
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
