import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

/// Tests that quick changes become one push to each phone, whatever the phone reports meanwhile.
struct CoalescingTests {
    @Test func `a phone that is heard of inside the window is sent the newer state when the window is over`() throws {
        var scene = try Scene.live()
        try scene.put("a", 2)
        let flight = try scene.onlyFlight()
        let opened = scene.now
        scene.wait(.milliseconds(20))
        try scene.settle(flight) { _ in Self.accepted }
        for step in 3...6 {
            scene.wait(.milliseconds(60))
            try scene.put("a", step)
            // The app is in the foreground, and reports each state as soon as it has it.
            try scene.report { $0.contentState = Sample.state(2) }
            #expect(try scene.claim().flights.isEmpty)
            #expect(try scene.lane().nextAt == opened + .seconds(1))
        }
        scene.now = opened + .seconds(1)
        #expect(try scene.onlyFlight().seats.map(\.plan.revision) == [6])
    }

    @Test
    func `a phone that asks by itself inside the window waits with the newer state, and not with an alert or end`()
        throws
    {
        // One of two phones was sent the third state. The other waits for the retry of the second.
        func scene() throws -> (Scene, opened: UnixTime) {
            var scene = Scene()
            for (index, name) in ["d1", "d2"].enumerated() {
                try scene.register(name, startToken: nil, key: DeviceKey(index + 1))
                try scene.report(name, local: name, token: name)
            }
            try scene.put(users: ["ann"]) { $0.devices = .all }
            scene.wait(.seconds(2))
            try scene.deliver()
            scene.wait(.seconds(2))
            try scene.put("a", 2)
            let flight = try #require(try scene.claim().flights.first)
            scene.wait(.milliseconds(200))
            try scene.settle(flight, dice: 0.5) { seat in
                seat.phone.device.key == 1
                    ? Self.accepted
                    : .answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyRequests"))))
            }
            let due = try #require(try scene.card("d2").attempts.dueAt)
            scene.now = due - .milliseconds(100)
            try scene.put("a", 3)
            #expect(try scene.deliver().map(\.phone.device.key) == [1])
            return (scene, scene.now)
        }
        var (quiet, opened) = try scene()
        try quiet.put("a", 4)
        quiet.wait(.milliseconds(200))
        #expect(try quiet.claim().flights.isEmpty)
        quiet.now = opened + .seconds(1)
        #expect(try quiet.deliver().map(\.plan.revision) == [4, 4])

        var (same, _) = try scene()
        same.wait(.milliseconds(200))
        #expect(try same.onlyFlight().seats.map(\.plan.revision) == [3])

        var (alerting, _) = try scene()
        try alerting.put("a", 4) { $0.alert = .init(Sample.alert) }
        alerting.wait(.milliseconds(200))
        #expect(try alerting.onlyFlight().seats.map(\.plan.carriesAlert) == [true])

        var (ending, _) = try scene()
        try ending.end()
        ending.wait(.milliseconds(200))
        #expect(try ending.onlyFlight().seats.map(\.plan.kind) == [.end])
    }

    @Test func `a push to one phone alone opens a window for that phone, and for no alert or end of it`() throws {
        func scene() throws -> (Scene, opened: UnixTime) {
            var scene = try Scene.live()
            try scene.report(token: "u2")
            let flight = try scene.onlyFlight()
            #expect(flight.record.devices == [7])
            let opened = scene.now
            scene.wait(.milliseconds(20))
            try scene.settle(flight) { _ in Self.accepted }
            scene.wait(.milliseconds(20))
            return (scene, opened)
        }
        var (quiet, opened) = try scene()
        for step in 2...4 {
            try quiet.put("a", step)
            #expect(try quiet.claim().flights.isEmpty)
        }
        quiet.now = opened + .seconds(1)
        #expect(try quiet.onlyFlight().seats.map(\.plan.revision) == [4])

        var (alerting, _) = try scene()
        try alerting.put("a", 2) { $0.alert = .init(Sample.alert) }
        #expect(try alerting.onlyFlight().seats.map(\.plan.carriesAlert) == [true])

        var (ending, _) = try scene()
        try ending.end()
        #expect(try ending.onlyFlight().seats.map(\.plan.kind) == [.end])
    }

    // MARK: - Any order of events

    private static let accepted = SettleFlight.Outcome.answered(.success(PushAnswer(status: 200)))
    private static let cases = 1500

    @Test(arguments: UInt64(1)...4)
    func `Whatever changes and is answered when, no phone gets two states in one window, and the last one always`(
        seed: UInt64
    ) async throws {
        var dice = SeededDice(seed: seed)
        let lives = try (1...3).map(Life.init)
        for number in 0..<Self.cases / 4 {
            await Task.yield()
            var life = dice.pick(lives)
            life.label = "seed \(seed), case \(number)"
            try life.run(&dice)
        }
    }

