import APNSModel
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import ServiceLifecycle
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

@testable import LiveActivityServer

/// A burst of starts during which APNs accepts pushes and answers none. Users of other servers met this fault as
/// updates half an hour late, while the API answered at once and nothing reported it.
///
/// `islet bench alarm` plays the same with 30,000 starts on 12,000 phones and a simulator.
@Suite(.timeLimit(.minutes(10)))
struct LateAlertTests {
    private static let phones = 120
    private static let startsPerSecond = 5
    /// Seconds until APNs stops answering.
    private static let well = 30

    @Test func `an APNs that answers nothing has the alert fire within a minute of the first late state`() async throws
    {
        try await withRush { rush in
            for _ in 0..<Self.well { try await rush.second(starts: Self.startsPerSecond) }
            // The pushes claimed last may be about to leave.
            while rush.apns.accepted < Self.well * Self.startsPerSecond, !Task.isCancelled { await Task.yield() }
            #expect(rush.apns.accepted == Self.well * Self.startsPerSecond && rush.firing.isEmpty)
            rush.apns.set(isSilent: true)
            var seconds = 0
            while !rush.firing.contains("IsletLate"), seconds < 100 {
                try await rush.second(starts: Self.startsPerSecond)
                seconds += 1
            }
            // The first state after the failure counts as late when it is ten seconds old.
            #expect(seconds > 10 && seconds - Int(AlertRule.lateAfter) <= 60, "after \(seconds) s")
            // Nothing leaves meanwhile, which has an alert of its own.
            while !rush.firing.contains("IsletRouteDown"), seconds < 100 {
                try await rush.second(starts: Self.startsPerSecond)
                seconds += 1
            }
            #expect(rush.firing.isSuperset(of: ["IsletLate", "IsletRouteDown"]), "\(rush.firing)")

            rush.apns.set(isSilent: false)
            for _ in 0..<400 where !rush.firing.isEmpty { try await rush.second(starts: 0) }
            #expect(rush.firing.isEmpty, "\(rush.firing)")
        }
    }

    @Test func `starts that wait for the end of quiet hours are not late`() async throws {
        try await withRush(quietUntilHour: 15) { rush in
            // It is 14:37 on the phones' clock, and quiet hours last until 15:00.
            for _ in 0..<10 { try await rush.second(starts: Self.startsPerSecond) }
            #expect(rush.apns.accepted == 0)
            try await rush.skip(.seconds(1320))
            for _ in 0..<100 { try await rush.second(starts: 0) }
            #expect(rush.apns.accepted == 10 * Self.startsPerSecond && rush.firing.isEmpty, "\(rush.firing)")
        }
    }

    private func withRush(quietUntilHour: Int? = nil, _ body: (Rush) async throws -> Void) async throws {
        try await withDatabasePath { path in
            let store = try SQLStore(path: path)
            defer { store.close() }
            let rush = try await Rush(store, phones: Self.phones, quietUntilHour: quietUntilHour)
            let services = ServiceGroup(
                services: [rush.dispatcher], logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await services.run() }
                try await body(rush)
                rush.apns.set(isSilent: false)
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
    }
}

/// A dispatcher and a server's alerts over one database, with time in steps of a second.
private final class Rush: Sendable {
    let apns: SilentAPNs
    let dispatcher: Dispatcher
    private let store: NudgedStore
    private let clock: SteppedClock
    private let server: LiveActivityServer
    private let app: AppSettings
    private let phones: Int
    private let count = Mutex((starts: 0, seconds: 0))

    init(_ database: SQLStore, phones: Int, quietUntilHour: Int?) async throws {
        let store = NudgedStore(database)
        let (clock, registry) = (SteppedClock(), MetricsRegistry())
        let apns = SilentAPNs(clock)
        let type = Sample.type(activityIDAttribute: "/id") { policy in
            policy.startGrace = .zero
            policy.quietHours = quietUntilHour.map { hour in
                QuietHours(
                    from: TimeOfDay(minute: 14 * 60), to: TimeOfDay(minute: hour * 60), zones: ZoneDirectory())
            }
        }
        let app = Sample.app(type)
        let logger = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
        let dice = Mutex(SeededDice(seed: 3))
        let dispatcher = Dispatcher(
            store: store, sender: apns, apps: [app], time: clock.timeSource, clock: clock, node: 1,
            dice: { dice.withLock { $0.next() } }, metrics: DeliveryMetrics(factory: registry), logger: logger)
        var configuration = LiveActivityServer.Configuration(apps: [app])
        configuration.metrics = MetricsSources(registry: registry, version: "1", startedAt: clock.wall)
        configuration.delivery = DeliverySources(routes: { dispatcher.troubledRoutes })
        server = LiveActivityServer(
            configuration: configuration, store: database, time: clock.timeSource, dice: { 1 }, logger: logger)
        self.store = store
        self.clock = clock
        self.apns = apns
        self.phones = phones
        self.app = app
        self.dispatcher = dispatcher
        for phone in 1...phones { try await register(phone) }
        // An app that was in touch a moment ago may start the card without the server.
        clock.advance(by: .seconds(300))
    }

