import APNSModel
import LiveActivityCore
import TestSupport
import Testing

// Cards that are over or ending: their token is refused, or their person comes back.
extension FoundBySimulationTests {
    /// A person's card whose end was refused because iOS had replaced the token.
    private func endedInVain() throws -> Scene {
        var scene = try Scene.live()
        try scene.put("a", 2, users: ["bob"])
        scene.wait(.seconds(2))
        let now = scene.now
        let sent = try scene.deliver(.refusal(.expiredToken, inactiveSince: now))
        #expect(sent.map(\.plan.kind) == [.end])
        #expect(try scene.card().state == .ended)
        scene.wait(.seconds(5))
        return scene
    }

    @Test func `a card that its end never reached is the person's card when they are taken in again`() throws {
        var scene = try endedInVain()
        try scene.put("a", 3, users: ["ann"])
        try scene.report(token: "u2")
        #expect(try scene.card().state == .live)
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a card that its end never reached is not brought back by a report from before the inventory`() throws {
        var scene = try endedInVain()
        _ = try scene.inventory(sequence: 1)
        try scene.report(token: "u2")
        #expect(try scene.card().state == .ended)
        #expect(try scene.deliver().isEmpty)
    }

    @Test func `the app's own card of an earlier run is ended, though its report comes after the next has begun`()
        throws
    {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        try scene.report(local: "soon", .requesting)
        let started = scene.now + .seconds(1)
        scene.wait(.seconds(5))
        try scene.end()
        scene.wait(.seconds(5))
        try scene.put("a", 2) { $0.reopen = true }
        try scene.report(token: "u1") { $0.startedAt = started }
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.kind) == [.end])
        #expect(sent.first?.plan.reason.code == .earlierRun)
        // A phone with recent contact may be starting the card itself.
        scene.wait(Reconciler.recentContact)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a token that came since is tried in both environments as well`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        try scene.deliver()
        for token in ["u1", "u2"] {
            try scene.report(token: token)
            try scene.put("a", token == "u1" ? 2 : 3)
            scene.wait(.seconds(70))
            var tried: [APNSEnvironment?] = []
            for _ in 0..<2 {
                let flight = try scene.onlyFlight()
                tried.append(flight.seats.first?.phone.updateToken?.environment)
                try scene.settle(flight) { _ in .answered(.success(.refusal(.badDeviceToken))) }
            }
            #expect(tried == [.production, .sandbox], "\(token)")
            #expect(try scene.deliver().isEmpty)
        }
    }

    @Test(arguments: [CardReport.State.gone, .dismissed])
    func `a phone's own word about a card with a dead token is taken`(state: CardReport.State) throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let now = scene.now
        try scene.deliver(.refusal(.expiredToken, inactiveSince: now))
        #expect(try scene.card().state == .gone)
        scene.wait(.seconds(120))
        try scene.report(local: "card", state)
        #expect(try scene.card().state == state.tombstone)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a renewed card's refusal is dated by its own token, not by its successor's`() throws {
        var scene = try Scene.live(Sample.type { $0.renewal = true })
        scene.wait(Reconciler.renewalAge)
        #expect(try scene.deliver().map(\.plan.part) == [.successor])
        let refused = scene.now
        scene.wait(.seconds(5))
        try scene.report(local: "second", token: "u2")
        let flight = try scene.onlyFlight()
        #expect(flight.seats.map(\.plan.part) == [.predecessor])
        try scene.settle(flight) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: refused))) }
        scene.wait(.seconds(600))
        #expect(try scene.deliver().allSatisfy { $0.plan.part == .card })
    }

    /// The clock was set back after the token was reported, so the 410's time always seems older than the token.
    @Test func `an end whose refusal seems older than its token is not repeated every few seconds`() throws {
        var scene = try Scene.live()
        let refused = scene.now - .seconds(600)
        try scene.put("a", 2, users: ["bob"])
        scene.wait(.seconds(2))
        try scene.deliver()
        #expect(try scene.card().state == .ending)
        try scene.put("a", 3)
        scene.wait(.seconds(16 * 60))
        for _ in 0..<5 {
            let flight = try scene.onlyFlight()
            try scene.settle(flight) { _ in
                .answered(.success(.refusal(.expiredToken, inactiveSince: refused)))
            }
            let due = try #require(try scene.card().attempts.dueAt)
            #expect(due >= scene.now + .seconds(25))
            scene.now = due
        }
    }
}

extension CardReport.State {
    fileprivate var tombstone: CardState { self == .dismissed ? .dismissed : .gone }
}

extension FoundBySimulationTests {
    @Test func `an end whose answer is awaited is not sent again before its time`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
        scene.wait(.seconds(70))
        // The end of the card, then another last state for it.
        for isAgain in [false, true] {
            try scene.end("a", isAgain ? Sample.state(3) : nil)
            scene.wait(.seconds(2))
            let flight = try scene.onlyFlight()
            #expect(flight.seats.map(\.plan.kind) == [.end])
            let until = scene.now + .seconds(13)
            try scene.settle(flight) { _ in .awaited(until: until) }
            scene.wait(.seconds(12))
            #expect(try scene.claim().flights.isEmpty)
            scene.wait(.seconds(1))
            #expect(try scene.deliver().map(\.plan.kind) == [.end])
        }
    }

    @Test func `a person who is taken in again gets no second high push within the minute`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(100))
        try scene.put("a", 1, users: ["bob"])
        #expect(try scene.deliver().map(\.plan.priority) == [.high])
        scene.wait(.seconds(5))
        try scene.put("a", 1, users: ["ann"])
        try scene.report(token: "u2")
        try scene.put("a", 2) { $0.priority = .high }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.priority) == [.low])
    }
}

extension FoundBySimulationTests {
    @Test func `an end that is refused over a state of the app's own waits as any other`() throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        try scene.deliver()
        let own = scene.now.seconds + 1
        let before = scene.now - .seconds(60)
        try scene.report(token: "u2") { report in
            report.basedOn = 1
            report.lastTimestamp = own
            report.contentState = Sample.state(-2)
        }
        scene.wait(.seconds(20 * 60))
        // APNs's 410 names a time before the token was reported, so the server doubts it and tries again.
        var sent = 0
        for _ in 0..<20 {
            let flights = try scene.claim().flights
            guard let flight = flights.first else { break }
            sent += flight.seats.count
            try scene.settle(flight) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: before))) }
        }
        #expect(sent == 1)
    }
}
