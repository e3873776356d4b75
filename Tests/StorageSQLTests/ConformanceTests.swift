import TestSupport
import Testing

@testable import StorageConformance

/// Tests that the engine behaves as the reference store for any commands in any order.
struct ConformanceTests {
    /// Seeds that once failed. In this one, a preview announced a start token that nobody asks for.
    private static let found: [UInt64] = [29_575_745_633_910]
    /// Seeds that once failed in groups:
    ///
    /// - A settlement used an environment that another command of its group had loaded.
    /// - A settlement took back a phone's card, although another had let go of its token.
    /// - Two sweeps exceeded one transaction.
    private static let foundInGroups: [UInt64] = [
        29_575_745_633_845, 6_200_067_368_151, 264_712_805_897_831, 122_501_592_580_539,
    ]

    @Test(arguments: Array(FreshSeeds.take(120)) + found)
    func `random commands give the same replies and the same rows as in the reference store`(seed: UInt64) async throws
    {
        try await withStores(onServer: seed.isMultiple(of: 4)) { store in
            var life = RandomLife(seed: seed, Pair(store))
            do {
                try await life.live(steps: 60)
                try await life.pair.compareChannels()
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }

    @Test(arguments: Array(FreshSeeds.take(150)) + foundInGroups)
    func `a group that shares a transaction does what its commands do one by one`(seed: UInt64) async throws {
        try await withStores(onServer: seed.isMultiple(of: 4)) { store in
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
        try await withStores(onServer: seed.isMultiple(of: 4)) { store in
            var life = RandomLife(seed: seed &* 104_729, Pair(store))
            do {
                try await life.live(crowdedGroups: 3)
            } catch let difference as Pair.Difference {
                Issue.record("seed \(seed), \(difference)")
            }
        }
    }
}