    private func register(_ phone: Int) async throws {
        var body = RegisterDevice.Body(user: Sample.user("user-\(phone)"))
        body.osVersion = OSVersion(18, 0)
        body.environment = .production
        body.timeZone = "UTC"
        let id = Sample.device("phone-\(phone)")
        _ = try await store.commit(
            RegisterDevice(app: app, id: id, body: body, now: clock.wall, freshKey: DeviceKey(phone))
        ).get()
        _ = try await store.commit(
            RegisterPushToStartToken(
                app: app, id: id, type: "order", token: Sample.token("start-\(phone)"), now: clock.wall)
        ).get()
    }

    /// The names of the firing alerts.
    var firing: Set<String> {
        Set(server.alertWatch.services.alerts.book.firing(in: AlertRule.all).map(\.rule))
    }

    /// Sets this many activities, each for another phone, lets the dispatcher do the due work, and advances by a
    /// second.
    func second(starts: Int) async throws {
        for _ in 0..<starts {
            let number = count.withLock { count in
                count.starts += 1
                return count.starts
            }
            var body = SetDesiredState.Body(state: Sample.state(number))
            body.users = [Sample.user("user-\(number % phones + 1)")]
            _ = try await store.commit(
                SetDesiredState(
                    app: app.bundleID, id: Sample.activityID("order-\(number)"),
                    type: Sample.type(activityIDAttribute: "/id"), body: body, now: clock.wall)
            ).get()
        }
        try await skip(.seconds(1))
        let seconds = count.withLock { count in
            count.seconds += 1
            return count.seconds
        }
        if seconds.isMultiple(of: Int(AlertRule.interval.components.seconds)) { await server.alertWatch.step() }
    }

    /// Advances the clock once nothing is due.
    func skip(_ duration: Duration) async throws {
        func isIdle() async throws -> Bool {
            try await store.nextWakeAt().map { $0 > clock.wall } ?? true
        }
        func settle() async throws {
            repeat {
                // The dispatcher would sleep through an advance that happens while it is about to wait.
                store.nudge()
                await Task.yield()
            } while try await !isIdle() && !Task.isCancelled
        }
        try await settle()
        clock.advance(by: duration)
        apns.expire()
        try await settle()
    }
}

/// A store whose dispatcher looks for work whenever the test requests it.
private final class NudgedStore: WorkStore {
    let wakeUps: AsyncStream<UnixTime>
    private let inner: SQLStore
    private let wake: AsyncStream<UnixTime>.Continuation

    init(_ inner: SQLStore) {
        self.inner = inner
        (wakeUps, wake) = AsyncStream.wakeUps()
    }

    func nudge() { wake.announce(.distantPast) }
    func nextWork() async throws(StorageError) -> NextWork { try await inner.nextWork() }
    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
        try await inner.commit(command)
    }
}

/// An APNs that answers at once, or accepts pushes and answers none. An unanswered push times out.
private final class SilentAPNs: PushSender {
    private typealias Answer = @Sendable (Result<PushAnswer, PushFailure>) -> Void

    private struct State {
        var isSilent = false
        var accepted = 0
        var waiting: [(until: MonotonicTime, answer: Answer)] = []
    }

    private let clock: SteppedClock
    private let state = Mutex(State())

    init(_ clock: SteppedClock) {
        self.clock = clock
    }

    var accepted: Int { state.withLock(\.accepted) }
    func set(isSilent: Bool) { state.withLock { $0.isSilent = isSilent } }

    func submit(_ pushes: [Push], completion: @escaping @Sendable (Int, Result<PushAnswer, PushFailure>) -> Void) {
        for (index, push) in pushes.enumerated() {
            let isAnswered = state.withLock { state in
                guard state.isSilent else {
                    state.accepted += 1
                    return true
                }
                state.waiting.append((push.answerBy, { completion(index, $0) }))
                return false
            }
            if isAnswered { completion(index, .success(PushAnswer(status: 200))) }
        }
    }

    func send(_ push: Push) async throws(PushFailure) -> PushAnswer { throw PushFailure(.notSentInTime, "not used") }

    /// Ends the pushes whose time is over, without an answer.
    func expire() {
        let now = clock.timeSource.monotonic()
        let over = state.withLock { state in
            let over = state.waiting.filter { $0.until <= now }
            state.waiting.removeAll { $0.until <= now }
            return over
        }
        for one in over { one.answer(.failure(PushFailure(.unknownFate, "no answer"))) }
    }
}
