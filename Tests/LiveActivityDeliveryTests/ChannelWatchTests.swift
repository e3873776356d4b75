import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import StorageSQL
import TestSupport
import Testing

/// The lists that no claim asks for: they say how many channels an app has, whoever made them.
struct ChannelWatchTests {
    @Test(.timeLimit(.minutes(5)))
    func `a route is listed at the start and every hour, and calls and the number in use are measured`() async throws {
        try await ChannelStage.with { stage in
            stage.apns.makeElsewhere()
            try await stage.running(relist: .seconds(3600)) {
                try await stage.until { stage.inUse == 1 }
                stage.apns.makeElsewhere()
                await stage.clock.advanceToSleeper(.seconds(3600))
                try await stage.until { stage.inUse == 2 }
                #expect(stage.apns.calls == ["list", "list"])
                #expect(stage.calls("list", "accepted") == 2)
                try await stage.subscribe()
                try await stage.until { stage.inUse == 3 }
                #expect(stage.calls("create", "accepted") == 1)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `an app whose types use no channels is never listed`() async throws {
        try await ChannelStage.with { stage in
            let app = Sample.app(Sample.type { $0.delivery = .token }, environments: [.production])
            try await stage.running(apps: [app], relist: .seconds(3600)) {
                for _ in 0..<2 {
                    try await stage.until { stage.clock.nextWake != nil }
                    for _ in 0..<200 { await Task.yield() }
                    stage.clock.advance(by: .seconds(3600))
                }
                #expect(stage.apns.calls.isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `after a refusal because no more channels are allowed, the channels are listed within a minute`() async throws
    {
        try await ChannelStage.with { stage in
            let refusal = BroadcastError(.refused(status: 400, reason: .known(.cannotCreateChannelConfig)), "")
            stage.apns.fail("create", refusal)
            try await stage.running {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { try await stage.channel()?.life == .refused }
                #expect(stage.calls("create", "quota") == 1 && stage.apns.calls == ["list", "create"])
                for _ in 0..<100 { stage.apns.makeElsewhere() }
                await stage.clock.advanceToSleeper(ClaimChannels.listingPause)
                // The fake has made the channel that it refused.
                try await stage.until { stage.inUse == 101 }
                #expect(stage.apns.calls == ["list", "create", "list"])
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `while channel management fails, the list of the hour waits, and then it is the probe`() async throws {
        try await ChannelStage.with { stage in
            let refusal = BroadcastError(.refused(status: 403, reason: .known(.invalidProviderToken)), "")
            stage.apns.fail("create", refusal)
            try await stage.running(relist: .milliseconds(500)) {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { try await stage.channel()?.reason?.code == .halted }
                #expect(stage.apns.calls == ["list", "create"])
                await stage.clock.advanceToSleeper(.milliseconds(500))
                await stage.clock.advanceToSleeper(ClaimChannels.heldPause)
                try await stage.until { stage.apns.calls == ["list", "create", "list"] }
                try await stage.until { stage.calls("list", "accepted") == 2 }
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `a list that a deletion overlaps tells of no other program, and comes again in a minute`() async throws {
        try await ChannelStage.with { stage in
            try await stage.running {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { try await stage.channel()?.id != nil }
            }
            try await stage.end()
            stage.apns.makeElsewhere()
            stage.apns.hold("delete")
            let (before, route) = (stage.apns.calls.count, PushRoute(stage.app.bundleID, .production))
            try await stage.running(node: 2) {
                try await stage.until { stage.apns.calls.dropFirst(before).contains("list") }
                #expect(stage.apns.calls.dropFirst(before).contains("delete"))
                try await stage.until { stage.calls("list", "accepted") == 2 }
                #expect(try await stage.store.channelIDs(on: route).foreign.isEmpty)
                stage.apns.release()
                await stage.clock.advanceToSleeper(ClaimChannels.listingPause)
                try await stage.until { try await !stage.store.channelIDs(on: route).foreign.isEmpty }
            }
        }
    }
}
