import APNSModel
import IsletBasics
import Testing

@testable import APNSClient

@Suite struct PoolMachineTests {
    private let plenty = ConnectionMachine.Allowance(streams: 100, bytes: 65_535, isHeld: false)
    private let nothing = ConnectionMachine.Allowance(streams: 0, bytes: 65_535, isHeld: false)

    private func machine(queueLimit: Int = 100, width: Int = 1) -> PoolMachine {
        let backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        let queue = PushQueue.Limits(waiting: queueLimit, lowPriorityTurn: 8)
        return PoolMachine(.init(connections: width, idleLifetime: .seconds(300), queue: queue), backoff: backoff)
    }

    private func streams(_ count: Int, bytes: Int = 65_535, isHeld: Bool = false) -> ConnectionMachine.Allowance {
        .init(streams: count, bytes: bytes, isHeld: isHeld)
    }

    private func attempt(
        _ number: Int = 1, sendBefore: Double = 100, fill: Int = 10, _ priority: PushPriority = .high
    ) throws -> Attempt {
        let push = try Make.push(number, priority: priority, fill: fill, sendBefore: Make.time(sendBefore))
        return Attempt(push)
    }

    private func pull(
        _ machine: inout PoolMachine, _ id: Int, _ allowance: ConnectionMachine.Allowance, at now: Double = 0
    ) -> (batch: [Attempt], actions: PoolMachine.Actions) {
        var batch: [Attempt] = []
        let actions = machine.pull(id, allowance, now: Make.time(now), into: &batch)
        return (batch, actions)
    }

    @Test func `the first push makes a connection, the next ones wait for it`() throws {
        var pool = machine()
        let first = pool.enqueue([try attempt()], now: Make.time(0))
        #expect(first.dial == .init(id: 1, place: 0) && first.wake == nil && first.armTimer)
        let second = pool.enqueue([try attempt()], now: Make.time(0))
        #expect(second.dial == nil && second.wake == nil && !second.armTimer)
        pool.ready(1)
        #expect(pull(&pool, 1, plenty).batch.count == 2)
    }

