import APNSModel
import Foundation
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityStorage
import Logging
import StorageSQL
import StorageSQLite
import Synchronization
import TestSupport
import Testing

/// The loop of broadcast channels, over the real store and a clock that the test moves.
struct ChannelServiceTests {
    private static let app = Sample.app(
        Sample.type {
            $0.startGrace = .zero
            $0.delivery = .auto
            $0.join = .open
        })

    /// An APNs whose answers the test controls.
    private final class FakeAPNs: ChannelSender {
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

    private struct Stage: Sendable {
        let store: SQLStore
        let apns = FakeAPNs()
        let clock = SteppedClock()

        func running(node: Int64 = 1, _ body: @escaping @Sendable () async throws -> Void) async throws {
            var limits = ChannelService.Limits()
            limits.look = .seconds(2 * 86_400)
            let service = ChannelService(
                store: store, sender: apns, apps: [app], time: clock.timeSource, clock: clock, node: node,
                dice: { 0 }, limits: limits, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
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
    }

    private static func with(_ body: (Stage) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLStore(path: folder.appending(path: "islet.db").path)
        defer { store.close() }
        try await body(Stage(store: store))
    }

    @Test(.timeLimit(.minutes(5))) func `channels are listed before the first is made, and commits wake the loop`()
        async throws
    {
        try await Self.with { stage in
            try await stage.running {
                try await stage.subscribe()
                #expect(stage.apns.calls == ["list", "create"])
                stage.clock.advance(by: .seconds(10))
                try await stage.put(2)
                try await stage.until { try await stage.channel()?.sentRevision == 2 }
                #expect(stage.apns.calls == ["list", "create", "send"])
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `an hour without work asks the store for nothing`() async throws {
        try await Self.with { stage in
            try await stage.running {
                try await stage.subscribe()
                try await stage.until { stage.clock.nextWake != nil }
                let commits = try await stage.store.statistics().commits
                for _ in 0..<60 { stage.clock.advance(by: .seconds(60)) }
                for _ in 0..<100 { await Task.yield() }
                #expect(try await stage.store.statistics().commits == commits)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `the end goes out, is repeated, and then the channel is deleted`() async throws
    {
        try await Self.with { stage in
            try await stage.running {
                try await stage.subscribe()
                stage.clock.advance(by: .seconds(10))
                try await stage.end()
                for ends in 1...3 {
                    try await stage.until { try await stage.channel()?.ends == ends }
                    // The next claim writes when the end is due again.
                    try await stage.until {
                        try await stage.channel()?.dueAt.map { $0 > stage.clock.wall } ?? false
                    }
                    let due = try #require(try await stage.channel()?.dueAt)
                    await stage.clock.advanceToSleeper(due - stage.clock.wall)
                }
                try await stage.until { try await stage.channel() == nil }
                #expect(stage.apns.calls.suffix(4) == ["send", "send", "send", "delete"])
                #expect(stage.apns.channels.isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a process that ends during a creation leaves no channel behind`() async throws
    {
        try await Self.with { stage in
            stage.apns.hold("create")
            try await stage.running {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { stage.apns.calls.contains("create") }
                // The process ends here: its answer comes too late.
                stage.apns.fail("create", BroadcastError(.unknownFate, "the process ended"))
                stage.apns.release()
                try await stage.until { try await stage.channel()?.life == .lost }
            }
            stage.apns.fail("create", nil)
            stage.clock.advance(by: .seconds(100))
            try await stage.running(node: 2) {
                // The call of the ended process may still be on its way, whatever the wall clock says.
                try await stage.until { try await stage.channel()?.dueAt.map { $0 > stage.clock.wall } ?? false }
                #expect(stage.apns.calls.filter { $0 == "list" }.count == 1)
                let certain = try #require(try await stage.channel()?.dueAt)
                #expect(certain == stage.clock.wall + ClaimChannels.lease)
                await stage.clock.advanceToSleeper(ClaimChannels.lease)
                try await stage.until { try await stage.channel()?.id != nil }
                #expect(stage.apns.channels.count == 1)
                #expect(try await stage.channel()?.id == stage.apns.channels.first)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a broadcast that a lost process had claimed is sent by the next`() async throws
    {
        try await Self.with { stage in
            try await stage.running { try await stage.subscribe() }
            stage.clock.advance(by: .seconds(10))
            try await stage.put(2)
            // The process dies after its claim.
            let due = DueChannels(at: stage.clock.wall, node: 1, limit: 10)
            let claim = ClaimChannels(due, apps: [Self.app.bundleID: Self.app], inUse: [:])
            #expect(try await stage.store.commit(claim).get().errands.count == 1)
            try await stage.running(node: 2) {
                try await stage.until { try await stage.channel()?.retryAt != nil || stage.apns.calls.contains("send") }
                stage.clock.advance(by: .seconds(2))
                try await stage.until { try await stage.channel()?.sentRevision == 2 }
            }
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `where the list is refused, cards start with tokens and nothing is asked without a pause`() async throws {
        try await Self.with { stage in
            stage.apns.fail("list", BroadcastError(.refused(status: 400, reason: .known(.featureNotEnabled)), ""))
            try await stage.running {
                try await stage.register("ann")
                try await stage.put(1, users: ["ann"])
                try await stage.start()
                try await stage.until { try await stage.channel()?.life == .refused }
                let seats = try await stage.start()
                #expect(seats.count == 1 && seats[0].plan.channel == nil)
                for _ in 0..<200 { await Task.yield() }
                #expect(stage.apns.calls == ["list"])
            }
        }
    }
}
