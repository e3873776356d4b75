import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests of claim, settle and rescue. They play each row of the retry table from the claim to the next push.
struct DeliveryTests {
    private func refused(_ status: Int, _ reason: String, since: UnixTime? = nil) -> SettleFlight.Outcome {
        .answered(.success(PushAnswer(status: status, reason: APNSReason(reason), inactiveSince: since)))
    }

    private static let accepted = SettleFlight.Outcome.answered(.success(PushAnswer(status: 200)))

    /// A crowd of phones with live cards and tokens, all up to date.
    private func crowd(_ count: Int) throws -> Scene {
        var scene = Scene()
        for index in 1...count {
            try scene.register("d\(index)", startToken: nil, key: DeviceKey(index * 10))
            try scene.report("d\(index)", local: "c\(index)", token: "t\(index)")
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(2))
        #expect(try scene.deliver().count == count)
        scene.wait(.seconds(70))
        return scene
    }

    // MARK: - The retry table

    @Test func `200 keeps the revision and the timestamp, and nothing more is due`() throws {
        var (scene, flight) = try Scene.updating()
        #expect(try scene.settle(flight) { _ in Self.accepted }.accepted == 1)
        let card = try scene.card()
        #expect(card.sentRevision == 2 && card.timestamp == flight.seats.first?.timestamp)
        #expect(try scene.lane().nextAt == nil && scene.lane().flight == nil)
    }

    @Test func `410 buries the card, and one older than the token's registration does not`() throws {
        var (scene, flight) = try Scene.updating()
        try scene.settle(flight) { _ in refused(410, "ExpiredToken") }
        #expect(try scene.card().state == .gone)
        #expect(scene.store.rows.updateTokens.values.first?.deadAt == scene.now)
        scene.wait(.seconds(3600))
        #expect(try scene.deliver().isEmpty)

        var (other, second) = try Scene.updating()
        try other.settle(second) { _ in refused(410, "Unregistered", since: Sample.now) }
        #expect(try other.card().state == .live)
        other.wait(.milliseconds(999))
        #expect(try other.deliver().isEmpty)
        other.wait(.milliseconds(1))
        #expect(try other.deliver().count == 1)
    }

    @Test func `410 after an end is the end, and on a replaced token is nothing`() throws {
        var scene = try Scene.live()
        try scene.end()
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in refused(410, "ExpiredToken") }
        #expect(try scene.card().state == .ended)

