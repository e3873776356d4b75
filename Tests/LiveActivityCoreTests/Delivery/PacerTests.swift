import APNSModel
import LiveActivityCore
import TestSupport
import Testing

struct PacerTests {
    private let now = Sample.now

    /// A reference to a pacer, so that an expectation may change it.
    private final class House {
        var pacer: Pacer
        init(_ limits: Pacer.Limits = Pacer.Limits()) { pacer = Pacer(limits) }

        func record(_ slowDowns: Int, of count: Int, halvings: Int, at time: UnixTime) -> Bool {
            pacer.record(
                PushRoute(Sample.bundleID, .production), slowDowns: slowDowns, of: count, halvings: halvings, at: time)
        }
    }

    private func reserve(_ house: House, upTo most: Int, isHasty: Bool = false) -> Pacer.Grant? {
        house.pacer.reserve(upTo: most, isHasty: isHasty, at: now)
    }

    private func slowed(_ house: House, at time: UnixTime, share: Int = 21) -> Bool {
        let halvings = house.pacer.grant(at: time)?.halvings ?? 0
        return house.record(share, of: 100, halvings: halvings, at: time)
    }

    @Test func `8,000 pushes may be on their way, 4,000 of them of one activity`() throws {
        let house = House()
        let grant = try #require(house.pacer.grant(at: now))
        #expect(grant.pushes == 8000 && grant.room(of: 1) == 4000)
        house.pacer.left(1, 3000)
        #expect(house.pacer.grant(at: now).map { [$0.pushes, $0.room(of: 1), $0.room(of: 2)] } == [5000, 1000, 4000])
        house.pacer.left(1, 1000)
        #expect(house.pacer.grant(at: now).map { [$0.room(of: 1), $0.room(of: 2)] } == [0, 4000])
        house.pacer.settled(1, 1000)
        #expect(house.pacer.grant(at: now)?.room(of: 1) == 1000)
    }

    @Test func `what a claim has reserved is free for no other until it is released`() throws {
        let house = House()
        let first = try #require(reserve(house, upTo: 4000))
        #expect(first.pushes == 4000 && !house.pacer.isIdle)
        let second = try #require(reserve(house, upTo: 5000))
        #expect(second.pushes == 4000)
        #expect(reserve(house, upTo: 1) == nil && house.pacer.grant(at: now) == nil)
        house.pacer.left(1, 3000)
        house.pacer.release(first)
        #expect(house.pacer.grant(at: now)?.pushes == 1000)
        house.pacer.release(second)
        #expect(house.pacer.grant(at: now)?.pushes == 5000)
        house.pacer.settled(1, 3000)
        #expect(house.pacer.isIdle)
    }

    @Test func `a claim before its turn needs twice what it takes, and gets a quarter at most`() throws {
        let house = House()
        house.pacer.left(1, 4000)
        #expect(reserve(house, upTo: 9000, isHasty: true)?.pushes == 2000)
        // 2,000 of 8,000 are free.
        #expect(reserve(house, upTo: 1001, isHasty: true) == nil)
        #expect(reserve(house, upTo: 1000, isHasty: true)?.pushes == 1000)
        #expect(reserve(house, upTo: 1000, isHasty: true) == nil)
        #expect(reserve(house, upTo: 1000)?.pushes == 1000)
    }

    @Test func `a full house is refilled by the sixteenth`() {
        let house = House()
        house.pacer.left(1, 4000)
        house.pacer.left(2, 4000)
        #expect(house.pacer.grant(at: now) == nil)
        house.pacer.settled(1, 499)
        #expect(house.pacer.grant(at: now) == nil)
        house.pacer.settled(1, 1)
        #expect(house.pacer.grant(at: now)?.pushes == 500)
    }

    @Test func `stragglers leave room, until there are very many`() {
        var limits = Pacer.Limits()
        limits.stragglers = 10
        let house = House(limits)
        house.pacer.left(1, 8000)
        house.pacer.settled(1, 8000, late: 9)
        #expect(house.pacer.grant(at: now)?.pushes == 8000)
        house.pacer.left(1, 1)
        house.pacer.settled(1, 1, late: 1)
        #expect(house.pacer.grant(at: now) == nil)
        house.pacer.caughtUp(10)
        #expect(house.pacer.isIdle && house.pacer.grant(at: now) != nil)
    }

