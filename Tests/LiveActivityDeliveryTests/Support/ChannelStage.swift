import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

/// An APNs whose answers the test controls.
final class ChannelAPNs: ChannelSender {
    private struct State {
        var calls: [String] = []
        var channels: [ChannelID] = []
        var made = 0
        var failures: [String: BroadcastError] = [:]
        var held: [CheckedContinuation<Void, Never>] = []
        var holds: Set<String> = []
    }

    private let state = Mutex(State())

    var calls: [String] { state.withLock(\.calls) }
    var channels: [ChannelID] { state.withLock(\.channels) }

    /// Answers every call of this name with an error; `nil` for none.
    func fail(_ call: String, _ error: BroadcastError?) { state.withLock { $0.failures[call] = error } }
    /// Keeps the answers to calls of this name back, until `release`.
    func hold(_ call: String) { state.withLock { _ = $0.holds.insert(call) } }

    /// Makes a channel as another program does.
    func makeElsewhere() {
        state.withLock { state in
            state.made += 1
            state.channels.append(ChannelID("BBBB\(1000 + state.made)").unsafelyUnwrapped)
        }
    }

    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.holds = []
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    private func call(_ name: String) async throws(BroadcastError) {
        let isHeld = state.withLock { state in
            state.calls.append(name)
            return state.holds.contains(name)
        }
        if isHeld { await withCheckedContinuation { held in state.withLock { $0.held.append(held) } } }
        if let error = state.withLock({ $0.failures[name] }) { throw error }
    }

    func send(_ request: BroadcastRequest, within limit: Duration) async throws(BroadcastError) {
        try await call("send")
    }

    func createChannel(
        of bundleID: BundleID, in environment: APNSEnvironment, storing policy: MessageStoragePolicy,
        within limit: Duration
    ) async throws(BroadcastError) -> ChannelID {
        // Made, whether or not the answer arrives.
        let id = state.withLock { state in
            state.made += 1
            let id = ChannelID("AAAA\(1000 + state.made)").unsafelyUnwrapped
            state.channels.append(id)
            return id
        }
        try await call("create")
        return id
    }

    func deleteChannel(_ channel: BroadcastChannel, within limit: Duration) async throws(BroadcastError) {
        state.withLock { $0.channels.removeAll { $0 == channel.id } }
        try await call("delete")
    }

    func listChannels(
        of bundleID: BundleID, in environment: APNSEnvironment, within limit: Duration
    ) async throws(BroadcastError) -> [ChannelID] {
        try await call("list")
        return state.withLock(\.channels)
    }
}

/// The loop of broadcast channels over the real store, with an APNs and a clock that the test controls.
struct ChannelStage: Sendable {
    static let app = Sample.app(
        Sample.type {
            $0.startGrace = .zero
            $0.delivery = .auto
            $0.join = .open
        }, environments: [.production])

    var app: AppSettings { Self.app }
    let store: SQLStore
    let apns = ChannelAPNs()
    let clock = SteppedClock()
    let metrics = MetricsRegistry()

    func running(
        node: Int64 = 1, apps: [AppSettings] = [ChannelStage.app], relist: Duration = .seconds(2 * 86_400),
        store other: (any ChannelStore)? = nil, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        var limits = ChannelService.Limits()
        limits.look = .seconds(2 * 86_400)
        limits.relist = relist
        let service = ChannelService(
            store: other ?? store, sender: apns, apps: apps, time: clock.timeSource, clock: clock, node: node,
            dice: { 0 }, limits: limits, metrics: ChannelMetrics(factory: metrics),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            try await body()
            group.cancelAll()
        }
    }

    func register(_ user: String) async throws {
        var body = RegisterDevice.Body(user: Sample.user(user))
        body.osVersion = OSVersion(18, 0)
        body.activitiesEnabled = true
        body.environment = .production
        body.channels = true
        let id = Sample.device(user)
        let key = DeviceKey(Digest.fnv1a(user.utf8) >> 1)
        _ = try await store.commit(RegisterDevice(app: app, id: id, body: body, now: clock.wall, freshKey: key))
            .get()
        _ = try await store.commit(
            RegisterPushToStartToken(
                app: app, id: id, type: "order", token: Sample.token("p2s-\(user)"), now: clock.wall)
        ).get()
    }

    func put(_ step: Int, users: [String]? = nil) async throws {
        var body = SetDesiredState.Body(state: Sample.state(step))
        body.users = users?.map(Sample.user)
        let type = try #require(app.types["order"])
        let command = SetDesiredState(
            app: app.bundleID, id: Sample.activityID("a"), type: type, body: body, now: clock.wall)
        _ = try await store.commit(command).get()
    }

    func end() async throws {
        _ = try await store.commit(
            EndActivity(
                app: app, id: Sample.activityID("a"), state: nil, alert: nil, dismissal: .systemDefault,
                now: clock.wall)
        ).get()
    }

    /// Claims the starts that are due, as the dispatcher does, and takes them as accepted.
    @discardableResult
    func start() async throws -> [Flight.Seat] {
        let claim = ClaimWork(now: clock.wall, node: 1, apps: [app.bundleID: app], seed: 1)
        let flights = try await store.commit(claim).get().flights
        for flight in flights {
            let entries = flight.seats.map { seat in
                SettleFlight.Entry(
                    seat: seat, outcome: .answered(.success(PushAnswer(status: 200))), dice: 0.5)
            }
            _ = try await store.commit(SettleFlight(flight: flight, entries: entries, app: app, now: clock.wall))
                .get()
        }
        return flights.flatMap(\.seats)
    }

    /// Returns the value of a metric's series; `nil` if there is none.
    func value(_ metric: Metric, _ labels: String...) -> Double? {
        let family = metrics.families.first { $0.metric == metric }
        guard case .number(let value)? = family?.series.first(where: { $0.labels == labels })?.value else {
            return nil
        }
        return value
    }

    /// Number of the app's channels, as the metric says it.
    var inUse: Double? { value(.channelsInUse, app.bundleID.text, "production") }

    /// Number of the calls of this kind with this outcome, as the metric says it.
    func calls(_ kind: String, _ outcome: String) -> Double? {
        value(.channelCalls, app.bundleID.text, "production", kind, outcome)
    }

    func channel() async throws -> ChannelRecord? {
        try await store.channels(of: app.bundleID, after: nil, limit: 10).rows.first?.record
    }

    /// Waits, in real time, until the store satisfies the condition.
    func until(_ isTrue: @escaping @Sendable () async throws -> Bool) async throws {
        while try await !isTrue() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Makes a channel with one card on it.
    func subscribe() async throws {
        try await register("ann")
        try await put(1, users: ["ann"])
        try await start()
        try await until { try await self.channel()?.id != nil }
        #expect(try await start().map(\.plan.channel) == [try await channel()?.id])
    }

    /// Runs the body with a database of its own.
    static func with(_ body: (ChannelStage) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLStore(path: folder.appending(path: "islet.db").path)
        defer { store.close() }
        try await body(ChannelStage(store: store))
    }
}
