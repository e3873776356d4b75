import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests of the reasons recorded for a push without an answer.
struct LostAnswerTests {
    private static let lost = SettleFlight.Outcome.answered(.failure(PushFailure(.unknownFate, "cut")))

    /// Returns the reasons that the settlement leaves in the timeline and in the phone's row.
    private func told(_ flight: Flight, in scene: inout Scene) throws -> [Reason] {
        try scene.settle(flight) { _ in Self.lost }
        let entry = scene.store.history.flatMap(\.entries).last
        return [entry?.outcome, try scene.card().last?.reason].compactMap { $0 }
    }

    @Test func `the timeline of a start promises no attempt, and none is made`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(100))
        let reasons = try told(try scene.onlyFlight(), in: &scene)
        #expect(reasons.map(\.code) == [.unknownFate, .unknownFate])
        #expect(reasons.allSatisfy { !$0.text.contains("attempt") && $0.text.contains("second card") })
        scene.wait(.seconds(9000))
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `the timeline of an update says when the next attempt is, and it is made then`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        let reasons = try told(try scene.onlyFlight(), in: &scene)
        let dueAt = try #require(try scene.card().attempts.dueAt)
        #expect(reasons.count == 2)
        #expect(reasons.allSatisfy { $0.text.hasSuffix("the next attempt is at \(dueAt)") })
        scene.now = dueAt
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a start that is awaited promises no attempt either`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        try scene.report("phone", .dismissed)
        try scene.put("a", 2)
        scene.wait(.seconds(200))
        let start = try scene.onlyFlight()
        #expect(start.seats.first?.plan.kind == .start)
        let until = scene.now + .seconds(10)
        try scene.settle(start) { _ in .awaited(until: until) }
        let reason = try #require(try scene.card().last?.reason)
        #expect(reason.code == .awaited && !reason.text.contains("attempt"), "\(reason.text)")
    }
}