    @Test func `more than a fifth of 429 halves the whole, and it grows back`() {
        let house = House()
        #expect(!slowed(house, at: now, share: 20))
        #expect(slowed(house, at: now))
        #expect(house.pacer.ceiling(at: now) == 4000)
        #expect(house.pacer.grant(at: now)?.room(of: 1) == 2000)
        #expect(house.pacer.ceiling(at: now + .seconds(4)) == 6000)
        #expect(house.pacer.ceiling(at: now + .seconds(8)) == 8000)
        #expect(house.pacer.ceiling(at: now + .seconds(3600)) == 8000)
        #expect(house.pacer.ceiling(at: now + .seconds(-3600)) == 8000)
    }

    @Test func `it is never less than 64`() {
        let house = House()
        for _ in 0..<20 { #expect(slowed(house, at: now)) }
        #expect(house.pacer.ceiling(at: now) == 64)
    }

    @Test func `a share is judged by a hundred answers, and what left before a halving is no reason for another`() {
        let house = House()
        for _ in 0..<99 { #expect(!house.record(1, of: 1, halvings: 0, at: now)) }
        #expect(house.record(1, of: 1, halvings: 0, at: now))
        for _ in 0..<10 { #expect(!house.record(500, of: 500, halvings: 0, at: now)) }
        #expect(house.pacer.ceiling(at: now) == 4000)
    }

    @Test func `a claim takes no more than it was granted`() throws {
        let house = House()
        house.pacer.left(1, 3500)
        var grant = try #require(house.pacer.grant(at: now))
        grant.take(250, of: 1)
        #expect(grant.room(of: 1) == 250 && grant.pushes == 4250 && !grant.isFull(1))
        // All but a sixteenth of its half is on its way.
        grant.take(1, of: 1)
        #expect(grant.room(of: 1) == 0 && grant.isFull(1) && !grant.isFull(3))
        grant.take(249, of: 1)
        grant.take(4000, of: 2)
        #expect(grant.room(of: 1) == 0 && grant.room(of: 2) == 0 && grant.room(of: 3) == 0)
    }

    @Test func `in any order, no more is on its way than may be, and all room comes back`() {
        for seed in UInt64(1)...200 {
            var dice = SeededDice(seed: seed)
            let house = House()
            var time = now
            var flights: [(activity: ActivityNumber, pushes: Int, late: Bool)] = []
            for _ in 0..<200 {
                time = time + .milliseconds(Int64(dice.roll(2000)))
                if dice.chance(50), var grant = house.pacer.grant(at: time) {
                    let activity = ActivityNumber(dice.roll(4))
                    let pushes = min(grant.room(of: activity), 1 + dice.roll(1000))
                    guard pushes > 0 else { continue }
                    grant.take(pushes, of: activity)
                    house.pacer.left(activity, pushes)
                    flights.append((activity, pushes, false))
                    let mine = flights.filter { $0.activity == activity && !$0.late }.map(\.pushes).reduce(0, +)
                    #expect(house.pacer.onTheWay <= house.pacer.ceiling(at: time), "seed \(seed)")
                    #expect(mine <= max(1, house.pacer.ceiling(at: time) / 2), "seed \(seed)")
                } else if !flights.isEmpty {
                    let index = dice.roll(flights.count)
                    let flight = flights.remove(at: index)
                    if flight.late {
                        house.pacer.caughtUp(flight.pushes)
                    } else {
                        let late = dice.chance(30) ? dice.roll(flight.pushes + 1) : 0
                        house.pacer.settled(flight.activity, flight.pushes, late: late)
                        if late > 0 { flights.append((flight.activity, late, true)) }
                    }
                    if dice.chance(10) { _ = slowed(house, at: time, share: dice.roll(60)) }
                }
            }
            for flight in flights {
                if flight.late {
                    house.pacer.caughtUp(flight.pushes)
                } else {
                    house.pacer.settled(flight.activity, flight.pushes)
                }
            }
            #expect(house.pacer.isIdle && house.pacer.grant(at: time + .seconds(60))?.pushes == 8000, "seed \(seed)")
        }
    }
}
