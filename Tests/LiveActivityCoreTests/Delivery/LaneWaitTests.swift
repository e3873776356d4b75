import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of a lane's wait after faults that no phone caused.
///
/// The tries grow until one of its pushes is accepted or nothing waits any more.
struct LaneWaitTests {
    private static let fault = SettleFlight.Outcome.answered(.success(.refusal(.serviceUnavailable)))
    private static let accepted = SettleFlight.Outcome.answered(.success(PushAnswer(status: 200)))

    @Test func `what APNs says about a phone between two faults does not shorten the lane's wait`() throws {
        var (scene, flight) = try Scene.updating()
        for tries in 1...2 {
            try scene.settle(flight) { _ in Self.fault }
            #expect(try scene.lane().tries == tries)
            scene.wait(.seconds(60))
            flight = try scene.onlyFlight()
        }
        try scene.settle(flight) { _ in .answered(.success(.refusal(.tooManyRequests))) }
        #expect(try scene.lane().tries == 2 && scene.lane().reason == nil)
        scene.wait(.seconds(60))
        flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in Self.accepted }
        #expect(try scene.lane().tries == 0)
    }

    @Test func `a look at a phone whose answer is awaited does not shorten the lane's wait`() throws {
        var (scene, flight) = try Scene.updating()
        try scene.settle(flight) { _ in Self.fault }
        scene.wait(.seconds(60))
        flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
        scene.wait(.seconds(2))
        try scene.put("a", 3)
        #expect(try scene.deliver().isEmpty && scene.lane().tries == 1)
        try scene.settle(flight) { _ in Self.fault }
        scene.wait(.seconds(60))
        try scene.settle(scene.onlyFlight()) { _ in Self.fault }
        #expect(try scene.lane().tries == 2)
    }

    @Test func `the last page of a lap does not shorten a lane's wait for a phone of an earlier page`() throws {
        var scene = try Scene.live()
        // A second phone of the same person, to which nothing can be sent.
        try scene.register("d2", startToken: nil, key: .max - 1)
        #expect(try scene.deliver().isEmpty)
        scene.limits.phones = 1
        try scene.put("a", 2)
        try scene.settle(scene.onlyFlight()) { _ in Self.fault }
        scene.wait(.seconds(60))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
        #expect(try scene.deliver().isEmpty && scene.lane().isLapDone && scene.lane().tries == 1)
        // The phone has got the state by other means, so nothing waits any more.
        scene.wait(.seconds(1))
        try scene.report(token: "u1") { $0.contentState = Sample.state(2) }
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty && scene.lane().tries == 0)
    }
}
