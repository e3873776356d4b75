import APNSModel
import HTTPTypes
import HummingbirdTesting
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import Testing

/// A store in which every call fails with the same error.
private struct BrokenStore: StateStore, ReadStore, AdminStore, KeyStore, WebhookStore, ChannelStore {
    let error: StorageError
    let knownKey: APIKeyRecord?

    func commit<C: Command>(_ command: C) async throws(StorageError) -> Result<C.Reply, Refusal> { throw error }
    func activity(_ app: BundleID, _ id: ActivityID) async throws(StorageError) -> ActivityState? { throw error }
    func activityWithPhones(
        _: BundleID, _: ActivityID
    ) async throws(StorageError) -> (state: ActivityState, phones: [PhoneSituation]?)? { throw error }
    func phones(of: ActivityNumber, after: DeviceKey, limit: Int) async throws(StorageError) -> [PhoneSituation] {
        throw error
    }
    func history(
        of: ActivityNumber, after: Int64, limit: Int
    ) async throws(StorageError) -> [(sequence: Int64, record: HistoryRecord)] { throw error }
    func activities(
        on: DeviceID, of: BundleID
    ) async throws(StorageError) -> [(state: ActivityState, card: CardMachine)] { throw error }
    func activities(
        of: BundleID, _: String, from: UnixTime, before: UnixTime, limit: Int
    ) async throws(StorageError) -> RecentActivities { throw error }
    func latestHistory(of: ActivityNumber, limit: Int) async throws(StorageError) -> [HistoryRecord] { throw error }
    func snapshot(of keys: [SnapshotKey]) async throws(StorageError) -> Snapshot { throw error }
    func running(
        since time: UnixTime, after: RunningActivity?, limit: Int
    ) async throws(StorageError) -> [RunningActivity] { throw error }
    func tokenHolders(among: [DeviceKey], starting: String) async throws(StorageError) -> TokenHolders { throw error }
    func deviceIDs(_ keys: [DeviceKey]) async throws(StorageError) -> [DeviceKey: DeviceID] { throw error }
    func channels(of: BundleID?, after: ChannelKey?, limit: Int) async throws(StorageError) -> ChannelPage {
        throw error
    }
    func channelCounts(of: BundleID?) async throws(StorageError) -> [PushRoute: ChannelCounts] { throw error }
    func refreshes(of: UserID, in: BundleID) async throws(StorageError) -> [RefreshRecord] { throw error }
    func people(
        of: BundleID, after: UserNumber, limit: Int
    ) async throws(StorageError) -> [(number: UserNumber, id: UserID)] { throw error }
    func activities(of: BundleID, _ filter: ActivityFilter) async throws(StorageError) -> ActivityPage { throw error }
    func preview<C: Command>(
        _ command: C, of: ActivityID, in: BundleID, phones: [PhoneStretch]
    ) async throws(StorageError) -> Result<Preview<C.Reply>, Refusal> { throw error }
    var channelWakeUps: AsyncStream<Void> { AsyncStream { $0.finish() } }
    func nextChannelAt() async throws(StorageError) -> UnixTime? { throw error }
    func insertKey(_ key: APIKeyRecord) async throws(StorageError) { throw error }
    func key(_ id: String) async throws(StorageError) -> APIKeyRecord? {
        guard let knownKey else { throw error }
        return knownKey
    }
    func keys() async throws(StorageError) -> [APIKeyRecord] { throw error }
    func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool { throw error }
    func noteUses(_ uses: [String: UnixTime]) async throws(StorageError) { throw error }
    func eraseKeys(overBefore: UnixTime) async throws(StorageError) -> Int { throw error }
    func device(_ key: DeviceKey) async throws(StorageError) -> DeviceRecord? { throw error }
    func check() async throws(StorageError) { throw error }
    func prune(_ limits: PruneLimits, at now: UnixTime) async throws(StorageError) -> Bool { throw error }
    func statistics() async throws(StorageError) -> StoreStatistics { throw error }
    var health: StoreHealth { StoreHealth() }
    func backlog(at now: UnixTime) async throws(StorageError) -> Backlog { throw error }
    func deviceCounts() async throws(StorageError) -> [BundleID: Int] { throw error }
    func webhook(_ key: WebhookKey) async throws(StorageError) -> WebhookState { throw error }
    func webhooks() async throws(StorageError) -> [WebhookPlace] { throw error }
    func save(_ progress: WebhookProgress) async throws(StorageError) -> Bool { throw error }
    func deadDeliveries(
        to key: WebhookKey, after: EventNumber, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] { throw error }
    func deliveryCounts(of key: WebhookKey) async throws(StorageError) -> (waiting: Int, dead: Int) { throw error }
    func replay(
        _ what: WebhookReplay, to key: WebhookKey, at now: UnixTime
    ) async throws(StorageError) -> Int? { throw error }
    func discard(_ dead: [EventNumber]?, of key: WebhookKey) async throws(StorageError) -> Int? { throw error }
    func enable(_ key: WebhookKey) async throws(StorageError) -> Bool? { throw error }
    func eventWakeUps() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    func waiting(
        for key: WebhookKey, of activity: ActivityNumber?, limit: Int
    ) async throws(StorageError) -> [WebhookDelivery] { throw error }
    func eventSpan(of app: BundleID?) async throws(StorageError) -> EventSpan { throw error }
    func events(
        of: BundleID?, _ filter: EventFilter, after: EventNumber, limit: Int
    ) async throws(StorageError) -> EventPage { throw error }
    func events(numbered: [EventNumber]) async throws(StorageError) -> [StoredEvent] { throw error }
}

