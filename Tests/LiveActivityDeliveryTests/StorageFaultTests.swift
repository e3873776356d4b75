import APNSModel
import JSONText
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

/// The real dispatcher over a store that fails and crashes, and an APNs that loses pushes and answers.
@Suite(.timeLimit(.minutes(10)))
struct StorageFaultTests {
    @Test(arguments: UInt64(1)...60)
    func `the newest state arrives, no card starts twice, and nothing is left in flight`(seed: UInt64) async throws {
        let trial = Trial(seed: seed)
        try await trial.play()
        #expect(trial.faults == [], "seed \(seed)")
        #expect(trial.store.counts.faulted > 5, "seed \(seed)")
    }
}

/// One activity, some phones, and every fault.
private final class Trial: Sendable {
    private struct Phone {
        /// Number of starts that APNs accepted.
        var starts = 0
        var timestamp: Int64 = 0
        var step = 0
        var isReported = false
    }

    private struct World {
        var dice: SeededDice
        var phones: [Phone]
        var isCalm = false
        var faults: [String] = []
    }

    let store: ReferenceStore
    private let clock = SteppedClock()
    private let world: Mutex<World>
    private let app = Sample.app()
    private let count: Int
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        var dice = SeededDice(seed: seed)
        count = 2 + dice.roll(4)
        store = ReferenceStore(seed: dice.next())
        world = Mutex(World(dice: dice, phones: Array(repeating: Phone(), count: count)))
    }

    /// Violations of the rules.
    var faults: [String] { world.withLock(\.faults) }

    private func roll(_ sides: Int) -> Int { world.withLock { $0.dice.roll(sides) } }

    // MARK: - APNs and the phones

    private static func startToken(_ phone: Int) -> PushToken<PushToStartTokenKind> { Sample.token("start-\(phone)") }
    private static func updateToken(_ phone: Int) -> PushToken<UpdateTokenKind> { Sample.token("update-\(phone)") }

    private func sender() -> ScriptedSender {
        let time = clock.timeSource
        return ScriptedSender { [self] push, _ in
            guard time.monotonic() < push.sendBefore else { return .fail(.notSentInTime) }
            return world.withLock { world in
                let roll = world.isCalm ? 99 : world.dice.roll(100)
                switch roll {
                case 0..<10: return .answer(PushAnswer(status: 429, reason: .known(.tooManyRequests)))
                case 10..<15: return .answer(PushAnswer(status: 503, reason: .known(.serviceUnavailable)))
                case 15..<20: return .fail(.cannotConnect)
                case 20..<28:
                    if world.dice.chance(50) { take(push, &world) }
                    return .fail(.unknownFate)
                case 28..<36:
                    if world.dice.chance(50) { take(push, &world) }
                    return .hold
                default:
                    take(push, &world)
                    return .answer(PushAnswer(status: 200))
                }
            }
        }
    }

    private func take(_ push: Push, _ world: inout World) {
        let (hex, payload) = (push.request.destination.hex, try? JSONValue(parsing: push.request.payload))
        let step = payload?["/aps/content-state/step"]?.int ?? 0
        let timestamp = Int64(payload?["/aps/timestamp"]?.int ?? 0)
        for phone in 0..<count {
            if hex == Self.startToken(phone).hex {
                world.phones[phone].starts += 1
                if world.phones[phone].starts > 1 { world.faults.append("a second start on phone \(phone)") }
            } else if hex != Self.updateToken(phone).hex {
                continue
            }
            guard timestamp > world.phones[phone].timestamp else { continue }
            world.phones[phone].timestamp = timestamp
            world.phones[phone].step = step
        }
    }

    // MARK: - Callers

    /// Commits as a caller does: repeats the command until the store confirms it.
    private func commit<C: Command>(_ command: C) async throws {
        for _ in 0..<100 {
            if let result = try? await store.commit(command) {
                _ = try result.get()
                return
            }
        }
        world.withLock { $0.faults.append("a caller never got through") }
    }

    private func put(_ step: Int) async throws {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = [Sample.user("ann")]
        body.devices = .all
        try await commit(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID("a"), type: Sample.type(), body: body, now: clock.wall))
    }

    private func register(_ phone: Int) async throws {
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.osVersion = OSVersion(18, 0)
        let id = Sample.device("phone-\(phone)")
        try await commit(
            RegisterDevice(app: app, id: id, body: body, now: clock.wall, freshKey: DeviceKey(phone + 1)))
        try await commit(
            RegisterPushToStartToken(app: app, id: id, type: "order", token: Self.startToken(phone), now: clock.wall))
    }

    /// Reports the started cards with their tokens, as the app does when it learns of them.
    private func reportCards() async throws {
        let started = world.withLock { world in
            world.phones.indices.filter { world.phones[$0].starts > 0 && !world.phones[$0].isReported }
        }
        for phone in started {
            var report = CardReport(localID: Sample.local("card-\(phone)"), type: Sample.type(), state: .active)
            report.activity = Sample.activityID("a")
            report.token = Self.updateToken(phone)
            try await commit(
                ReportCard(app: app, device: Sample.device("phone-\(phone)"), report: report, now: clock.wall))
            world.withLock { $0.phones[phone].isReported = true }
        }
    }

    // MARK: - A trial

    func play() async throws {
        for phone in 0..<count { try await register(phone) }
        store.set(ReferenceStore.Faults(fails: 10, crashes: 8, isUnknown: 8))
        let sender = sender()
        // The first process is killed in the middle of its work.
        try await perform(sender, node: 1) {
            for step in 1...12 { try await act(step, sender) }
        }
        try await perform(sender, node: 2) {
            for step in 13...20 { try await act(step, sender) }
            store.set(ReferenceStore.Faults())
            world.withLock { $0.isCalm = true }
            for _ in 0..<2000 {
                try await reportCards()
                await rest(sender)
                if isDone(20) { break }
                let wait = clock.nextWake.map { $0 - clock.now.offset } ?? .seconds(1)
                clock.advance(by: min(max(wait, .milliseconds(1)), .seconds(60)))
            }
        }
        check(20)
    }

    private func act(_ step: Int, _ sender: ScriptedSender) async throws {
        try await put(step)
        for _ in 0..<1 + roll(4) {
            await rest(sender)
            if roll(2) == 0 { try await reportCards() }
            clock.advance(by: .milliseconds([10, 300, 1000, 2000, 9000, 16_000][roll(6)]))
        }
    }

    /// Waits until nothing happens by itself any more.
    private func rest(_ sender: ScriptedSender) async {
        var (quiet, last) = (0, (-1, -1))
        while quiet < 60, !Task.isCancelled {
            await Task.yield()
            let now = (store.counts.commits, sender.pushes.count)
            quiet = now == last ? quiet + 1 : 0
            last = now
        }
    }

    private func perform(
        _ sender: ScriptedSender, node: Int64, _ body: () async throws -> Void
    ) async throws {
        let dice = Mutex(SeededDice(seed: seed &+ UInt64(node)))
        let quiet = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        let dispatcher = Dispatcher(
            store: store, sender: sender, apps: [app], time: clock.timeSource, clock: clock, node: node,
            dice: { dice.withLock { $0.next() } }, logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await dispatcher.run() }
            try await body()
            group.cancelAll()
            while await group.nextResult() != nil {}
        }
    }

    // MARK: - Checks

    private func isDone(_ newest: Int) -> Bool {
        let rows = store.rows
        guard !rows.lanes.values.joined().contains(where: { $0.flight != nil }) else { return false }
        return world.withLock { world in
            world.phones.indices.allSatisfy { index in
                let phone = world.phones[index]
                let state = rows.cards[.init(1, DeviceKey(index + 1))]?.state
                return phone.starts > 0 ? phone.step == newest && state == .live : state == .unconfirmed
            }
        }
    }

    private func check(_ newest: Int) {
        let rows = store.rows
        let phones = world.withLock(\.phones)
        var faults = rows.laneFaults
        if rows.lanes.values.joined().contains(where: { $0.flight != nil }) { faults.append("a flight stays open") }
        for (index, phone) in phones.enumerated() {
            let card = rows.cards[.init(1, DeviceKey(index + 1))]
            // A start with an unknown fate forbids another one for hours.
            if phone.starts == 0, card?.state != .unconfirmed {
                faults.append("phone \(index) was not started: \(card.map { "\($0)" } ?? "no card")")
            }
            if phone.starts > 0, phone.step != newest {
                faults.append("phone \(index) shows \(phone.step): \(card.map { "\($0)" } ?? "no card")")
            }
        }
        world.withLock { $0.faults += faults }
    }
}
