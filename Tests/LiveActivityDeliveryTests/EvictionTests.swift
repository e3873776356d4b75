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

/// Cards that are ended to make room for others, beside the pushes of the same claim.
@Suite(.timeLimit(.minutes(10)))
struct EvictionTests {
    /// A store whose evictions wait until APNs has seen a push, and fail once.
    private final class LateEvictions: WorkStore {
        let inner = ReferenceStore(seed: 1)
        private let sender: ScriptedSender
        private let failures = Mutex(1)

        init(_ sender: ScriptedSender) { self.sender = sender }

        var failuresLeft: Int { failures.withLock(\.self) }
        var wakeUps: AsyncStream<UnixTime> { inner.wakeUps }
        func nextWork() async throws(StorageError) -> NextWork { try await inner.nextWork() }

        func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> {
            if command is EvictCard {
                await sender.received(1)
                let fails = failures.withLock { left in
                    defer { left = max(0, left - 1) }
                    return left > 0
                }
                if fails { throw .failed("one eviction") }
            }
            return try await inner.commit(command)
        }
    }

    private let type = Sample.type(activityIDAttribute: "/id") { policy in
        policy.atCeiling = .endOldest
        policy.ceiling = 1
        policy.startGrace = .zero
    }

    @Test func `what was claimed leaves before a card makes room, and though that fails`() async throws {
        let sender = ScriptedSender()
        let store = LateEvictions(sender)
        let clock = SteppedClock()
        let app = Sample.app(type)
        try await prepare(store, app, clock)
        let dispatcher = Dispatcher(
            store: store, sender: sender, apps: [app], time: clock.timeSource, clock: clock, node: 1, dice: { 7 },
            logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
        let services = ServiceGroup(
            services: [dispatcher], logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await services.run() }
            // Bob's start is in the claim that asks Ann's phone to make room.
            await sender.received(1)
            while store.failuresLeft > 0 { await Task.yield() }
            // The start that waits for room asks for it again at its next look.
            await clock.advanceToSleeper(Reconciler.ceilingRecheck)
            await sender.received(2)
            await services.triggerGracefulShutdown()
            try await group.waitForAll()
        }
        #expect(sender.pushes.map(\.request.destination.hex).prefix(2) == [hex("start-bob"), hex("update-ann")])
    }

    private func hex(_ token: String) -> String { Sample.token(token, as: UpdateTokenKind.self).hex }

    /// Sets up the state: Ann's phone shows a card and is to show another, and Bob's is to show its first.
    private func prepare(_ store: LateEvictions, _ app: AppSettings, _ clock: SteppedClock) async throws {
        let now = clock.wall
        for (key, user) in [(DeviceKey(1), "ann"), (2, "bob")] {
            var body = RegisterDevice.Body(user: Sample.user(user))
            body.osVersion = OSVersion(18, 0)
            body.environment = .production
            let device = Sample.device("phone-\(user)")
            _ = try await store.commit(
                RegisterDevice(app: app, id: device, body: body, now: now, freshKey: key)
            ).get()
            _ = try await store.commit(
                RegisterPushToStartToken(
                    app: app, id: device, type: type.name, token: Sample.token("start-\(user)"), now: now)
            ).get()
        }
        try await put("old", for: "ann", start: .appOnly, store, now)
        var report = CardReport(localID: Sample.local("card"), type: type, state: .active)
        report.activity = Sample.activityID("old")
        report.token = Sample.token("update-ann")
        report.contentState = Sample.state(1)
        _ = try await store.commit(
            ReportCard(app: app, device: Sample.device("phone-ann"), report: report, now: now)
        ).get()
        // Neither phone was heard of in the last minute, so nobody waits for an app to start the card itself.
        clock.advance(by: .seconds(120))
        try await put("new", for: "ann", start: .ifPossible, store, clock.wall)
        try await put("first", for: "bob", start: .ifPossible, store, clock.wall)
    }

    private func put(
        _ id: String, for user: String, start: ActivityRecord.StartMode, _ store: LateEvictions, _ now: UnixTime
    ) async throws {
        var body = SetDesiredState.Body(state: Sample.state(1))
        body.users = [Sample.user(user)]
        body.start = start
        body.attributes = ["name": .string(id)]
        _ = try await store.commit(
            SetDesiredState(app: Sample.bundleID, id: Sample.activityID(id), type: type, body: body, now: now)
        ).get()
    }
}