        var (other, second) = try Scene.updating()
        try other.report(token: "u2")
        try other.settle(second) { _ in refused(410, "ExpiredToken") }
        #expect(try other.card().state == .live)
        other.wait(.seconds(1))
        #expect(try other.deliver().count == 1)
    }

    @Test func `429 waits for this phone, a replaced token's does not`() throws {
        var (scene, flight) = try Scene.updating()
        try scene.settle(flight) { _ in refused(429, "TooManyRequests") }
        #expect(
            try scene.card().columns.tries == 1
                && scene.card().attempts.dueAt == scene.now + .milliseconds(1500))
        scene.wait(.milliseconds(1500))
        let again = try scene.deliver()
        #expect(again.map(\.plan.revision) == [2] && again.map(\.plan.priority) == [.high])

        var (other, second) = try Scene.updating()
        try other.report(token: "u2")
        try other.settle(second) { _ in refused(429, "TooManyRequests") }
        #expect(try other.card().attempts.dueAt == nil)
    }

    typealias LaneRow = (outcome: SettleFlight.Outcome, seconds: Double)
    static let laneFaults: [LaneRow] = [
        (.answered(.success(PushAnswer(status: 503, reason: APNSReason("ServiceUnavailable")))), 1),
        (.answered(.success(PushAnswer(status: 403, reason: APNSReason("InvalidProviderToken")))), 60),
        (.answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyProviderTokenUpdates")))), 1),
        (.answered(.failure(PushFailure(.cannotConnect, "x"))), 1),
        (.answered(.failure(PushFailure(.overloaded, "x"))), 0.25),
        (.answered(.failure(PushFailure(.notConfigured, "x"))), 60),
    ]

    @Test(arguments: laneFaults.indices) func `a lane's fault is written once, and nothing shortens its wait`(
        index: Int
    ) throws {
        let row = Self.laneFaults[index]
        var scene = try crowd(5)
        try scene.put("a", 2)
        let flight = try #require(try scene.claim().flights.first)
        try scene.settle(flight) { _ in row.outcome }
        #expect(scene.store.lastChanges.cards.isEmpty && scene.store.lastChanges.lanes == [LaneKey(1, 0)])
        #expect(try scene.lane().reason != nil)
        scene.wait(.milliseconds(Int64(row.seconds * 1000) - 1))
        try scene.put("a", 3)
        try scene.report("d1", local: "c1", token: "fresh")
        #expect(try scene.deliver().isEmpty)
        scene.wait(.milliseconds(1))
        let sent = try scene.deliver()
        #expect(sent.count == 5 && sent.allSatisfy { $0.plan.revision == 3 })
        #expect(try scene.lane().reason == nil && scene.lane().tries == 0)
    }

    @Test func `more than a fifth of 429 backs off the lane, fewer only their phones`() throws {
        for (count, isLane) in [(3, true), (2, false)] {
            var scene = try crowd(10)
            try scene.put("a", 2)
            let flight = try #require(try scene.claim().flights.first)
            scene.wait(.milliseconds(10))
            try scene.settle(flight) {
                $0.phone.device.key <= 10 * count ? refused(429, "TooManyRequests") : Self.accepted
            }
            #expect(try (scene.lane().reason?.code == .slowDown) == isLane)
            try scene.put("a", 3)
            scene.wait(.milliseconds(995))
            #expect(try scene.deliver().isEmpty == isLane)
            scene.wait(.seconds(2))
            try scene.deliver()
            #expect(scene.store.rows.cards.values.allSatisfy { $0.sentRevision == 3 })
        }
    }

    @Test func `a lost answer spends timestamp and alert, and the state goes again`() throws {
        for (wish, isRepeated) in [(AlertRecord.OnUnknown.drop, false), (.repeat, true)] {
            var (scene, flight) = try Scene.updating { body in
                body.alert = SetDesiredState.AlertWish(Sample.alert)
                body.alert?.onUnknown = wish
            }
            let first = try #require(flight.seats.first)
            try scene.settle(flight) { _ in .answered(.failure(PushFailure(.unknownFate, "cut"))) }
            scene.wait(.milliseconds(1250))
            let again = try scene.deliver()
            #expect(again.count == 1 && again.first?.plan.carriesAlert == isRepeated)
            #expect(again.allSatisfy { $0.timestamp > first.timestamp })
        }
    }

    @Test func `what is our own fault is parked until the next revision`() throws {
        for outcome in [refused(400, "BadTopic"), .notBuilt(.missingAlertTitle)] {
            var (scene, flight) = try Scene.updating()
            try scene.settle(flight) { _ in outcome }
            scene.wait(.seconds(9000))
            #expect(try scene.deliver().isEmpty)
            #expect(try [.parked, .payloadRefused].contains(scene.decision().reason.code))
            try scene.put("a", 3)
            #expect(try scene.deliver().count == 1)
        }
    }

    @Test func `a refused start may go again, a lost one may not`() throws {
        for (outcome, starts) in [
            (refused(503, "ServiceUnavailable"), true), (refused(429, "TooManyRequests"), true),
            (.answered(.failure(PushFailure(.unknownFate, "cut"))), false), (Self.accepted, false),
        ] {
            var scene = Scene()
            try scene.register()
            try scene.put(users: ["ann"])
            scene.wait(.seconds(100))
            let flight = try scene.onlyFlight()
            #expect(try scene.card().state == .starting)
            try scene.settle(flight) { _ in outcome }
            #expect(try scene.card().state == (starts ? .absent : .unconfirmed))
            scene.wait(.seconds(3000))
            #expect(try scene.deliver().isEmpty != starts)
        }
    }

    @Test func `a refused restart leaves the dismissal standing`() throws {
        var scene = try Scene.live(Sample.type { $0.restart = .onAlert })
        try scene.report("phone", .dismissed)
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        try scene.settle(flight) { _ in refused(429, "TooManyRequests") }
        #expect(try scene.card().state == .dismissed && scene.deliver().isEmpty)
        scene.wait(.seconds(700))
        try scene.put("a", 3)
        #expect(try scene.deliver().isEmpty)
    }

    // MARK: - Awaited, fences, rescue

    @Test func `an awaited push is tried by nobody else, and its late answer counts`() throws {
        var (scene, flight) = try Scene.updating()
        let until = scene.now + .seconds(10)
        try scene.settle(flight) { _ in .awaited(until: until) }
        scene.wait(.seconds(9))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.settle(flight) { _ in Self.accepted }.accepted == 1)
        #expect(try scene.card().sentRevision == 2 && scene.card().attempts.dueAt == nil)
        scene.wait(.seconds(2))
        #expect(try scene.deliver().isEmpty)

        var (other, second) = try Scene.updating()
        let end = other.now + .seconds(10)
        try other.settle(second) { _ in .awaited(until: end) }
        other.wait(.seconds(10))
        #expect(try other.deliver().count == 1)
    }

    @Test func `an outcome that a newer push overtook changes nothing`() throws {
        var (scene, flight) = try Scene.updating()
        scene.wait(.seconds(15))
        try scene.deliver()
        let card = try scene.card()
        let lane = try scene.lane()
        #expect(try scene.settle(flight) { _ in refused(429, "TooManyRequests") }.overtaken == 1)
        #expect(try scene.card() == card && scene.lane() == lane)
    }

    @Test func `what a lost process had claimed may have arrived`() throws {
        var (scene, flight) = try Scene.updating { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        let seat = try #require(flight.seats.first)
        #expect(try scene.claim().rescued == 0)
        scene.wait(.seconds(15))
        #expect(try scene.claim().rescued == 1)
        let card = try scene.card()
        #expect(card.timestamp == seat.timestamp && card.alerts.given == 2 && card.state == .live)
        #expect(scene.store.history.last?.entries.map(\.kind) == [.rescued])
        let again = try scene.deliver()
        #expect(again.count == 1 && again.first?.plan.carriesAlert == false)
        #expect(try scene.lane().fence == flight.fence + 2)
    }

    /// In the lap that follows, each page holds one phone.
    @Test func `a rescued phone that waits is looked at then, though the clock was set back and others wait longer`()
        throws
    {
        var scene = Scene()
        try scene.register()
        try scene.register("second", startToken: "p2s-2", key: 9)
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(20))
        #expect(try scene.deliver().map(\.plan.kind) == [.start, .start])
        try scene.report(token: "u1")
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        try scene.settle(try scene.onlyFlight()) { _ in refused(429, "TooManyRequests") }
        let due = try #require(try scene.card().lookAt)
        scene.now = due
        _ = try scene.onlyFlight()
        scene.wait(.seconds(-300))
        scene.node = 2
        scene.limits.phones = 2
        #expect(try scene.deliver().isEmpty)
        #expect(scene.store.rows.laneFaults.isEmpty)
        scene.now = due
        #expect(try scene.deliver().map(\.plan.kind) == [.update])
    }

    @Test func `a rescued phone ahead of the clock does not get a timestamp twice`() throws {
        var scene = try Scene.live()
        let ahead = scene.now.seconds + 100
        try scene.report { $0.lastTimestamp = ahead }
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(2))
        let flight = try scene.onlyFlight()
        #expect(flight.seats.first?.timestamp == ahead + 1)
        scene.wait(.seconds(15))
        let again = try scene.deliver()
        #expect(again.first?.timestamp == ahead + 2 && again.first?.plan.carriesAlert == false)
    }

    @Test func `a card dismissed between claim and rescue does not come back for an alert that it may have had`() throws
    {
        var scene = try Scene.live(Sample.type { $0.restart = .onAlert })
        try scene.put("a", 2) { $0.alert = SetDesiredState.AlertWish(Sample.alert) }
        scene.wait(.seconds(2))
        _ = try scene.onlyFlight()
        try scene.report("phone", .dismissed)
        scene.wait(.seconds(15))
        #expect(try scene.deliver().isEmpty && scene.card().alerts.given == 2)
    }

    @Test func `a rescued start is unconfirmed, until its refusal comes after all`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        scene.wait(.seconds(100))
        let flight = try scene.onlyFlight()
        scene.wait(.seconds(15))
        #expect(try scene.deliver().isEmpty)
        #expect(try scene.card().state == .unconfirmed)
        try scene.settle(flight) { _ in refused(429, "TooManyRequests") }
        #expect(try scene.card().state == .absent)
        scene.wait(.milliseconds(1500))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `the end is repeated after 15 minutes and 2 hours, and with another last state at once`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(60))
        try scene.end()
        #expect(try scene.deliver().map(\.plan.priority) == [.high])
        scene.wait(.seconds(15 * 60 - 1))
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(1))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.endRepeated])
        scene.wait(.seconds(60))
        try scene.end("a", Sample.state(7))
        #expect(try scene.deliver().map(\.plan.reason.code) == [.activityEnded])
        for wait in [15 * 60, 2 * 3600] {
            scene.wait(.seconds(wait))
            #expect(try scene.deliver().map(\.plan.reason.code) == [.endRepeated])
        }
        scene.wait(.seconds(86_400))
        #expect(try scene.deliver().isEmpty && scene.decision().reason.code == .endSent)
    }

    // MARK: - Lanes

    @Test func `a lane goes on page by page at once, and no flight reaches over its end`() throws {
        var scene = try crowd(20)
        scene.limits.pushes = 6
        scene.limits.phones = 14
        var seen: [DeviceKey] = []
        for revision in 2...3 {
            try scene.put("a", revision)
            seen = []
            // The next revision's claim can cut off a page. Here all pages are claimed at one instant.
            while let flight = try scene.claim().flights.first {
                let keys = flight.seats.map(\.phone.device.key)
                #expect(keys == keys.sorted() && keys.count <= 6)
                seen += keys
                try scene.settle(flight) { _ in Self.accepted }
            }
            #expect(seen.count == 20 && Set(seen).count == 20)
            scene.wait(.seconds(2))
        }
    }

    @Test func `no phone starves under steady change`() throws {
        var scene = try crowd(20)
        scene.limits.pushes = 3
        var times: [DeviceKey: Int] = [:]
        for revision in 2...22 {
            try scene.put("a", revision)
            scene.wait(.seconds(1))
            let flight = try #require(try scene.claim().flights.first)
            for seat in flight.seats { times[seat.phone.device.key, default: 0] += 1 }
            try scene.settle(flight) { _ in Self.accepted }
        }
        // 21 flights of 3 to 20 phones around 20 phones serve each at least twice.
        #expect(times.count == 20 && times.values.allSatisfy { $0 >= 2 })
    }

    @Test func `changes in quick succession are one push with the newest state`() throws {
        var scene = try Scene.live()
        scene.wait(.seconds(10))
        try scene.put("a", 2)
        #expect(try scene.deliver().map(\.plan.revision) == [2])
        for step in 3...9 {
            scene.wait(.milliseconds(100))
            try scene.put("a", step)
            #expect(try scene.deliver().isEmpty)
        }
        scene.wait(.milliseconds(300))
        #expect(try scene.deliver().map(\.plan.revision) == [9])
    }

    @Test func `timestamps grow strictly and stay within seven hours of the clock`() throws {
        #expect(Flight.timestamp(after: 5, now: UnixTime(seconds: 10)) == 10)
        #expect(Flight.timestamp(after: 10, now: UnixTime(milliseconds: 10_999)) == 11)
        #expect(Flight.timestamp(after: 3700, now: UnixTime(seconds: 10)) == 3701)
        #expect(Flight.timestamp(after: 25_300, now: UnixTime(seconds: 10)) == 25_210)
        var dice = SeededDice(seed: 1)
        let record = FlightRecord(
            node: 1, claimedAt: Sample.now, leaseUntil: Sample.now, fromDevice: 0, toDevice: 1, revision: 1,
            timestamp: 1,
            seed: 99)
        let ids = Set((0..<1000).map { _ in record.pushID(of: DeviceKey(dice.next() >> 1)) })
        #expect(ids.count == 1000 && record.pushID(of: 5) == record.pushID(of: 5))
    }
}
