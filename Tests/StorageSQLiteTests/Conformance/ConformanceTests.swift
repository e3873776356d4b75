import TestSupport
import Testing

/// The engine is what the reference store says it is: whatever commands come, in whatever order.
struct ConformanceTests {
    /// Lives that had shown a difference: a preview that told of a start token nobody asks for, and a settlement that
    /// went by an environment which another command of its group had loaded.
    private static let found = (single: UInt64(29_575_745_633_910), grouped: UInt64(29_575_745_633_845))

    @Test(arguments: Array(FreshSeeds.take(120)) + [found.single])
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

    @Test(arguments: Array(FreshSeeds.take(150)) + [found.grouped])
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