    @Test func `only a connection that found the queue empty is woken, and once`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt()], now: Make.time(0))
        pool.ready(1)
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake == nil)
        _ = pull(&pool, 1, plenty)
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake == 1)
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake == nil)
    }

    @Test func `a batch fits the connection's window, but one push always goes`() throws {
        var pool = machine()
        _ = pool.enqueue(try (1...5).map { try attempt($0, fill: 1_000) }, now: Make.time(0))
        pool.ready(1)
        #expect(pull(&pool, 1, streams(10, bytes: 2_500)).batch.count == 2)
        #expect(pull(&pool, 1, streams(10, bytes: 1)).batch.count == 1)
        #expect(pull(&pool, 1, streams(1)).batch.count == 1)
    }

    @Test func `what does not fit the queue is overloaded`() throws {
        var pool = machine(queueLimit: 3)
        let actions = pool.enqueue(try (1...5).map { try attempt($0) }, now: Make.time(0))
        #expect(actions.fail.map(\.failure.code) == [.overloaded, .overloaded])
        #expect(actions.fail.map { $0.attempt.id.low } == [4, 5])
    }

    @Test func `a push whose time is over never leaves`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1, sendBefore: 5), try attempt(2, sendBefore: 50)], now: Make.time(0))
        pool.ready(1)
        let pulled = pull(&pool, 1, plenty, at: 5)
        #expect(pulled.batch.map { $0.id.low } == [2])
        #expect(pulled.actions.fail.map(\.failure.code) == [.notSentInTime])
    }

    @Test func `without a connection the reason is the last failure`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1, sendBefore: 1)], now: Make.time(0))
        _ = pool.ended(1, "TLS: not trusted", wasUseful: false, now: Make.time(0.5), dice: 1)
        let actions = pool.tick(Make.time(1))
        #expect(actions.fail.map(\.failure) == [PushFailure(.cannotConnect, "TLS: not trusted")])
        #expect(!actions.armTimer)
    }

    @Test func `waits between failed connections double up to the longest`() throws {
        var pool = machine()
        var now = 0.0
        var id = 1
        _ = pool.enqueue([try attempt(1, sendBefore: 1_000)], now: Make.time(0))
        for wait in [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5] {
            #expect(pool.ended(id, "no", wasUseful: false, now: Make.time(now), dice: 1).dial == nil)
            #expect(pool.tick(Make.time(now + wait - 0.01)).dial == nil)
            now += wait
            id += 1
            #expect(pool.tick(Make.time(now)).dial?.id == id)
        }
        pool.ready(id)
        #expect(pool.ended(id, nil, wasUseful: true, now: Make.time(now), dice: 1).dial?.id == id + 1)
    }

    @Test func `a retired connection is replaced at once and finishes beside its successor`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1)], now: Make.time(0))
        pool.ready(1)
        _ = pull(&pool, 1, plenty)
        #expect(pool.retire(1, wasUseful: true, now: Make.time(1), dice: 0).dial == nil)
        #expect(pool.requeue([try attempt(1)], now: Make.time(1)).dial == .init(id: 2, place: 0))
        #expect(pull(&pool, 1, plenty).batch.isEmpty)
        pool.ready(2)
        #expect(pull(&pool, 2, plenty).batch.count == 1)
    }

    @Test func `connections that only finish do not become more and more`() throws {
        var pool = machine()
        _ = pool.enqueue(try (1...50).map { try attempt($0) }, now: Make.time(0))
        var made = 1
        for id in 1...20 {
            pool.ready(id)
            _ = pull(&pool, id, streams(1))
            guard pool.retire(id, wasUseful: true, now: Make.time(1), dice: 0).dial != nil else { break }
            made += 1
        }
        #expect(made == 4)
        #expect(pool.ended(1, nil, wasUseful: true, now: Make.time(2), dice: 0).dial != nil)
    }

    @Test func `what the peer refused goes first, in its order`() throws {
        var pool = machine(queueLimit: 4)
        _ = pool.enqueue(try (1...4).map { try attempt($0) }, now: Make.time(0))
        pool.ready(1)
        let taken = pull(&pool, 1, streams(2)).batch
        _ = pool.enqueue(try (5...6).map { try attempt($0) }, now: Make.time(0))
        _ = pool.requeue(taken.reversed(), now: Make.time(0))
        #expect(pull(&pool, 1, plenty).batch.map { $0.id.low } == [1, 2, 3, 4, 5, 6])
    }

    @Test func `stopping answers what waits and ends with the last connection`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1)], now: Make.time(0))
        pool.ready(1)
        _ = pull(&pool, 1, plenty)
        _ = pool.retire(1, wasUseful: true, now: Make.time(1), dice: 0)
        _ = pool.enqueue([try attempt(2)], now: Make.time(1))
        #expect(pool.stop().fail.map(\.failure.code) == [.stopping])
        #expect(pool.stage == .stopping)
        #expect(pool.enqueue([try attempt(3)], now: Make.time(1)).fail.map(\.failure.code) == [.stopping])
        #expect(pool.requeue([try attempt(4)], now: Make.time(1)).fail.map(\.failure.code) == [.stopping])
        _ = pool.ended(2, nil, wasUseful: false, now: Make.time(2), dice: 0)
        #expect(pool.stage == .stopping)
        _ = pool.ended(1, nil, wasUseful: false, now: Make.time(2), dice: 0)
        #expect(pool.stage == .stopped)
    }

    @Test(arguments: 0..<200)
    func `no order of events loses or doubles a push, or leaves one to nobody`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        let width = Int.random(in: 1...3, using: &dice)
        var pool = machine(queueLimit: 20, width: width)
        var entered = 0
        var left: [UInt64] = []
        var known: [Int] = []
        var out: [Attempt] = []
        var now = 0.0
        func note(_ actions: PoolMachine.Actions) {
            if let dial = actions.dial { known.append(dial.id) }
            left += actions.fail.map { $0.attempt.id.low }
        }
        for _ in 0..<200 {
            now += Double.random(in: 0..<0.5, using: &dice)
            // Usually a live connection, so that several exist at once.
            let id = known.suffix(Int.random(in: 0..<8, using: &dice) == 0 ? 20 : 3).randomElement(using: &dice) ?? 0
            switch Int.random(in: 0..<16, using: &dice) {
            case 0, 1, 2:
                entered += 1
                let limit = now + Double.random(in: 0..<5, using: &dice)
                let priority: PushPriority = Bool.random(using: &dice) ? .high : .low
                note(pool.enqueue([try attempt(entered, sendBefore: limit, priority)], now: Make.time(now)))
            case 3, 4, 5: pool.ready(id)
            case 6...11:
                let count = Int.random(in: 0...4, using: &dice)
                let allowance = streams(count, bytes: 500, isHeld: Bool.random(using: &dice))
                let pulled = pull(&pool, id, allowance, at: now)
                note(pulled.actions)
                out += pulled.batch
            case 12: note(pool.retire(id, wasUseful: Bool.random(using: &dice), now: Make.time(now), dice: 0.5))
            case 13: note(pool.ended(id, "no", wasUseful: Bool.random(using: &dice), now: Make.time(now), dice: 0.5))
            case 14:
                let returned = out.suffix(Int.random(in: 0...2, using: &dice))
                out.removeLast(returned.count)
                note(pool.requeue(Array(returned), now: Make.time(now)))
            default: note(pool.tick(Make.time(now)))
            }
            #expect(isServed(pool), "seed \(seed)")
        }
        note(pool.stop())
        left += out.map(\.id.low)
        #expect(left.sorted() == (0..<UInt64(entered)).map { $0 + 1 }, "seed \(seed)")
        #expect(Set(known).count == known.count, "seed \(seed)")
    }

    /// Returns `true` if the queue is served: a connection pulls, or none is hungry and would have to be woken.
    private func isServed(_ pool: PoolMachine) -> Bool {
        var isHungry = false
        for case .ready(_, let appetite) in pool.places {
            if appetite == .pulling { return true }
            if case .hungry = appetite { isHungry = true }
        }
        return pool.queue.isEmpty || !isHungry
    }

    @Test func `after a connection that was of use the waits begin anew`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(sendBefore: 1_000)], now: Make.time(0))
        /// Returns the delay, in seconds, until the next connection after one that ended at this time.
        func redial(_ id: Int, after now: Double, wasUseful: Bool) -> Double? {
            let ended = pool.ended(id, "gone", wasUseful: wasUseful, now: Make.time(now), dice: 1)
            if ended.dial != nil { return 0 }
            for step in 1...120 {
                if pool.tick(Make.time(now + Double(step) * 0.05)).dial != nil { return Double(step) * 0.05 }
            }
            return nil
        }
        #expect(redial(1, after: 1, wasUseful: false) == 0.1)
        #expect(redial(2, after: 10, wasUseful: false) == 0.2)
        #expect(redial(3, after: 20, wasUseful: false) == 0.4)
        pool.ready(4)
        #expect(redial(4, after: 30, wasUseful: true) == 0)
        #expect(redial(5, after: 40, wasUseful: false) == 0.1)
    }
}
