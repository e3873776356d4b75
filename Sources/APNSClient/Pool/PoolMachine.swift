import APNSModel

/// The pushes that wait for one key and endpoint, and the places for connections that fetch them: pure.
///
/// Connections *pull*: each fetches what it can send at this moment, so a push waits in one queue only, keeps its
/// certainty there, and goes to a connection that is free. Few connections are kept busy, not many half idle: a push
/// wakes the first one that has room, the next one follows when that is full, and another one is made only when all are
/// full. One that was not needed for a time is closed, the last one never. A connection that retires leaves its place
/// at once and finishes its streams beside its successor.
struct PoolMachine {
    typealias ConnectionID = Int

    struct Limits: Hashable, Sendable {
        /// The most connections that take pushes or are being made.
        var connections = 1
        /// A connection that took no push for so long is closed, unless it is the only one.
        var idleLifetime = Duration.seconds(300)
        var queue: PushQueue.Limits
    }

    /// How much a connection that stands takes at present.
    enum Appetite: Hashable {
        /// It found the queue empty and must be woken.
        case hungry(since: MonotonicTime)
        /// It was woken, or has not fetched all that it may: it pulls of its own accord.
        case pulling
        /// The peer allows it no further stream. It pulls when that changes.
        case full
        /// It takes nothing for a moment: its provider token is not accepted yet, it was asked to pause, or the peer
        /// does not read. It pulls when that changes.
        case held(since: MonotonicTime)
    }

    enum Place: Hashable {
        case vacant
        case dialing(ConnectionID)
        case ready(ConnectionID, Appetite)
    }

    enum Stage: Hashable {
        case running, stopping, stopped
    }

    /// A connection that is to be made, and the index of its place.
    struct Dial: Hashable {
        let id: ConnectionID
        let place: Int
    }

    /// What the shell must do, after the lock is released.
    struct Actions {
        var dial: Dial?
        var wake: ConnectionID?
        /// It is not needed: it ends after its last stream.
        var drain: ConnectionID?
        var fail: [(attempt: Attempt, failure: PushFailure)] = []
        /// A timer is needed and none runs.
        var armTimer = false
    }

    /// How many pushes are fetched at once.
    static let batchSize = 256
    /// What holds a connection back for so long counts as its being full.
    static let patience = Duration.seconds(2)

    let limits: Limits
    private(set) var stage = Stage.running
    private(set) var places: [Place]
    private(set) var queue: PushQueue
    private(set) var lastFailure: String?
    private var retired: Set<ConnectionID> = []
    private var backoff: Backoff
    /// No connection is made before this instant, since the last one was of no use.
    private var dialNotBefore: MonotonicTime?
    private var nextID = 0
    private var timerArmed = false

    init(_ limits: Limits, backoff: Backoff) {
        self.limits = limits
        self.backoff = backoff
        queue = PushQueue(limits.queue)
        places = Array(repeating: .vacant, count: max(1, limits.connections))
    }

    var isConnected: Bool { places.contains { $0.readyID != nil } }

    // MARK: Pushes

    /// - Parameter now: Not asked for while a connection is about to take what waits: reading a clock costs something.
    mutating func enqueue(_ attempts: some Collection<Attempt>, now: @autoclosure () -> MonotonicTime) -> Actions {
        var actions = Actions()
        for attempt in attempts {
            if stage != .running {
                actions.fail.append((attempt, Self.stopping))
            } else if !queue.append(attempt) {
                let detail = "\(limits.queue.waiting) pushes of its priority are waiting"
                actions.fail.append((attempt, PushFailure(.overloaded, detail)))
            }
        }
        serve(now(), &actions)
        return actions
    }

    /// Takes back pushes that the peer did not process.
    mutating func requeue(_ attempts: [Attempt], now: MonotonicTime) -> Actions {
        var actions = Actions()
        if stage == .running {
            queue.giveBack(attempts)
        } else {
            actions.fail = attempts.map { ($0, Self.stopping) }
        }
        serve(now, &actions)
        return actions
    }

    /// Fetches what a connection may send now, at most `batchSize`: it pulls again until it gets less. A connection
    /// pulls when it is woken, when it may take something again, and once when it may not any more, so that others do.
    mutating func pull(
        _ id: ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime, into batch: inout [Attempt]
    ) -> Actions {
        var actions = Actions()
        guard stage == .running, let index = places.firstIndex(where: { $0.readyID == id }) else { return actions }
        var bytes = allowance.bytes
        var isHeld = allowance.isHeld
        while batch.count < min(allowance.streams, Self.batchSize), let next = queue.next {
            guard now < next.sendBefore else {
                if let ended = queue.removeNext() { actions.fail.append((ended, expiry(ended))) }
                continue
            }
            // The first one goes even if it does not fit the window whole: the rest of it follows when the peer allows,
            // and no peer can stop a queue with a window that is small for good.
            guard next.size <= bytes || batch.isEmpty else {
                isHeld = true
                break
            }
            bytes -= next.size
            if let taken = queue.removeNext() { batch.append(taken) }
        }
        let hasRoom = batch.count < allowance.streams && (queue.isEmpty || batch.count == Self.batchSize)
        let since = places[index].heldSince ?? now
        let appetite: Appetite = hasRoom ? .pulling : isHeld ? .held(since: since) : .full
        if hasRoom, queue.isEmpty {
            rest(index, id, tookSome: !batch.isEmpty, now, &actions)
        } else {
            places[index] = .ready(id, appetite)
        }
        serve(now, &actions)
        return actions
    }

