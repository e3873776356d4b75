import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Circuits of a route's broadcasts, and of its channel management.
struct ChannelCircuitTests {
    private static let trouble = RouteTrouble.halted(status: 403, reason: "InvalidProviderToken", scope: "key")

    private static func closed(_ scene: Scene, wantsProbe: Bool = false) -> CircuitGate {
        CircuitGate(
            closed: [Scene.route: .init(until: scene.now + .seconds(60), trouble: trouble)],
            probes: wantsProbe ? [Scene.route] : [])
    }

    @Test func `while broadcasts fail, nothing is sent except a probe, and the last state follows`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2)
        let held = try scene.claimChannels(gates: ChannelGates(sends: Self.closed(scene)))
        #expect(held.errands.isEmpty && held.gates.sends.held == [Scene.route])
        let channel = try #require(try scene.channel())
        #expect(channel.reason?.code == .halted && channel.dueAt == scene.now + .seconds(60))
        scene.wait(.seconds(60))
        let probe = try scene.claimChannels(gates: ChannelGates(sends: Self.closed(scene, wantsProbe: true)))
        #expect(probe.errands.map(\.flight.revision) == [2] && probe.gates.sends.probed == [Scene.route])
        try scene.settle(try #require(probe.errands.first), .done)
        #expect(try scene.channel()?.reason == nil)
    }

    @Test func `an alert is no probe`() throws {
        var scene = try Scene.subscribed()
        try scene.put("a", 2) { $0.alert = .init(Sample.alert) }
        let held = try scene.claimChannels(gates: ChannelGates(sends: Self.closed(scene, wantsProbe: true)))
        #expect(held.errands.isEmpty)
    }

    @Test func `while management fails, auto starts cards with tokens, and broadcasts go on`() throws {
        var scene = try Scene.onChannel {
            $0.delivery = .auto
            $0.join = .open
        }
        try scene.put(users: ["phone"])
        try scene.deliver()
        let gates = ChannelGates(management: Self.closed(scene))
        #expect(try scene.claimChannels(gates: gates).errands.isEmpty)
        #expect(try scene.deliver().map(\.plan.channel) == [nil])

        var other = try Scene.subscribed()
        try other.put("a", 2)
        #expect(try other.claimChannels(gates: ChannelGates(management: Self.closed(other))).errands.count == 1)
    }

    @Test func `a fault of a call about a channel is the route's, and a refusal of the channel is not`() {
        func tally(_ error: BroadcastError?) -> RouteTally {
            var tally = RouteTally()
            tally.add(error, about: 7, in: .production)
            return tally
        }
        #expect(tally(nil).healthy == 1)
        #expect(tally(BroadcastError(.refused(status: 429, reason: nil), "")).slowDowns == 1)
        #expect(tally(BroadcastError(.refused(status: 400, reason: .known(.channelNotRegistered)), "")).healthy == 1)
        #expect(tally(BroadcastError(.refused(status: 503, reason: nil), "")).trouble?.isHalt == false)
        #expect(tally(BroadcastError(.refused(status: 403, reason: nil), "")).trouble?.isHalt == true)
        #expect(tally(BroadcastError(.notConfigured, "")).trouble?.isHalt == true)
        for code in [BroadcastError.Code.cannotConnect, .refusedByPeer, .unknownFate, .notSentInTime] {
            #expect(tally(BroadcastError(code, "")).troubled == 1)
        }
        for code in [BroadcastError.Code.overloaded, .stopping] {
            #expect(tally(BroadcastError(code, "")).isEmpty)
        }
    }
}
