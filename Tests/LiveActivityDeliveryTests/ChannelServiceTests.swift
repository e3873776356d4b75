import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import StorageSQL
import TestSupport
import Testing

/// The loop of broadcast channels, over the real store and a clock that the test moves.
struct ChannelServiceTests {
    @Test(.timeLimit(.minutes(5))) func `channels are listed before the first is made, and commits wake the loop`()
        async throws
    {
        try await ChannelStage.with { stage in
            try await stage.running {
                try await stage.subscribe()
                #expect(stage.apns.calls == ["list", "create"])
                stage.clock.advance(by: .seconds(10))
                try await stage.put(2)
                try await stage.until { try await stage.channel()?.sentRevision == 2 }
                #expect(stage.apns.calls == ["list", "create", "send"])
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `an hour without work asks the store for nothing`() async throws {
        try await ChannelStage.with { stage in
            let store = CountedStore(stage.store, { [clock = stage.clock] in clock.wall })
            try await stage.running(store: store) {
                try await stage.subscribe()
                try await stage.until { store.isIdle }
                let before = store.commits
                for _ in 0..<60 { stage.clock.advance(by: .seconds(60)) }
                // A service that had woken in that hour would have sent a command before this broadcast was settled.
                try await stage.put(2)
                try await stage.until { try await stage.channel()?.sentRevision == 2 }
                try await stage.until { store.isIdle }
                // The claim, the answer, and the claim that finds nothing more.
                #expect(store.commits == before + 3)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the end goes out, is repeated, and then the channel is deleted`() async throws
    {
        try await ChannelStage.with { stage in
            try await stage.running {
                try await stage.subscribe()
                stage.clock.advance(by: .seconds(10))
                try await stage.end()
                for ends in 1...3 {
                    try await stage.until { try await stage.channel()?.ends == ends }
                    // The next claim writes when the end is due again.
                    try await stage.until {
                        try await stage.channel()?.dueAt.map { $0 > stage.clock.wall } ?? false
                    }
                    let due = try #require(try await stage.channel()?.dueAt)
                    await stage.clock.advanceToSleeper(due - stage.clock.wall)
                }
                try await stage.until { try await stage.channel() == nil }
                #expect(stage.apns.calls.suffix(4) == ["send", "send", "send", "delete"])
                #expect(stage.apns.channels.isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a process that ends during a creation leaves no channel behind`() async throws
    {
        try await ChannelStage.with { stage in
            stage.apns.hold("create")
            try await stage.running {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { stage.apns.calls.contains("create") }
                // The process ends here: its answer comes too late.
                stage.apns.fail("create", BroadcastError(.unknownFate, "the process ended"))
                stage.apns.release()
                try await stage.until { try await stage.channel()?.life == .lost }
            }
            stage.apns.fail("create", nil)
            stage.clock.advance(by: .seconds(100))
            try await stage.running(node: 2) {
                // The call of the ended process may still be on its way, whatever the wall clock says. So the list at
                // the start tells nothing about it.
                try await stage.until { try await stage.channel()?.dueAt.map { $0 > stage.clock.wall } ?? false }
                try await stage.until { stage.calls("list", "accepted") == 2 }
                #expect(try await stage.channel()?.life == .lost)
                let certain = try #require(try await stage.channel()?.dueAt)
                #expect(certain == stage.clock.wall + ClaimChannels.lease)
                await stage.clock.advanceToSleeper(ClaimChannels.lease)
                try await stage.until { try await stage.channel()?.id != nil }
                #expect(stage.apns.calls.filter { $0 == "list" }.count == 3)
                #expect(stage.apns.channels.count == 1)
                #expect(try await stage.channel()?.id == stage.apns.channels.first)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a broadcast that a lost process had claimed is sent by the next`() async throws
    {
        try await ChannelStage.with { stage in
            try await stage.running { try await stage.subscribe() }
            stage.clock.advance(by: .seconds(10))
            try await stage.put(2)
            // The process dies after its claim.
            let due = DueChannels(at: stage.clock.wall, node: 1, limit: 10)
            let claim = ClaimChannels(due, apps: [ChannelStage.app.bundleID: ChannelStage.app], inUse: [:])
            #expect(try await stage.store.commit(claim).get().errands.count == 1)
            try await stage.running(node: 2) {
                try await stage.until { try await stage.channel()?.retryAt != nil || stage.apns.calls.contains("send") }
                stage.clock.advance(by: .seconds(2))
                try await stage.until { try await stage.channel()?.sentRevision == 2 }
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `where the list is refused, cards start with tokens and nothing is asked without a pause`() async throws {
        try await ChannelStage.with { stage in
            stage.apns.fail("list", BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""))
            try await stage.running {
                // The list at the start has failed when the loop sleeps until the next one.
                try await stage.until { stage.clock.nextWake == RetryDelay.service(tries: 1, dice: 0) }
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { try await stage.channel()?.life == .refused }
                let seats = try await stage.start()
                #expect(seats.count == 1 && seats[0].plan.channel == nil)
                for _ in 0..<200 { await Task.yield() }
                #expect(stage.apns.calls == ["list", "list"])
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a card that comes during the list at the start has a token when the list is refused`() async throws {
        try await ChannelStage.with { stage in
            stage.apns.hold("list")
            try await stage.running {
                try await stage.until { stage.apns.calls == ["list"] }
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until {
                    try await stage.channel()?.dueAt == stage.clock.wall + ClaimChannels.listingPause
                }
                stage.apns.fail("list", BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""))
                stage.apns.release()
                try await stage.until { try await stage.channel()?.life == .refused }
                #expect(stage.apns.calls == ["list"])
            }
        }
    }
}
