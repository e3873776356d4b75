import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of starts on a phone that shows as many of the app's cards as the system allows.
struct CeilingTests {
    /// A phone with two of two allowed cards: `old` of relevance 1 and `new` of relevance 0.5.
    private func scene(_ atCeiling: TypePolicy.AtCeiling, tokens: Bool = true) throws -> Scene {
        let type = Sample.type(activityIDAttribute: "/id") { policy in
            policy.atCeiling = atCeiling
            policy.ceiling = 2
        }
        var scene = Scene(type)
        try scene.register()
        for (name, relevance) in [("old", 1.0), ("new", 0.5)] {
            try scene.put(name, users: ["ann"]) { $0.relevance = relevance }
            try scene.report(local: name, activity: name, token: tokens ? "u-\(name)" : nil)
            scene.wait(.seconds(60))
            try scene.deliver()
        }
        return scene
    }

    /// Claims, evicts and answers until nothing is due. Returns the pushes by kind and activity.
    private func deliver(_ scene: inout Scene) throws -> [String] {
        var sent: [String] = []
        for _ in 0..<20 {
            let reply = try scene.claim()
            for eviction in reply.evictions { _ = try scene.run(eviction) }
            for flight in reply.flights {
                sent += flight.seats.map { "\($0.plan.kind) \(flight.desired.activity.id)" }
                try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
            }
            if reply.flights.isEmpty, !reply.hasMore, reply.evictions.isEmpty { return sent }
        }
        return sent
    }

    @Test(arguments: [
        (TypePolicy.AtCeiling.ignore, 0.75, ["start third"], []), (.wait, 0.75, [], ["third: at-ceiling"]),
        (.endOldest, 0.1, ["end old"], ["third: evicting"]),
        (.endLeastRelevant, 0.75, ["end new"], ["third: evicting"]),
        (.endLeastRelevant, 0.5, ["end new"], ["third: evicting"]), (.endLeastRelevant, 0.1, [], ["third: at-ceiling"]),
    ])
    func `A third card of two allowed`(
        atCeiling: TypePolicy.AtCeiling, relevance: Double, sent: [String], waits: [String]
    ) throws {
        var scene = try scene(atCeiling)
        try scene.put("third", users: ["ann"]) { $0.relevance = relevance }
        scene.wait(.seconds(60))
        #expect(try deliver(&scene) == sent)
        scene.wait(Reconciler.ceilingRecheck)
        let later = try deliver(&scene)
        if !sent.isEmpty, !waits.isEmpty { #expect(later == ["start third"]) } else { #expect(later.isEmpty) }
    }

    @Test func `A card that made room stays away in this run, and its end says why`() throws {
        var scene = try scene(.endOldest)
        try scene.put("third", users: ["ann"])
        scene.wait(.seconds(60))
        #expect(try deliver(&scene) == ["end old"])
        #expect(try scene.card(of: "old").last?.kind == .end)
        try scene.report(local: "old", .ended, activity: "old")
        try scene.put("old", 7) { $0.restart = .always }
        scene.wait(.seconds(60))
        #expect(try deliver(&scene) == ["start third"])
        #expect(try scene.decision(of: "old").reason.code == .evicted)
        try scene.end("old")
        try scene.put("old", 8) { $0.reopen = true }
        #expect(try scene.activity("old").run == 2)
        // In its next run it is like any other, and another card is evicted for it.
        scene.wait(.seconds(60))
        #expect(try deliver(&scene) == ["end new"])
        scene.wait(Reconciler.ceilingRecheck)
        #expect(try deliver(&scene) == ["start old"])
        #expect(try !scene.card(of: "old").isEvicted && scene.decision(of: "old").reason.code != .evicted)
    }

    @Test func `A card that cannot be ended makes no room`() throws {
        var scene = try scene(.endOldest, tokens: false)
        try scene.put("third", users: ["ann"])
        scene.wait(.seconds(60))
        #expect(try deliver(&scene).isEmpty)
        scene.wait(.seconds(600))
        #expect(try deliver(&scene).isEmpty)
    }

    @Test func `A start that waits goes out when a card is over`() throws {
        var scene = try scene(.wait)
        try scene.put("third", users: ["ann"])
        scene.wait(.seconds(60))
        #expect(try deliver(&scene).isEmpty)
        try scene.report(local: "old", .dismissed, activity: "old")
        scene.wait(Reconciler.ceilingRecheck)
        #expect(try deliver(&scene) == ["start third"])
    }

    @Test func `Two starts of one claim do not take the same place`() throws {
        var scene = try scene(.wait)
        try scene.report(local: "old", .dismissed, activity: "old")
        try scene.put("third", users: ["ann"])
        try scene.put("fourth", users: ["ann"])
        scene.wait(.seconds(60))
        #expect(try deliver(&scene).count == 1)
    }
}
