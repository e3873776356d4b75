import APNSModel

/// A state machine of the pushes that wait for one key and endpoint, and of the places for connections.
///
/// Connections *pull*: each fetches what it can send at this moment. A push therefore waits in one queue only, has no
/// unknown outcome there, and goes to a connection that is free.
///
/// The machine keeps few connections busy instead of many half idle:
///
/// - A push wakes the first connection that has room.
/// - The next connection follows when that one is full.
/// - Another connection is made only if all are full.
/// - A connection that was not needed for a time is closed, but never the last one.
/// - A retired connection leaves its place at once, and finishes its streams beside its successor.
struct PoolMachine {
    typealias ConnectionID = Int

    struct Limits: Hashable, Sendable {
        /// Maximum number of connections that accept pushes or are being made.
        var connections = 1
        /// Time without a push after which a connection is closed, unless it is the only one.
        var idleLifetime = Duration.seconds(300)
        var queue: PushQueue.Limits
    }

    /// The readiness of a connection for pushes.
    enum Appetite: Hashable {
        /// The connection found the queue empty and must be woken.
        case hungry(since: MonotonicTime)
        /// The connection was woken, or has not fetched all that it may. It pulls by itself.
        case pulling
        /// The peer allows the connection no further stream. It pulls when that changes.
        case full
        /// The connection accepts nothing for a moment, and pulls when that changes.
        ///
        /// Either its provider token is not accepted yet, or it must pause, or the peer does not read.
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

    /// A connection that must be made, and the index of its place.
    struct Dial: Hashable {
        let id: ConnectionID
        let place: Int
    }

    /// The actions that the caller must perform after it has released the lock.
    struct Actions {
        var dial: Dial?
        var wake: ConnectionID?
        /// A connection that is not needed. It ends after its last stream.
        var drain: ConnectionID?
        var fail: [(attempt: Attempt, failure: PushFailure)] = []
        /// `true` if a timer is needed and none runs.
        var armTimer = false
    }

    /// Maximum number of pushes that one pull fetches.
    static let batchSize = 256
    /// Time after which a held connection counts as full.
    static let patience = Duration.seconds(2)

    let limits: Limits
    private(set) var stage = Stage.running
    private(set) var places: [Place]
    private(set) var queue: PushQueue
    private(set) var lastFailure: String?
    private var retired: Set<ConnectionID> = []
    private var backoff: Backoff
    /// Earliest time for the next connection after one that was of no use.
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

    /// Adds pushes to the queue.
    ///
    /// - Parameter now: Not read while a connection is about to pull, because reading a clock has a cost.
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

    /// Fetches what a connection may send now, at most `batchSize` pushes.
    ///
    /// A connection pulls again until it gets fewer. It pulls when it is woken, and when it may accept something again.
    /// It also pulls once when it no longer may, so that other connections take over.
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
            // The first push goes even if it does not fit the window, and the rest of it follows later.
            // So a peer with a permanently small window cannot stop the queue.
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

    /// Marks the connection as ready to pull, because answers are about to be delivered.
    ///
    /// It pulls right after the delivery. A caller that sends its next push in response finds this connection, so
    /// nothing is woken and no other connection is made.
    mutating func hasRoom(_ id: ConnectionID) {
        guard let index = places.firstIndex(where: { $0.readyID == id }) else { return }
        places[index] = .ready(id, .pulling)
    }

    /// Marks a connection as idle, or drains it if it is not needed.
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

    /// Ends pushes that waited too long, and makes a missing connection.
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

    /// Chooses a connection for the waiting pushes, unless one is about to pull.
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

    /// Maximum number of retired connections for each place. It bounds the connections to a peer that sends GOAWAY at
    /// once and ends no stream.
    private static let retiredForEach = 4

    // MARK: Connections

    /// Marks the connection as ready. It pulls by itself.
    mutating func ready(_ id: ConnectionID) {
        guard let index = places.firstIndex(of: .dialing(id)) else { return }
        places[index] = .ready(id, .pulling)
        lastFailure = nil
    }

    /// Frees the place of a connection that opens no more streams.
    mutating func retire(_ id: ConnectionID, wasUseful: Bool, now: MonotonicTime, dice: Double) -> Actions {
        var actions = Actions()
        vacate(id, wasUseful: wasUseful, now, dice)
        if stage != .stopped { retired.insert(id) }
        serve(now, &actions)
        return actions
    }

    /// Removes a closed connection.
    ///
    /// - Parameter wasUseful: `true` if APNs accepted a push on it. Otherwise the next connection waits for the
    ///   backoff.
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

    /// Stops the machine: no push is accepted or sent any more, but open streams continue.
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
