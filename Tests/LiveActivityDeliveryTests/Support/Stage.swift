import APNSModel
import Foundation
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import LiveActivityTracing
import Logging
import ServiceLifecycle
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport

@testable import LiveActivityDelivery

/// A dispatcher over a database of its own, with a scripted APNs and a clock that stands still.
final class Stage: Sendable {
    let store: WatchedStore
    let clock: SteppedClock
    let sender: ScriptedSender
    let logs = LogRecorder()
    let metrics = MetricsRegistry()
    private let app: AppSettings
    private let limits: Dispatcher.Limits
    private let faultPoints: FaultPoints
    private let node: Int64
    private let traces: Traces?
    private let running = Mutex<Dispatcher?>(nil)
    private let preparation = Mutex<@Sendable () async -> Void>({})

    init(
        path: String, _ sender: ScriptedSender = ScriptedSender(), clock: SteppedClock = SteppedClock(),
        node: Int64 = 1, faultPoints: FaultPoints = FaultPoints(), traces: Traces? = nil,
        window: Duration = .seconds(1), _ change: (inout Dispatcher.Limits) -> Void = { _ in }
    ) throws {
        app = Sample.app(
            Sample.type { policy in
                policy.start = .appOnly
                policy.coalescingWindow = window
            })
        store = WatchedStore(try SQLStore(path: path, faultPoints: faultPoints))
        self.faultPoints = faultPoints
        self.sender = sender
        self.clock = clock
        self.node = node
        self.traces = traces
        var limits = Dispatcher.Limits()
        change(&limits)
        self.limits = limits
    }

    /// Sets what each claim of the dispatcher waits for.
    func beforeClaim(_ prepare: @escaping @Sendable () async -> Void) { preparation.withLock { $0 = prepare } }

    /// Runs the dispatcher while the body runs, then stops it gracefully and waits until it has ended.
    func perform(_ body: (_ stop: @Sendable () async -> Void) async throws -> Void) async throws {
        let dice = Mutex(SeededDice(seed: 11))
        let dispatcher = Dispatcher(
            store: store, sender: sender, apps: [app], time: clock.timeSource, clock: clock, node: node,
            dice: { dice.withLock { $0.next() } }, limits: limits, faultPoints: faultPoints,
            metrics: DeliveryMetrics(factory: metrics), traces: traces, logger: logs.logger,
            beforeClaim: { [self] in await preparation.withLock(\.self)() })
        running.withLock { $0 = dispatcher }
        let services = ServiceGroup(
            services: [dispatcher], logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            do {
                try await body { await services.triggerGracefulShutdown() }
            } catch is Crash {
                group.cancelAll()
                while await group.nextResult() != nil {}
                return
            }
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
        }
    }

    /// The routes with faults.
    var troubledRoutes: [PushRoute: CircuitBoard.Status] { running.withLock(\.self)?.troubledRoutes ?? [:] }

    /// `true` while the dispatcher waits for work.
    var isDispatcherAsleep: Bool { running.withLock(\.self)?.signal.isAwaited ?? false }

    /// Thrown by a body to end the process as a crash does.
    struct Crash: Error {}

    // MARK: - Actions

    func put(_ step: Int, _ activity: String = "a", start: ActivityRecord.StartMode = .appOnly) async throws {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = [Sample.user("ann")]
        body.devices = .all
        body.start = start
        body.attributes = ["name": .string(activity)]
        _ = try await store.commit(
            SetDesiredState(
                app: app.bundleID, id: Sample.activityID(activity), type: Sample.type(), body: body, now: clock.wall)
        ).get()
    }

    func register(
        _ phone: Int = 1, startToken: String? = nil, environment: APNSEnvironment = .production
    ) async throws {
        var body = RegisterDevice.Body(user: Sample.user("ann"))
        body.osVersion = OSVersion(18, 0)
        body.environment = environment
        _ = try await store.commit(
            RegisterDevice(app: app, id: device(phone), body: body, now: clock.wall, freshKey: DeviceKey(phone))
        ).get()
        guard let startToken else { return }
        _ = try await store.commit(
            RegisterPushToStartToken(
                app: app, id: device(phone), type: "order", token: Sample.token(startToken), now: clock.wall)
        ).get()
    }

    func report(_ phone: Int = 1, _ activity: String = "a", token: String) async throws {
        var report = CardReport(
            localID: Sample.local("card-\(activity)-\(phone)"), type: Sample.type(), state: .active)
        report.activity = Sample.activityID(activity)
        report.token = Sample.token(token)
        _ = try await store.commit(ReportCard(app: app, device: device(phone), report: report, now: clock.wall)).get()
    }

    /// Makes phones, each with a live card and its token, and a first state to send.
    func prepare(phones: Int = 1, activity: String = "a") async throws {
        for phone in 1...phones { try await register(phone) }
        try await put(1, activity)
        for phone in 1...phones { try await report(phone, activity, token: "update-\(activity)-\(phone)") }
    }

    private func device(_ phone: Int) -> DeviceID { Sample.device("phone-\(phone)") }

    // MARK: - Observations

    func phones() async throws -> [CardMachine] {
        try await store.inner.phones(of: 1, after: 0, limit: 100).map(\.card)
    }

    func lane() async throws -> LaneRecord? {
        try await store.inner.activity(app.bundleID, Sample.activityID("a"))?.lanes.first
    }

    /// The steps of the states that were sent, in order.
    var steps: [Int] {
        sender.pushes.map { push in
            (try? JSONValue(parsing: push.request.payload))?["/aps/content-state/step"]?.int ?? 0
        }
    }

    func settled(_ count: Int) async {
        await until { self.store.now.settlements >= count }
    }

    /// Waits for a condition until the test's time is over.
    func until(_ isTrue: () async throws -> Bool) async rethrows {
        while try await !isTrue(), !Task.isCancelled { await Task.yield() }
    }
}

extension JSONValue {
    subscript(pointer: String) -> JSONValue? { self[Sample.pointer(pointer)] }
}

func withStage(
    _ sender: ScriptedSender = ScriptedSender(), window: Duration = .seconds(1),
    _ change: (inout Dispatcher.Limits) -> Void = { _ in }, _ body: (Stage) async throws -> Void
) async throws {
    try await withDatabasePath { path in
        let stage = try Stage(path: path, sender, window: window, change)
        defer { stage.store.inner.close() }
        try await body(stage)
    }
}

func withDatabasePath(_ body: (String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory.appending(path: "islet.sqlite").path)
}

extension SteppedClock {
    /// Advances by a duration, from one sleeper to the next.
    ///
    /// A dispatcher that looked before a settlement sleeps until the lease of that flight ends, and only then until
    /// later work is due.
    func advance(through duration: Duration) async {
        let end = now.offset + duration
        while now.offset < end, !Task.isCancelled {
            if let wake = nextWake { advance(by: min(wake, end) - now.offset) } else { await Task.yield() }
        }
    }
}
