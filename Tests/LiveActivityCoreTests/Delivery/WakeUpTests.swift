import APNSModel
import LiveActivityCore
import TestSupport
import Testing

/// Tests that a phone that is behind is always found again.
struct WakeUpTests {
    private static let trouble = SettleFlight.Outcome.answered(
        .success(PushAnswer(status: 503, reason: APNSReason("ServiceUnavailable"))))

    @Test func `a start that failed is made again, though the phone was heard of while it was on its way`() throws {
        var scene = Scene()
        try scene.register()
        try scene.put(users: ["ann"])
        #expect(try scene.deliver().isEmpty)
        // At the end of the grace period, only this phone is looked at.
        scene.wait(.seconds(15))
        let flight = try scene.onlyFlight()
        #expect(flight.record.devices == [7])
        try scene.register()
        try scene.settle(flight) { _ in Self.trouble }
        #expect(try scene.card().state == .absent)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `a few phones on a closed route do not hold up the others of their lane`() throws {
        var scene = Scene()
        for index in 1...5 {
            try scene.register(
                "d\(index)", environment: index == 2 ? .sandbox : .production, startToken: nil,
                key: DeviceKey(index * 10))
            try scene.report("d\(index)", local: "c\(index)", token: "t\(index)")
        }
        try scene.put(users: ["ann"]) { $0.devices = .all }
        scene.wait(.seconds(2))
        let until = scene.now + .seconds(60)
        let gate = CircuitGate(
            closed: [
                PushRoute(Sample.bundleID, .sandbox): .init(until: until, trouble: .notConfigured(.sandbox))
            ], probes: [])
        func claim() throws -> [DeviceKey] {
            let reply = try scene.run(
                ClaimWork(now: scene.now, node: 1, apps: [Sample.bundleID: scene.app], gate: gate, seed: 1))
            for flight in reply.flights {
                try scene.settle(flight) { _ in .answered(.success(PushAnswer(status: 200))) }
            }
            return reply.flights.flatMap(\.seats).map(\.phone.device.key)
        }
        #expect(try claim() == [10, 30, 40, 50])
        try scene.put("a", 2)
        scene.wait(.seconds(2))
        #expect(try claim() == [10, 30, 40, 50])
        #expect(try scene.lane().nextAt == until && scene.lane().reason == nil)
        scene.wait(.seconds(60))
        #expect(try scene.deliver().map(\.phone.device.key) == [20])
    }

    @Test func `a phone that appeared while an activity was over has its card when it is opened anew`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"])
        try scene.end()
        try scene.register()
        #expect(try scene.deliver().isEmpty)
        scene.wait(.seconds(100))
        try scene.put("a", 2) { $0.reopen = true }
        #expect(try scene.deliver().map(\.plan.kind) == [.start])
    }

    @Test func `an audience too large for one call is not replaced by one`() throws {
        var scene = Scene()
        try scene.put(users: ["ann"])
        let number = try scene.activity().number
        scene.store.edit { draft in
            var audience = draft.audience(of: number)
            audience.members = SetDesiredState.maximumUsers + 1
            draft.put(audience)
        }
        #expect(throws: Refusal.audienceTooLarge(limit: SetDesiredState.maximumUsers)) {
            try scene.put("a", 2, users: ["bob"])
        }
        #expect(try scene.put("a", 2).changed)
    }

    @Test func `a UUID is one activity in capitals and in small letters, and nothing else is`() throws {
        let small = "0e984725-c51c-4bf4-9960-e1c80e27aba0"
        let mixed = "0E984725-c51c-4bf4-9960-e1c80e27aba0"
        let ids = [small, small.uppercased(), mixed].map(Sample.activityID)
        #expect(Set(ids).count == 1 && ids.allSatisfy { $0 == ids[0] && !($0 < ids[0]) && !(ids[0] < $0) })
        #expect(ids[1].text == small.uppercased() && ids[1].inSmallLetters.text == small)
        #expect(Set(ids[2].spellings) == [small, small.uppercased(), mixed])
        for text in ["order-1", small + "a", String(small.dropLast()), small.replacing("-", with: "_"), "é" + small] {
            let (one, other) = (Sample.activityID(text), Sample.activityID(text.uppercased()))
            #expect(one != other && one.spellings == [text] && (one < other) != (other < one), "\(text)")
        }
        // Ids of people and devices come from other systems, so they are compared letter by letter.
        #expect(Sample.user(small) != Sample.user(small.uppercased()))
        #expect(Sample.device(small) != Sample.device(small.uppercased()))
        // Letter case does not change the id's order among others, so sorted ids can be searched.
        for other in ["0", "0e", "0E984725-C51C-4BF4-9960-E1C80E27ABA1", "A", "z", "order-1"].map(Sample.activityID) {
            #expect((ids[0] < other) == (ids[1] < other) && (other < ids[0]) == (other < ids[1]), "\(other)")
        }
    }

    @Test func `two spellings of one letter are two ids, as the database has it`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == decomposed)
        #expect(Sample.activityID(composed) != Sample.activityID(decomposed))
        #expect(Set([Sample.user(composed), Sample.user(decomposed), Sample.user(composed)]).count == 2)
        var scene = Scene()
        try scene.put(composed)
        #expect(throws: Refusal.unknownActivity(Sample.activityID(decomposed))) { try scene.end(decomposed) }
    }
}