    /// The connection takes pushes, and pulls as soon as it has told what came of those it had: who sends the next one
    /// because of that finds it here. Nobody needs to be woken for it, and no other connection made.
    mutating func hasRoom(_ id: ConnectionID) {
        guard let index = places.firstIndex(where: { $0.readyID == id }) else { return }
        places[index] = .ready(id, .pulling)
    }

    /// The connection has nothing to do; if it is not needed, it goes.
    private mutating func rest(
        _ index: Int, _ id: ConnectionID, tookSome: Bool, _ now: MonotonicTime, _ actions: inout Actions
    ) {
        var since = now
        if !tookSome, case .ready(_, .hungry(let before)) = places[index] { since = before }
        let isSurplus = places.firstIndex { $0.readyID != nil } != index
        if isSurplus, now - since >= limits.idleLifetime {
            places[index] = .vacant
            retired.insert(id)
            actions.drain = id
        } else {
            places[index] = .ready(id, .hungry(since: since))
        }
    }

    /// Ends what waited too long, and makes the connection that is missing.
    mutating func tick(_ now: MonotonicTime) -> Actions {
        timerArmed = false
        var actions = Actions()
        actions.fail = queue.removeEnded(now).map { ($0, expiry($0)) }
        serve(now, &actions)
        return actions
    }

    private static let stopping = PushFailure(.stopping, "the client is stopping")

    private func expiry(_ attempt: Attempt) -> PushFailure {
        guard isConnected else {
            return PushFailure(.cannotConnect, lastFailure ?? "no connection was made in time")
        }
        let again = attempt.wasResent ? "; the peer had not processed it before" : ""
        return PushFailure(.notSentInTime, "the connections had no room for it in time\(again)")
    }

    /// Finds somebody for what waits, unless somebody is about to take it.
    private mutating func serve(_ now: @autoclosure () -> MonotonicTime, _ actions: inout Actions) {
        guard !queue.isEmpty, stage == .running else { return }
        if !timerArmed {
            timerArmed = true
            actions.armTimer = true
        }
        if places.contains(where: \.isPulling) { return }
        let now = now()
        var mayDial = dialNotBefore.map { $0 <= now } ?? true
        var hungry: Int?
        for (index, place) in places.enumerated() {
            switch place {
            case .ready(_, .hungry): hungry = hungry ?? index
            case .ready(_, .held(let since)): mayDial = mayDial && now - since >= Self.patience
            case .dialing: mayDial = false
            case .ready(_, .full), .ready(_, .pulling), .vacant: continue
            }
        }
        if let hungry, let id = places[hungry].readyID {
            places[hungry] = .ready(id, .pulling)
            actions.wake = id
        } else if mayDial, retired.count < Self.retiredForEach * places.count,
            let vacant = places.firstIndex(of: .vacant)
        {
            nextID += 1
            places[vacant] = .dialing(nextID)
            actions.dial = Dial(id: nextID, place: vacant)
        }
    }

    /// Connections that finish their last pushes, for each that takes pushes: a peer that says GOAWAY at once, and ends
    /// nothing, does not make them without end.
    private static let retiredForEach = 4

    // MARK: Connections

    /// The connection may be used; it pulls of its own accord.
    mutating func ready(_ id: ConnectionID) {
        guard let index = places.firstIndex(of: .dialing(id)) else { return }
        places[index] = .ready(id, .pulling)
        lastFailure = nil
    }

    /// The connection opens no stream any more: its place is free.
    mutating func retire(_ id: ConnectionID, wasUseful: Bool, now: MonotonicTime, dice: Double) -> Actions {
        var actions = Actions()
        vacate(id, wasUseful: wasUseful, now, dice)
        if stage != .stopped { retired.insert(id) }
        serve(now, &actions)
        return actions
    }

    /// The connection is gone. A push was accepted on a useful one; after one that was not, the next waits.
    mutating func ended(
        _ id: ConnectionID, _ reason: String?, wasUseful: Bool, now: MonotonicTime, dice: Double
    ) -> Actions {
        var actions = Actions()
        vacate(id, wasUseful: wasUseful, now, dice)
        if let reason { lastFailure = reason }
        retired.remove(id)
        serve(now, &actions)
        stopIfEmpty()
        return actions
    }

    private mutating func vacate(_ id: ConnectionID, wasUseful: Bool, _ now: MonotonicTime, _ dice: Double) {
        guard let index = places.firstIndex(where: { $0.id == id }) else { return }
        if wasUseful { backoff.reset() }
        places[index] = .vacant
        dialNotBefore = wasUseful ? nil : now + backoff.next(dice: dice)
    }

    // MARK: Stopping

    /// Nothing is taken or sent any more; open streams go on.
    mutating func stop() -> Actions {
        var actions = Actions()
        guard stage == .running else { return actions }
        stage = .stopping
        actions.fail = queue.removeAll().map { ($0, Self.stopping) }
        stopIfEmpty()
        return actions
    }

    private mutating func stopIfEmpty() {
        guard stage == .stopping, retired.isEmpty, places.allSatisfy({ $0 == .vacant }) else { return }
        stage = .stopped
    }
}

extension PoolMachine.Place {
    var id: PoolMachine.ConnectionID? {
        switch self {
        case .vacant: nil
        case .dialing(let id), .ready(let id, _): id
        }
    }

    var readyID: PoolMachine.ConnectionID? {
        if case .ready(let id, _) = self { id } else { nil }
    }

    var isPulling: Bool {
        if case .ready(_, .pulling) = self { true } else { false }
    }

    var heldSince: MonotonicTime? {
        if case .ready(_, .held(let since)) = self { since } else { nil }
    }
}
