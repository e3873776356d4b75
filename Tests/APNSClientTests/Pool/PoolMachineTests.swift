import APNSModel
import Testing

@testable import APNSClient

@Suite struct PoolMachineTests {
    private let plenty = ConnectionMachine.Allowance(streams: 100, bytes: 65_535)

    private func machine(queueLimit: Int = 100, width: Int = 1) -> PoolMachine {
        let backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        return PoolMachine(width: width, queueLimit: queueLimit, backoff: backoff)
    }

    private func attempt(_ number: Int = 1, sendBefore: Double = 100, fill: Int = 10) throws -> Attempt {
        let push = try Make.push(number, fill: fill, sendBefore: Make.time(sendBefore), answerBy: Make.time(1_000))
        return Attempt(pending: PendingPush(push, index: number) { _, _ in })
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
        #expect(first.dial == [1] && first.wake.isEmpty && first.armTimer)
        let second = pool.enqueue([try attempt()], now: Make.time(0))
        #expect(second.dial.isEmpty && second.wake.isEmpty && !second.armTimer)
        pool.ready(1)
        #expect(pull(&pool, 1, plenty).batch.count == 2)
    }

    @Test func `only a connection that found the queue empty is woken, and once`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt()], now: Make.time(0))
        pool.ready(1)
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake.isEmpty)
        _ = pull(&pool, 1, plenty)
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake == [1])
        #expect(pool.enqueue([try attempt()], now: Make.time(0)).wake.isEmpty)
    }

    @Test func `several connections share one queue`() throws {
        var pool = machine(width: 3)
        let actions = pool.enqueue([try attempt(1), try attempt(2), try attempt(3)], now: Make.time(0))
        #expect(actions.dial == [1, 2, 3])
        for id in 1...3 { pool.ready(id) }
        let one = ConnectionMachine.Allowance(streams: 1, bytes: 65_535)
        let numbers = (1...3).flatMap { pull(&pool, $0, one).batch.map { $0.push.request.id.low } }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `a batch fits the connection's window, but one push always goes`() throws {
        var pool = machine()
        _ = pool.enqueue(try (1...5).map { try attempt($0, fill: 1_000) }, now: Make.time(0))
        pool.ready(1)
        #expect(pull(&pool, 1, .init(streams: 10, bytes: 2_500)).batch.count == 2)
        #expect(pull(&pool, 1, .init(streams: 10, bytes: 1)).batch.count == 1)
        #expect(pull(&pool, 1, .init(streams: 1, bytes: 65_535)).batch.count == 1)
    }

    @Test func `what does not fit the queue is overloaded`() throws {
        var pool = machine(queueLimit: 3)
        let actions = pool.enqueue(try (1...5).map { try attempt($0) }, now: Make.time(0))
        #expect(actions.fail.map(\.failure.code) == [.overloaded, .overloaded])
        #expect(actions.fail.map { $0.attempt.push.request.id.low } == [4, 5])
    }

    @Test func `a push whose time is over never leaves`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1, sendBefore: 5), try attempt(2, sendBefore: 50)], now: Make.time(0))
        pool.ready(1)
        let pulled = pull(&pool, 1, plenty, at: 5)
        #expect(pulled.batch.map { $0.push.request.id.low } == [2])
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
            #expect(pool.ended(id, "no", wasUseful: false, now: Make.time(now), dice: 1).dial.isEmpty)
            #expect(pool.tick(Make.time(now + wait - 0.01)).dial.isEmpty)
            now += wait
            id += 1
            #expect(pool.tick(Make.time(now)).dial == [id])
        }
        pool.ready(id)
        #expect(pool.ended(id, nil, wasUseful: true, now: Make.time(now), dice: 1).dial == [id + 1])
    }

    @Test func `a retired connection is replaced at once and finishes beside its successor`() throws {
        var pool = machine()
        _ = pool.enqueue([try attempt(1)], now: Make.time(0))
        pool.ready(1)
        _ = pull(&pool, 1, plenty)
        #expect(pool.retire(1, wasUseful: true, now: Make.time(1), dice: 0).dial.isEmpty)
        #expect(pool.requeue([try attempt(1)], now: Make.time(1)).dial == [2])
        #expect(pull(&pool, 1, plenty).batch.isEmpty)
        pool.ready(2)
        #expect(pull(&pool, 2, plenty).batch.count == 1)
    }

    @Test func `what the peer refused goes first, in its order`() throws {
        var pool = machine(queueLimit: 2)
        _ = pool.enqueue([try attempt(3), try attempt(4)], now: Make.time(0))
        _ = pool.requeue([try attempt(1), try attempt(2)], now: Make.time(0))
        pool.ready(1)
        #expect(pull(&pool, 1, plenty).batch.map { $0.push.request.id.low } == [1, 2, 3, 4])
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

    @Test(arguments: 0..<100)
    func `no order of events loses or doubles a push`(seed: UInt64) throws {
        var dice = SeededDice(seed)
        var pool = machine(queueLimit: 20, width: Int.random(in: 1...3, using: &dice))
        var entered = 0
        var left: [UInt64] = []
        var known: [Int] = []
        var now = 0.0
        func note(_ actions: PoolMachine.Actions) {
            known += actions.dial
            left += actions.fail.map { $0.attempt.push.request.id.low }
        }
        for _ in 0..<200 {
            now += Double.random(in: 0..<0.5, using: &dice)
            let id = known.randomElement(using: &dice) ?? 0
            switch Int.random(in: 0..<8, using: &dice) {
            case 0, 1, 2:
                entered += 1
                let limit = now + Double.random(in: 0..<5, using: &dice)
                note(pool.enqueue([try attempt(entered, sendBefore: limit)], now: Make.time(now)))
            case 3: pool.ready(id)
            case 4:
                let pulled = pull(&pool, id, .init(streams: Int.random(in: 0...4, using: &dice), bytes: 500), at: now)
                note(pulled.actions)
                left += pulled.batch.map { $0.push.request.id.low }
            case 5: note(pool.retire(id, wasUseful: Bool.random(using: &dice), now: Make.time(now), dice: 0.5))
            case 6: note(pool.ended(id, "no", wasUseful: Bool.random(using: &dice), now: Make.time(now), dice: 0.5))
            default: note(pool.tick(Make.time(now)))
            }
        }
        note(pool.stop())
        #expect(left.sorted() == (0..<UInt64(entered)).map { $0 + 1 }, "seed \(seed)")
        #expect(Set(known).count == known.count, "seed \(seed)")
    }
}
