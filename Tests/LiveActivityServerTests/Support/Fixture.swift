import APNSModel
import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import IsletBasics
import JSONText
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage
import Logging
import NIOCore
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

let pizza = testApp("com.acme.pizza")
let bakery = testApp("com.acme.bakery")

private let checkedContract: Contract? = {
    let text = #"""
        {"attributesType": "CheckedAttributes",
         "attributes": {"type": "object", "properties": {"shop": {"type": "string"}}},
         "contentState": {"type": "object", "required": ["status"], "additionalProperties": false, "properties": {
          "status": {"enum": ["ready", "delivering"]}, "eta": {"type": ["integer", "null"], "x-swift": "Int"},
          "at": {"type": ["number", "null"], "x-swift": "Date"}}}}
        """#
    return try? Contract(JSONValue(parsing: text))
}()

/// Returns a type in which builds before 120 know only the status `ready`.
private func versioned(_ policy: TypePolicy) -> ActivityType {
    var type = ActivityType(
        name: "Versioned", attributesType: "CheckedAttributes", policy: policy, contract: checkedContract)
    let text = #"""
        {"attributesType": "CheckedAttributes", "contentState": {"type": "object", "required": ["status"],
          "additionalProperties": false, "properties": {"status": {"enum": ["ready"]}}}}
        """#
    if let before = AppBuild("120"), let contract = try? Contract(JSONValue(parsing: text)) {
        type.olderContracts = [OlderContract(before: before, contract: contract)]
    }
    return type
}

/// Returns a type whose states a provider computes, although none is asked here.
private func provided(_ policy: TypePolicy) -> ActivityType {
    var type = ActivityType(name: "Focus", attributesType: "FocusAttributes", policy: policy)
    type.isProvided = true
    return type
}

private func testApp(_ id: String) -> AppSettings {
    guard let bundleID = BundleID(id) else { preconditionFailure("not a bundle id: \(id)") }
    var policy = TypePolicy()
    policy.startAlert = AlertTemplate(PushAlert(title: .text("Your order")))
    policy.startGrace = .zero
    var silent = TypePolicy()
    silent.startGrace = .zero
    let named = JSONPointer(tokens: ["orderID"])
    return AppSettings(
        bundleID: bundleID,
        types: [
            ActivityType(name: "Order", attributesType: "OrderAttributes", policy: policy),
            ActivityType(name: "Named", attributesType: "NamedAttributes", activityIDAttribute: named, policy: policy),
            ActivityType(name: "Silent", attributesType: "SilentAttributes", policy: silent), provided(policy),
            ActivityType(
                name: "Checked", attributesType: "CheckedAttributes", policy: policy, contract: checkedContract),
            versioned(policy),
        ],
        environments: [.sandbox])
}

/// A wall clock that tests move.
final class TestClock: Sendable {
    private let wall = Mutex(UnixTime(seconds: 1_800_000_000))
    var now: UnixTime { wall.withLock { $0 } }
    func advance(_ duration: Duration) { wall.withLock { $0 = $0 + duration } }
    var source: TimeSource {
        TimeSource(wall: { self.now }, monotonic: { MonotonicTime(nanoseconds: self.now.milliseconds * 1_000_000) })
    }
}

struct Reply: Sendable {
    let status: Int
    let headers: HTTPFields
    let json: JSONValue?
    let text: String

    init(_ response: TestResponse) {
        status = response.status.code
        headers = response.headers
        text = String(buffer: response.body)
        json = try? JSONValue(parsing: Array(response.body.readableBytesView))
    }

    subscript(_ pointer: String) -> JSONValue? { (try? JSONPointer(pointer)).flatMap { json?[$0] } }
    var code: String? { self["/code"]?.string }
}

/// A server on its own database, called without a network.
struct Fixture: Sendable {
    let server: LiveActivityServer
    let store: SQLStore
    let clock: TestClock
    let client: any TestClientProtocol
    let keys: [APIKeyRecord.Scope: APIKey]
    let revoked: APIKey
    let otherApp: APIKey

    @discardableResult
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, key: String?, headers: HTTPFields = [:]
    ) async throws -> Reply {
        var headers = headers
        if let key { headers[.authorization] = "Bearer \(key)" }
        let reply = Reply(
            try await client.executeRequest(
                uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) }))
        Described.check(method, path, body, reply)
        return reply
    }

    /// Makes a call as the backend.
    @discardableResult
    func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Reply {
        try await call(method, path, body, key: keys[.backend]?.text)
    }

    func put(_ path: String, _ body: String) async throws -> Reply { try await call(.put, path, body) }

    /// Returns every row of the database, as another connection sees it.
    func contents() throws -> String {
        var configuration = GRDB.Configuration()
        configuration.readonly = true
        let path = try #require(store.database as? SQLiteDatabase).path
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        return try queue.read { db in
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return try tables.map { table in
                "\(table):"
                    + (try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map(\.description).joined(
                        separator: "\n"))
            }.joined(separator: "\n")
        }
    }

    /// Registers a user's device with a push-to-start token.
    func registerPhone(_ device: String = "phone-1", user: String = "ada", type: String = "Order") async throws {
        #expect(try await put("/v1/devices/\(device)", #"{"user":"\#(user)","osVersion":"18.1"}"#).status == 200)
        let reply = try await put(
            "/v1/devices/\(device)/push-to-start-tokens/\(type)", #"{"token":"\#(token(device + type))"}"#)
        #expect(reply.status == 200)
    }

    /// Claims the due work and settles it as if APNs had answered every push this way.
    func deliver(_ answer: PushAnswer = PushAnswer(status: 200)) async throws -> [PushKind] {
        let apps = [pizza.bundleID: pizza, bakery.bundleID: bakery]
        let claim = ClaimWork(now: clock.now, node: 1, apps: apps, seed: 7)
        var kinds: [PushKind] = []
        for flight in try await store.commit(claim).get().flights {
            let entries = flight.seats.map {
                SettleFlight.Entry(seat: $0, outcome: .answered(.success(answer)), dice: 0.5)
            }
            kinds += flight.seats.map(\.plan.kind)
            let app = apps[flight.desired.activity.app] ?? pizza
            _ = try await store.commit(SettleFlight(flight: flight, entries: entries, app: app, now: clock.now)).get()
        }
        return kinds
    }
}

/// Returns a valid token that depends on a name.
func token(_ name: String) -> String {
    var dice = SplitMix64(seed: Digest.fnv1a(name.utf8))
    return (0..<4).map { _ in String(format: "%016lx", dice.next()) }.joined()
}

let quiet: Logger = {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return logger
}()

extension LiveActivityServer.Limits {
    /// The standard limits except those of rate, because the tests' clock stands still.
    static let unhurried: Self = {
        var limits = Self()
        limits.requestsPerSecond = nil
        limits.requestsPerSecondPerDevice = nil
        limits.signInsPerSecond = nil
        limits.joinsPerMinutePerAddress = nil
        return limits
    }()
}

func withServer(
    logger: Logger = quiet, limits: LiveActivityServer.Limits = .unhurried, hasMetrics: Bool = true,
    delivery: DeliverySources = DeliverySources(),
    configure: (inout LiveActivityServer.Configuration) -> Void = { _ in },
    _ body: @escaping @Sendable (Fixture) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "islet-server-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try SQLStore(path: folder.appending(path: "test.db").path)
    defer { store.close() }
    let clock = TestClock()
    var dice = SplitMix64(seed: 1)
    func key(_ scope: APIKeyRecord.Scope, _ app: AppSettings) async throws -> APIKey {
        let (key, record) = APIKey.make(app: app.bundleID, scope: scope, at: clock.now, using: &dice)
        try await store.insertKey(record)
        return key
    }
    var keys: [APIKeyRecord.Scope: APIKey] = [:]
    for scope in APIKeyRecord.Scope.allCases { keys[scope] = try await key(scope, pizza) }
    let revoked = try await key(.backend, pizza)
    _ = try await store.revokeKey(revoked.id, at: clock.now)
    let otherApp = try await key(.backend, bakery)
    var configuration = LiveActivityServer.Configuration(apps: [pizza, bakery])
    configuration.limits = limits
    configuration.trials = TrialRecorder().trials()
    configuration.delivery = delivery
    if hasMetrics {
        var apns = ConnectionReading(.sandbox)
        apns.connections = 1
        apns.streamLimit = 1000
        apns.clockSkew = .milliseconds(-1500)
        let reading = apns
        configuration.metrics = MetricsSources(
            registry: MetricsRegistry(), version: "1.2.3", startedAt: UnixTime(seconds: 1_799_999_000)
        ) { [reading] }
    }
    configure(&configuration)
    let numbers = Mutex(SplitMix64(seed: 2))
    let server = LiveActivityServer(
        configuration: configuration, store: store, time: clock.source, dice: { numbers.withLock { $0.next() } },
        logger: logger)
    let made = keys
    try await server.application.test(.router) { client in
        try await body(
            Fixture(
                server: server, store: store, clock: clock, client: client, keys: made, revoked: revoked,
                otherApp: otherApp))
    }
}
