import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Faults found by `script/simulate`, each reduced to a short test.
struct FoundBySimulationTests {
    @Test func `a push of the same second as the app's own update is sent again when the phone has ignored it`() throws
    {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let first = try #require(try scene.deliver().first)
        try scene.report(token: "u1") { report in
            report.basedOn = 1
            report.lastTimestamp = first.timestamp
            report.contentState = Sample.state(-2)
        }
        let again = try scene.deliver()
        #expect(again.map(\.plan.kind) == [.update])
        #expect(again.allSatisfy { $0.timestamp > first.timestamp && $0.plan.priority == .low })
    }

    @Test(arguments: [APNSReason.Known.tooManyRequests, .serviceUnavailable])
    func `an end that is repeated in vain is not tried every second`(reason: APNSReason.Known) throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        #expect(try scene.deliver().map(\.plan.kind) == [.end])
        scene.wait(.seconds(16 * 60))
        let flight = try scene.onlyFlight()
        // A fault of the whole flight would count for the lane. A straggler's fault counts for the phone.
        try scene.settle(flight) { _ in .awaited(until: flight.record.leaseUntil) }
        try scene.settle(flight) { _ in .answered(.success(.refusal(reason))) }
        let due = try #require(try scene.card().attempts.dueAt)
        #expect(due >= scene.now + .seconds(25))
    }

    /// A card whose last push has a timestamp eight hours ahead of the clock, and a newer state.
    private static func setBack() throws -> Scene {
        var scene = try Scene.live(Sample.type { $0.coalescingWindow = .zero })
        scene.wait(.seconds(28_800))
        try scene.put("a", 2)
        try scene.deliver()
        scene.now = scene.now - .seconds(28_800)
        try scene.put("a", 3)
        return scene
    }

    @Test func `two states have two timestamps, however far the clock was set back`() throws {
        var scene = try Self.setBack()
        let first = try #require(try scene.deliver().first)
        try scene.put("a", 4)
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        let second = try #require(try scene.deliver().first)
        #expect(second.plan.revision == 4 && second.timestamp > first.timestamp)
    }

    @Test(arguments: [true, false])
    func `nor in the second in which a lost process is succeeded`(_ isReopened: Bool) throws {
        var scene = try Self.setBack()
        let lost = try #require(try scene.onlyFlight().seats.first)
        scene.node += 1
        if isReopened {
            try scene.end()
            try scene.put("a", 4) { $0.reopen = true }
        } else {
            try scene.put("a", 4)
        }
        #expect(try scene.claim().rescued == 1)
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        let second = try #require(try scene.deliver().first)
        #expect(second.plan.revision > lost.plan.revision && second.timestamp > lost.timestamp)
    }

    @Test func `a flight from before the clock was set forward does not free the minute's high push`() throws {
        var scene = try Scene.live()
        // The clock was hours ahead, so no push reaches the card's timestamp any more.
        scene.wait(.seconds(28_800))
        try scene.put("a", 7) { $0.priority = .low }
        #expect(try scene.deliver().count == 1)
        scene.now = scene.now - .seconds(28_600)
        try scene.put("a", 2) { $0.priority = .high }
        let first = try scene.onlyFlight()
        // By the new time, the lane's lease has expired.
        scene.wait(.seconds(2400))
        #expect(try scene.claim().rescued == 1)
        let second = try scene.onlyFlight()
        #expect([first, second].allSatisfy { $0.seats.first?.plan.priority == .high })
        for flight in [second, first] { try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) } }
        scene.wait(.seconds(5))
        try scene.put("a", 3) { $0.priority = .high }
        #expect(try scene.deliver().map(\.plan.priority) == [.low])
    }

    @Test func `what became of a start does not touch the card that the phone has told of`() throws {
        let outcomes: [SettleFlight.Outcome] = [
            .answered(.success(.refusal(.serviceUnavailable))),
            .answered(.failure(PushFailure(.unknownFate, "late"))),
        ]
        for outcome in outcomes {
            var scene = Scene(Sample.type { $0.restart = .onAlert })
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(20))
            let start = try scene.onlyFlight()
            let until = scene.now + .seconds(13)
            try scene.settle(start) { _ in .awaited(until: until) }
            try scene.report(token: "u1")
            scene.wait(.seconds(2))
            try scene.put("a", 2)
            let update = try scene.onlyFlight()
            try scene.settle(update) { _ in .answered(.success(.refusal(.expiredToken))) }
            #expect(try scene.card().goneByTokenAlone != nil)
            try scene.settle(start) { _ in outcome }
            scene.wait(.seconds(60))
            try scene.put("a", 3) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
            #expect(try scene.deliver().isEmpty)
        }
    }

    @Test func `a start token that is named again stays where APNs said it belongs`() throws {
        var scene = Scene()
        try scene.register(environment: nil)
        try scene.put(users: ["ann"])
        scene.wait(.seconds(20))
        let first = try scene.onlyFlight()
        #expect(first.seats.first?.phone.pushToStartToken?.environment == .production)
        try scene.settle(first) { _ in .answered(.success(.refusal(.badDeviceToken))) }
        try scene.registerStart("phone", "p2s")
        scene.wait(.seconds(20))
        let second = try scene.onlyFlight()
        #expect(second.seats.first?.phone.pushToStartToken?.environment == .sandbox)
        try scene.settle(second) { _ in .answered(.success(PushAnswer(status: 200))) }
        #expect(try scene.card().state == .unconfirmed)
    }

    @Test func `a dead token alone starts no card anew, and an inventory without it does`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        let now = scene.now
        try scene.settle(flight) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: now))) }
        #expect(try scene.card().state == .gone)
        scene.wait(ReportInventory.travel)
        #expect(try scene.deliver().isEmpty)
        _ = try scene.inventory(sequence: 1)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `after its eight hours a dead token is enough, and the next card follows without a word of the phone`()
        throws
    {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        scene.wait(.seconds(9 * 3600))
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        let now = scene.now
        try scene.settle(flight) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: now))) }
        #expect(try scene.card().lookAt == scene.now)
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    /// The first settlement was committed, but its sender did not know.
    @Test func `a dead token that is settled twice leaves alone the start that followed`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        scene.wait(.seconds(9 * 3600))
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let update = try scene.onlyFlight()
        let dead = SettleFlight.Outcome.answered(.success(.refusal(.expiredToken, inactiveSince: scene.now)))
        try scene.settle(update) { _ in dead }
        let start = try scene.onlyFlight()
        #expect(start.seats.map(\.plan.kind) == [.start] && start.seats.first?.plan.carriesAlert == true)
        #expect(try #require(start.seats.first).timestamp > #require(update.seats.first).timestamp)
        try scene.settle(start) { _ in .awaited(until: start.record.leaseUntil) }
        try scene.settle(update) { _ in dead }
        #expect(try scene.card().hasOpenStart)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().isEmpty)
    }

    /// Tests the same after the clock was set back so far that both have one timestamp.
    @Test func `a start is left alone by what became of an update of its second`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .always })
        scene.wait(.seconds(17 * 3600))
        try scene.put("a", 2)
        try scene.deliver()
        scene.now = scene.now - .seconds(28_800)
        try scene.put("a", 3)
        let update = try scene.onlyFlight()
        let dead = SettleFlight.Outcome.answered(.success(.refusal(.expiredToken, inactiveSince: scene.now)))
        try scene.settle(update) { _ in dead }
        let start = try scene.onlyFlight()
        #expect(start.seats.map(\.timestamp) == update.seats.map(\.timestamp))
        try scene.settle(update) { _ in dead }
        #expect(try scene.card().state == .starting)
    }

    @Test func `an alert that is owed when the phone contradicts its state follows the repeated state once`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"]) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(20))
        // The start with the alert meets a dead token, and the app starts the card itself.
        let now = scene.now
        #expect(try scene.deliver(.refusal(.expiredToken, inactiveSince: now)).map(\.plan.carriesAlert) == [true])
        try scene.report(token: "u1") { $0.contentState = Sample.state(1) }
        try scene.report(token: "u1") { $0.contentState = Sample.state(9) }
        #expect(try scene.card().revisions.contradictions == 1)
        let sent = try scene.deliver()
        #expect(sent.map(\.plan.carriesAlert) == [false, true])
        #expect(sent.map(\.plan.priority) == [.low, .high])
    }

    @Test func `a late unknown outcome does not hide why a card counts as gone`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        let first = try scene.onlyFlight()
        let until = scene.now + .seconds(13)
        try scene.settle(first) { _ in .awaited(until: until) }
        scene.wait(.seconds(20))
        let second = try scene.onlyFlight()
        let now = scene.now
        try scene.settle(second) { _ in .answered(.success(.refusal(.expiredToken, inactiveSince: now))) }
        try scene.settle(first) { _ in .answered(.failure(PushFailure(.unknownFate, "no answer in time"))) }
        // The phone has the card under another token.
        try scene.report(token: "u2")
        #expect(try scene.card().state == .live)
    }
}