/// Records the log.
private struct RecordingHandler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    final class Lines: Sendable {
        private let kept = Mutex<[String]>([])
        var all: [String] { kept.withLock { $0 } }
        func add(_ line: String) { kept.withLock { $0.append(line) } }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add("\(event.level) \(event.message) \(event.metadata ?? [:]) \(metadata)")
    }
}

@Suite struct ServiceTests {
    @Test(arguments: [
        (StorageError.failed("disk I/O error at /var/lib"), "storage_unavailable", "5"),
        (.closed, "storage_unavailable", "5"), (.cannotOpen("x"), "storage_unavailable", "5"),
        (.tokenKeys(.missingKeys(["k1"], place: "/x")), "storage_unavailable", "5"),
        (.inUse(path: "/x"), "storage_unavailable", "5"), (.commitUnknown("x"), "commit_unknown", "1"),
        (.overloaded, "overloaded", "1"),
    ])
    func `a store that fails is a 503 that says when to come back, and nothing of the machine`(
        error: StorageError, code: String, retryAfter: String
    ) async throws {
        var dice = SplitMix64(seed: 5)
        let (key, record) = APIKey.make(app: pizza.bundleID, scope: .backend, at: UnixTime(seconds: 1), using: &dice)
        for knownKey in [record, nil] {
            var configuration = LiveActivityServer.Configuration(apps: [pizza])
            configuration.trials = TrialRecorder().trials()
            let server = LiveActivityServer(
                configuration: configuration, store: BrokenStore(error: error, knownKey: knownKey),
                time: TestClock().source, dice: { 1 }, logger: quiet)
            try await server.application.test(.router) { client in
                for route in Route.all where !route.scopes.isEmpty {
                    // These answers come from the process's memory. With a known key they do not query the store.
                    let asksNothing = ["/v1/types", "/v1/overview", "/v1/alerts", "/v1/nodes"]
                        .contains(route.path.description)
                    if asksNothing, knownKey != nil { continue }
                    let path = route.path.filled { $0 == "type" ? "Order" : "x" }
                    let body = Self.goodBody(of: route).map { ByteBuffer(string: $0) }
                    let reply = Reply(
                        try await client.executeRequest(
                            uri: path, method: route.method, headers: [.authorization: "Bearer \(key.text)"], body: body
                        ))
                    if route.path.description == "/v1/batch", knownKey != nil {
                        // The stream had begun, so its line carries the error.
                        #expect(reply["/status"] == 503 && reply["/body/code"]?.string == code)
                        continue
                    }
                    #expect(reply.status == 503, "\(route.path)")
                    #expect(reply.code == code)
                    #expect(reply.headers[.retryAfter] == retryAfter)
                    #expect(!reply.text.contains("disk") && !reply.text.contains("/var"))
                    if code == "commit_unknown" { #expect(reply["/fix"]?.string?.contains("safe") == true) }
                }
                let ready = Reply(
                    try await client.executeRequest(uri: "/readyz", method: .get, headers: [:], body: nil))
                #expect(ready.status == 503 && ready.code == "not_ready")
                let alive = Reply(
                    try await client.executeRequest(uri: "/healthz", method: .get, headers: [:], body: nil))
                #expect(alive.status == 200)
            }
        }
    }

    private static func goodBody(of route: Route) -> String? {
        switch route.path.description {
        case "/v1/activities/{activity}":
            route.method == .put ? #"{"type":"Order","state":{}}"# : route.method == .patch ? "{}" : nil
        case "/v1/activities/{activity}/audience": #"{"add":["ada"]}"#
        case "/v1/batch": #"{"method":"DELETE","path":"/v1/activities/a"}"#
        case "/v1/activities/{activity}/end": "{}"
        case "/v1/users/{user}/notifications": #"{"id":"n","alert":{"title":"Hello"}}"#
        case "/v1/refreshes": #"{"users":["ada"]}"#
        case "/v1/devices/{device}": route.method == .put ? #"{"user":"ada"}"# : nil
        case "/v1/devices/{device}/push-to-start-tokens/{type}": #"{"token":"\#(token("a"))"}"#
        case "/v1/devices/{device}/instances/{localID}": #"{"type":"Order","activity":"a","state":"active"}"#
        case "/v1/devices/{device}/instances": #"{"sequence":1,"instances":[]}"#
        case "/v1/webhooks/{webhook}/discard": #"{"all":true}"#
        case "/v1/types/{type}/what-if": #"{"policy":{}}"#
        default: nil
        }
    }

    @Test func `a request is logged with ids, and never with a key, token or content`() async throws {
        let lines = RecordingHandler.Lines()
        let logger = Logger(label: "test", factory: { _ in RecordingHandler(lines: lines) })
        try await withServer(logger: logger) { fixture in
            _ = try await fixture.put("/v1/activities/order-1", #"{"type":"Order","state":{"secret":"mozzarella"}}"#)
            _ = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada","deviceToken":"\#(token("t"))"}"#)
            _ = try await fixture.put("/v1/devices/phone-1", #"{"user":"ada","platform":"\#(token("t"))"}"#)
            _ = try await fixture.call(.get, "/v1/activities/\(fixture.keys[.backend]?.text ?? "")")
            _ = try await fixture.call(
                .get, "/v1/activities/\(token("t"))?key=\(token("t"))", key: "Bearer \(token("t"))")
            let all = lines.all.joined(separator: "\n")
            #expect(all.contains("order-1") && all.contains("phone-1") && all.contains("invalid_body"))
            #expect(!all.contains("mozzarella"))
            #expect(!all.contains(token("t").prefix(16)))
            for key in fixture.keys.values { #expect(!all.contains(key.text.suffix(43))) }
            #expect(lines.all.allSatisfy { $0.hasPrefix("debug") })
        }
    }

    @Test func `the service binds a free port, says which, answers, and stops gracefully`() async throws {
        try await withServer { fixture in
            let (addresses, found) = AsyncStream.makeStream(of: LiveActivityServer.Address.self)
            var configuration = LiveActivityServer.Configuration(apps: [pizza])
            configuration.port = 0
            let server = LiveActivityServer(
                configuration: configuration, store: fixture.store, time: fixture.clock.source, dice: { 1 },
                logger: quiet, onListening: { found.yield($0) })
            let group = ServiceGroup(configuration: .init(services: [server], logger: quiet))
            let key = try #require(fixture.keys[.backend]?.text)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                let address = try #require(await addresses.first { _ in true })
                #expect(address.host == "127.0.0.1")
                #expect(address.port > 0)
                #expect(address.description == "http://127.0.0.1:\(address.port)")
                try await TestClient.withClient(host: address.host, port: address.port) { client in
                    let put = try await client.put(
                        "/v1/activities/caf%C3%A9%2F1",
                        headers: [.authorization: "Bearer \(key)", .contentType: "application/json"],
                        body: ByteBuffer(string: #"{"type":"Order","state":{"step":1}}"#))
                    #expect(put.status == .ok)
                    #expect(put.headers[.contentType] == "application/json")
                    let view = try await client.get(
                        "/v1/activities/caf%C3%A9%2F1", headers: [.authorization: "Bearer \(key)"])
                    let json = try JSONValue(parsing: Array((view.body ?? ByteBuffer()).readableBytesView))
                    #expect(json.object?["activity"] == "café/1")
                    // A body over the limit is refused by its declared length.
                    let large = try await client.put(
                        "/v1/activities/a", headers: [.authorization: "Bearer \(key)"],
                        body: ByteBuffer(repeating: 0x20, count: 100_000))
                    #expect(large.status == .contentTooLarge)
                }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }
}
