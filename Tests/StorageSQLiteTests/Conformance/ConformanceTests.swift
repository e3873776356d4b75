import TestSupport
import Testing

/// The engine is what the reference store says it is: whatever commands come, in whatever order.
struct ConformanceTests {
    @Test(arguments: FreshSeeds.take(120))
    func `random commands give the same replies and the same rows as in the reference store`(seed: UInt64) async throws
    {
        try await withStore { store in
            var life = RandomLife(seed: seed, Pair(store))
            do {
                try await life.live(steps: 60)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }

    @Test(arguments: FreshSeeds.take(150))
    func `a group that shares a transaction does what its commands do one by one`(seed: UInt64) async throws {
        try await withStore { store in
            var life = RandomLife(seed: seed &* 7919, Pair(store))
            do {
                try await life.live(groups: 25)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }

    @Test(arguments: FreshSeeds.take(100))
    func `a group does what its commands do one by one to an audience that is too large to be loaded`(
        seed: UInt64
    ) async throws {
        try await withStore { store in
            var life = RandomLife(seed: seed &* 104_729, Pair(store))
            do {
                try await life.live(crowdedGroups: 3)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }
}
