import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Time for which APNs stores what is broadcast, for phones that are offline.
struct ChannelStorageTests {
    private static let eightHours = Duration.seconds(8 * 3600)

    /// Returns how long the broadcast that is due now is stored.
    private static func storage(_ scene: inout Scene, _ kind: ChannelFlight.Kind) throws -> Duration {
        let errand = try #require(try scene.claimChannels().errands.first)
        #expect(errand.flight.kind == kind)
        let plan = try #require(errand.plan)
        let request = try #require(try errand.request())
        #expect(request.storedUntil == plan.storedUntil)
        return plan.storedUntil - scene.now
    }

    @Test(
        arguments: [
            (nil, eightHours), (.seconds(600), .seconds(600)), (.seconds(60), .seconds(60)),
            (.seconds(10), .seconds(60)), (.seconds(9 * 3600), eightHours),
        ] as [(Duration?, Duration)])
    func `a state is stored until its stale date, for a minute at least and 8 hours at most`(
        staleAfter: Duration?, expected: Duration
    ) throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.staleAfter = staleAfter }
        let stored = try Self.storage(&scene, .update)
        #expect(stored == expected)
    }

    /// The server may be down when the activity is over. Its end then goes out when it is up again.
    @Test(
        arguments: [
            (.zero, eightHours), (.seconds(4 * 3600), eightHours), (.seconds(5 * 3600), .seconds(7 * 3600)),
            (.seconds(12 * 3600 - 1), .seconds(1)),
        ] as [(Duration, Duration)])
    func `an end is stored for 8 hours, but not after the channel's deletion`(
        late: Duration, expected: Duration
    ) throws {
        var scene = try Scene.subscribed()
        try scene.end("a", Sample.state(9))
        scene.wait(late)
        let stored = try Self.storage(&scene, .end)
        #expect(stored == expected)
    }

    @Test func `a channel that stores none is sent no expiration`() throws {
        var scene = try Scene.subscribed {
            $0.delivery = .channel
            $0.channelStorage = MessageStoragePolicy.none
        }
        try scene.put("a", 2) { $0.staleAfter = .seconds(600) }
        let errand = try #require(try scene.claimChannels().errands.first)
        let request = try #require(try errand.request())
        #expect(request.storedUntil == nil && request.expirationValue == 0)
    }
}