    /// An activity with a few phones, each of which holds what APNs took for it.
    private struct Life {
        struct Push {
            var at: UnixTime
            var revision: Revision
            var token: Int64
        }

        static let window = Duration.seconds(1)
        static let slowest = 3000

        var label = ""
        private var scene = Scene()
        private let names: [String]
        private var open: [(flight: Flight, until: UnixTime)] = []
        private var held: [DeviceKey: Int] = [:]
        private var taken: [DeviceKey: [Push]] = [:]
        private var steps: [Revision: Int] = [:]
        private var tokens = 0
        private var refusals = 0

        init(phones: Int) throws {
            names = (1...phones).map { "d\($0)" }
            for (index, name) in names.enumerated() {
                try scene.register(name, startToken: nil, key: DeviceKey(index + 1))
                try scene.report(name, local: name, token: name)
            }
            try scene.put("a", 1, users: ["ann"]) { $0.devices = .all }
            steps[1] = 1
            var dice = SeededDice(seed: 1)
            try pass(.seconds(5), refusing: 0, &dice)
        }

        mutating func run(_ dice: inout SeededDice) throws {
            taken = [:]
            refusals = 0
            let refusing = dice.pick([0, 0, 20])
            var lastSet = scene.now
            for step in 0..<(2 + dice.roll(12)) {
                switch dice.roll(10) {
                case 0..<6:
                    let revision = try scene.put("a", 10 + step).revision
                    steps[revision] = 10 + step
                    lastSet = scene.now
                case 6: try report(dice.pick(names), newToken: true)
                default: try report(dice.pick(names), newToken: false)
                }
                try pass(.milliseconds(dice.pick([0, 1, 30, 60, 300, 999, 1000, 2500])), refusing: refusing, &dice)
            }
            let end = scene.now
            try pass(.seconds(refusals == 0 ? 1 : 400) + .milliseconds(2 * Self.slowest), refusing: 0, &dice)
            try check(lastSet: lastSet, end)
        }

        /// Claims whatever becomes due in this time, and settles each flight after a while.
        private mutating func pass(_ duration: Duration, refusing: Int, _ dice: inout SeededDice) throws {
            let end = scene.now + duration
            for _ in 0..<1000 {
                let next = ([scene.store.nextWakeAt].compactMap(\.self) + open.map(\.until)).min()
                guard let next, next <= end else { break }
                scene.now = max(scene.now, next)
                if let index = open.firstIndex(where: { $0.until <= scene.now }) {
                    try settle(open.remove(at: index).flight, refusing: refusing, &dice)
                }
                for flight in try scene.claim().flights {
                    let wait = dice.pick([0, 20, 60, 200, 1100, Self.slowest])
                    open.append((flight, scene.now + .milliseconds(wait)))
                }
            }
            scene.now = max(scene.now, end)
        }

        private mutating func settle(_ flight: Flight, refusing: Int, _ dice: inout SeededDice) throws {
            var refused: Set<DeviceKey> = []
            for seat in flight.seats {
                let device = seat.phone.device.key
                if dice.chance(refusing) {
                    refused.insert(device)
                    refusals += 1
                } else {
                    taken[device, default: []].append(
                        Push(
                            at: flight.record.claimedAt, revision: seat.plan.revision,
                            token: seat.phone.card.tokenGeneration))
                    held[device] = steps[seat.plan.revision]
                }
            }
            try scene.settle(flight, dice: dice.fraction()) { seat in
                refused.contains(seat.phone.device.key)
                    ? .answered(.success(PushAnswer(status: 429, reason: APNSReason("TooManyRequests")))) : accepted
            }
        }

        private mutating func report(_ name: String, newToken: Bool) throws {
            tokens += newToken ? 1 : 0
            let key = DeviceKey((names.firstIndex(of: name) ?? 0) + 1)
            try scene.report(name, local: name, token: newToken ? "\(name)-\(tokens)" : nil) { report in
                report.contentState = held[key].map { Sample.state($0) }
            }
        }

        private func check(lastSet: UnixTime, _ end: UnixTime) throws {
            let revision = try scene.activity().revision
            for name in names {
                #expect(try scene.card(name).heldRevision == revision, "\(label)")
            }
            for pushes in taken.values {
                for (index, push) in pushes.enumerated() {
                    // A new token is sent the state at once, because a push to the token before it may be lost.
                    let others = pushes[..<index].filter { $0.revision != push.revision && $0.token == push.token }
                    #expect(others.allSatisfy { $0.at + Self.window <= push.at }, "\(label): \(pushes)")
                }
                let first = pushes.first { $0.revision == revision }
                let latest = lastSet + Self.window + .milliseconds(2 * Self.slowest)
                #expect(refusals > 0 || first.map { $0.at <= max(latest, end) } ?? true, "\(label): \(pushes)")
            }
        }
    }
}
