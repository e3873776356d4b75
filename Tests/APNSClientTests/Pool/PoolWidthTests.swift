import APNSModel
import NIOCore
import NIOPosix
import Testing

@testable import APNSClient

/// Rules of `PoolMachine`: when another connection is made, which one gets work, and when one closes.
@Suite struct PoolWidthTests {
    private func pool(_ width: Int, waiting count: Int) throws -> PoolMachine {
        var pool = PoolMachine(
            .init(
                connections: width, idleLifetime: .seconds(300),
                queue: .init(waiting: 10_000, lowPriorityTurn: 8)),
            backoff: Backoff(first: .milliseconds(100), longest: .seconds(5)))
        _ = pool.enqueue(try attempts(count), now: Make.time(0))
        pool.ready(1)
        return pool
    }

    private func attempts(_ count: Int) throws -> [Attempt] {
        try (0..<count).map { Attempt(try Make.push($0)) }
    }

    private func pull(
        _ pool: inout PoolMachine, _ id: Int, _ streams: Int, bytes: Int = 1 << 20, isHeld: Bool = false,
        at now: Double = 0
    ) -> (count: Int, actions: PoolMachine.Actions) {
        var batch: [Attempt] = []
        let allowance = ConnectionMachine.Allowance(streams: streams, bytes: bytes, isHeld: isHeld)
        let actions = pool.pull(id, allowance, now: Make.time(now), into: &batch)
        return (batch.count, actions)
    }

    @Test func `another connection is made when the first has all its streams and pushes wait`() throws {
        var pool = try pool(3, waiting: 30)
        #expect(pull(&pool, 1, 10).actions.dial == .init(id: 2, place: 1))
        #expect(pool.enqueue(try attempts(1), now: Make.time(0)).dial == nil, "one at a time")
        pool.ready(2)
        #expect(pull(&pool, 2, 10).actions.dial == .init(id: 3, place: 2))
        pool.ready(3)
        #expect(pull(&pool, 3, 5).actions.dial == nil, "no more than the options say")
    }

    @Test func `a connection with room left is enough`() throws {
        var pool = try pool(3, waiting: 600)
        #expect(pull(&pool, 1, 1_000).count == PoolMachine.batchSize)
        #expect(pull(&pool, 1, 744).actions.dial == nil)
        #expect(pull(&pool, 1, 488).actions.dial == nil)
        #expect(pool.queue.isEmpty)
    }

    @Test func `streams that are all taken while nothing waits make none`() throws {
        var pool = try pool(3, waiting: 10)
        #expect(pull(&pool, 1, 10).actions.dial == nil)
        #expect(pool.enqueue(try attempts(1), now: Make.time(0)).dial?.id == 2)
    }

    @Test(arguments: [0, 1]) func `what passes by itself makes another only when it lasts`(streams: Int) throws {
        var pool = try pool(3, waiting: 10)
        #expect(pull(&pool, 1, streams, isHeld: true).actions.dial == nil)
        #expect(pool.tick(Make.time(1.9)).dial == nil)
        #expect(pull(&pool, 1, streams, isHeld: true, at: 1.95).actions.dial == nil)
        #expect(pool.tick(Make.time(2)).dial?.id == 2)
    }

    @Test func `a window that is used up passes what waits to the other`() throws {
        var pool = try pool(2, waiting: 10)
        #expect(pull(&pool, 1, 1).actions.dial?.id == 2)
        pool.ready(2)
        #expect(pull(&pool, 2, 100).count == 9)
        #expect(pool.enqueue(try attempts(5), now: Make.time(0)).wake == 2)
        let size = try Make.push(0).request.payload.count
        let pulled = pull(&pool, 2, 100, bytes: size)
        #expect(pulled.count == 1 && pulled.actions.wake == nil && pulled.actions.dial == nil)
        #expect(pull(&pool, 1, 100).count == 4)
    }

    @Test func `the first with room is woken, the next one when that is full`() throws {
        var pool = try pool(2, waiting: 2)
        #expect(pull(&pool, 1, 1).actions.dial?.id == 2)
        pool.ready(2)
        #expect(pull(&pool, 2, 10).count == 1)
        #expect(pull(&pool, 1, 10).count == 0)
        #expect(pool.enqueue(try attempts(5), now: Make.time(0)).wake == 1)
        #expect(pool.enqueue(try attempts(5), now: Make.time(0)).wake == nil)
        #expect(pull(&pool, 1, 4).actions.wake == 2)
        #expect(pull(&pool, 2, 10).count == 6)
    }

    @Test func `what waits goes to a connection that stands before another is made`() throws {
        var pool = try pool(2, waiting: 2)
        _ = pull(&pool, 1, 1)
        pool.ready(2)
        _ = pull(&pool, 2, 10)
        #expect(pool.retire(1, wasUseful: true, now: Make.time(1), dice: 0).dial == nil)
        let actions = pool.requeue(try attempts(1), now: Make.time(1))
        #expect(actions.wake == 2 && actions.dial == nil)
    }

    @Test func `a failure to connect delays the next place too`() throws {
        var pool = try pool(2, waiting: 10)
        #expect(pull(&pool, 1, 1).actions.dial?.id == 2)
        #expect(pool.ended(2, "no", wasUseful: false, now: Make.time(0), dice: 1).dial == nil)
        #expect(pool.tick(Make.time(0.09)).dial == nil)
        #expect(pool.tick(Make.time(0.1)).dial == .init(id: 3, place: 1))
    }

    @Test func `a surplus connection goes after a time without work, the last one never`() throws {
        var pool = try pool(2, waiting: 2)
        _ = pull(&pool, 1, 1)
        pool.ready(2)
        _ = pull(&pool, 2, 10)
        for now in [0, 299.9] {
            #expect(pull(&pool, 1, 10, at: now).actions.drain == nil)
            #expect(pull(&pool, 2, 10, at: now).actions.drain == nil)
        }
        #expect(pull(&pool, 1, 10, at: 300).actions.drain == nil)
        #expect(pull(&pool, 2, 10, at: 300).actions.drain == 2)
        #expect(pull(&pool, 1, 10, at: 900).actions.drain == nil)
        // It never had a push accepted, and still nothing waits for its successor.
        #expect(pool.ended(2, nil, wasUseful: false, now: Make.time(900), dice: 1).dial == nil)
        _ = pool.enqueue(try attempts(2), now: Make.time(900))
        #expect(pull(&pool, 1, 1, at: 900).actions.dial?.id == 3)
        #expect(pool.stage == .running)
    }

    @Test func `work makes a surplus connection stay`() throws {
        var pool = try pool(2, waiting: 2)
        _ = pull(&pool, 1, 1)
        pool.ready(2)
        _ = pull(&pool, 2, 10)
        _ = pool.enqueue(try attempts(1), now: Make.time(200))
        #expect(pull(&pool, 2, 10, at: 200).count == 1)
        #expect(pull(&pool, 2, 10, at: 499).actions.drain == nil)
        #expect(pull(&pool, 2, 10, at: 500).actions.drain == 2)
    }

    @Test func `places have event loops of their own`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        let loops = ConnectionPool.loops(for: 3, of: group).map(ObjectIdentifier.init)
        let more = ConnectionPool.loops(for: 4, of: group).map(ObjectIdentifier.init)
        #expect(Set(loops).count == 3 && Set(more).count == 3)
        #expect(loops[0] != more[0], "another pool begins elsewhere")
        try await group.shutdownGracefully()
    }
}
