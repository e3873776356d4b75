import APNSModel
import NIOCore

/// The pushes that wait for one key and endpoint, and the places for connections that fetch them: pure.
///
/// Connections *pull*: each fetches what it can send at this moment, so a push waits in one queue only, keeps its
/// certainty there, and goes to whichever connection is free first. A place is refilled when its connection retires;
/// the retired one finishes its streams beside its successor. There is one place now; more need no other design.
struct PoolMachine {
    typealias ConnectionID = Int

    enum Place: Hashable {
        /// Nothing is there; a connection is made for waiting pushes, not before that instant.
        case vacant(retryAt: MonotonicTime?)
        case dialing(ConnectionID)
        /// `hungry`: it found the queue empty and must be woken.
        case ready(ConnectionID, hungry: Bool)
    }

    enum Stage: Hashable {
        case running, stopping, stopped
    }

    /// What the shell must do, after the lock is released.
    struct Actions {
        var dial: [ConnectionID] = []
        var wake: [ConnectionID] = []
        var fail: [(attempt: Attempt, failure: PushFailure)] = []
        /// A timer is needed and none runs.
        var armTimer = false
    }

    let queueLimit: Int
    private(set) var stage = Stage.running
    private(set) var places: [Place]
    private(set) var waiting = CircularBuffer<Attempt>()
    private(set) var lastFailure: String?
    private var retired: Set<ConnectionID> = []
    private var backoff: Backoff
    private var nextID = 0
    private var timerArmed = false
    /// No waiting push's time is over before this instant.
    private var earliestExpiry = MonotonicTime(nanoseconds: .max)

    init(width: Int = 1, queueLimit: Int, backoff: Backoff) {
        self.queueLimit = queueLimit
        self.backoff = backoff
        places = Array(repeating: .vacant(retryAt: nil), count: width)
    }

    var isConnected: Bool {
        places.contains { if case .ready = $0 { true } else { false } }
    }

    // MARK: Pushes

    mutating func enqueue(_ attempts: some Collection<Attempt>, now: MonotonicTime) -> Actions {
        var actions = Actions()
        for attempt in attempts {
            guard stage == .running else {
                actions.fail.append((attempt, PushFailure(.stopping, "the client is stopping")))
                continue
            }
            guard waiting.count < queueLimit else {
                actions.fail.append((attempt, PushFailure(.overloaded, "\(queueLimit) pushes are waiting")))
                continue
            }
            waiting.append(attempt)
            earliestExpiry = min(earliestExpiry, attempt.push.sendBefore)
        }
        serveWaiting(now, &actions)
        return actions
    }

    /// Pushes that the peer did not process: they go first. The queue's limit does not hold for them, since they were
    /// within it before; there are never more than open streams.
    mutating func requeue(_ attempts: [Attempt], now: MonotonicTime) -> Actions {
        var actions = Actions()
        for attempt in attempts.reversed() {
            guard stage == .running else {
                actions.fail.append((attempt, PushFailure(.stopping, "the client is stopping")))
                continue
            }
            waiting.prepend(attempt)
            earliestExpiry = min(earliestExpiry, attempt.push.sendBefore)
        }
        serveWaiting(now, &actions)
        return actions
    }

    /// Fetches what a connection may send now. A push whose time is over fails instead.
    mutating func pull(
        _ id: ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime, into batch: inout [Attempt]
    ) -> Actions {
        var actions = Actions()
        guard stage == .running, let place = places.firstIndex(where: { $0.readyID == id }) else { return actions }
        var bytes = allowance.bytes
        while batch.count < allowance.streams, let attempt = waiting.first {
            guard now < attempt.push.sendBefore else {
                actions.fail.append((waiting.removeFirst(), expiry(attempt)))
                continue
            }
            // The first one goes even if it does not fit the window whole: the rest of it follows when the peer allows,
            // and no peer can stop a queue with a window that is small for good.
            let size = attempt.push.request.payload.count
            guard size <= bytes || batch.isEmpty else { break }
            bytes -= size
            batch.append(waiting.removeFirst())
        }
        places[place] = .ready(id, hungry: waiting.isEmpty)
        return actions
    }

    /// Ends what waited too long, and makes the connections that are missing.
    mutating func tick(_ now: MonotonicTime) -> Actions {
        timerArmed = false
        var actions = Actions()
        if now >= earliestExpiry {
            earliestExpiry = MonotonicTime(nanoseconds: .max)
            var kept = CircularBuffer<Attempt>(initialCapacity: waiting.count)
            for attempt in waiting {
                if attempt.push.sendBefore <= now {
                    actions.fail.append((attempt, expiry(attempt)))
                } else {
                    kept.append(attempt)
                    earliestExpiry = min(earliestExpiry, attempt.push.sendBefore)
                }
            }
            waiting = kept
        }
        serveWaiting(now, &actions)
        return actions
    }

    private func expiry(_ attempt: Attempt) -> PushFailure {
        guard isConnected else {
            return PushFailure(.cannotConnect, lastFailure ?? "no connection was made in time")
        }
        let again = attempt.resent.isEmpty ? "" : "; the peer had not processed it before"
        return PushFailure(.notSentInTime, "the connections had no room for it in time\(again)")
    }

    private mutating func serveWaiting(_ now: MonotonicTime, _ actions: inout Actions) {
        guard !waiting.isEmpty, stage == .running else { return }
        for place in places.indices {
            switch places[place] {
            case .ready(let id, hungry: true):
                places[place] = .ready(id, hungry: false)
                actions.wake.append(id)
            case .vacant(let retryAt) where retryAt.map { $0 <= now } ?? true:
                nextID += 1
                places[place] = .dialing(nextID)
                actions.dial.append(nextID)
            case .vacant, .dialing, .ready: continue
            }
        }
        guard !timerArmed else { return }
        timerArmed = true
        actions.armTimer = true
    }

    // MARK: Connections

    /// The connection may be used; it pulls of its own accord.
    mutating func ready(_ id: ConnectionID) {
        guard let place = places.firstIndex(of: .dialing(id)) else { return }
        places[place] = .ready(id, hungry: false)
        lastFailure = nil
    }

    /// The connection opens no stream any more: its place is free.
    mutating func retire(_ id: ConnectionID, wasUseful: Bool, now: MonotonicTime, dice: Double) -> Actions {
        var actions = Actions()
        vacate(id, wasUseful: wasUseful, now, dice)
        if stage != .stopped { retired.insert(id) }
        serveWaiting(now, &actions)
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
        serveWaiting(now, &actions)
        stopIfEmpty()
        return actions
    }

    private mutating func vacate(_ id: ConnectionID, wasUseful: Bool, _ now: MonotonicTime, _ dice: Double) {
        guard let place = places.firstIndex(where: { $0.id == id }) else { return }
        if wasUseful { backoff.reset() }
        places[place] = .vacant(retryAt: wasUseful ? nil : now + backoff.next(dice: dice))
    }

    // MARK: Stopping

    /// Nothing is taken or sent any more; open streams go on.
    mutating func stop() -> Actions {
        var actions = Actions()
        guard stage == .running else { return actions }
        stage = .stopping
        actions.fail = waiting.map { ($0, PushFailure(.stopping, "the client is stopping")) }
        waiting.removeAll()
        stopIfEmpty()
        return actions
    }

    private mutating func stopIfEmpty() {
        guard stage == .stopping, retired.isEmpty, places.allSatisfy({ $0.id == nil }) else { return }
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
}
