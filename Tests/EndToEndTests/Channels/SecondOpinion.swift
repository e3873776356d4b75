import APNSClient
import APNSModel
import Crypto
import Foundation
import HTTP2TestServer
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
import ServiceLifecycle
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import islet

/// The server and its client, with `ForeignAPNs` in place of Apple. Phones are calls of the HTTP API: apps that start
/// their cards themselves.
struct SecondOpinion: Sendable {
    struct Options: Sendable {
        var policy: TypePolicy
        /// Further arguments of `ForeignAPNs`.
        var arguments: [String] = []
        /// `true` if a request breaks a rule on purpose.
        var breaksRule = false

        init() {
            policy = Stack.policy
            policy.delivery = .channel
        }
    }

    let apns: ForeignAPNs
    let client: APNSClient
    let islet: JSONCaller
    let clock: AheadClock

    private static let keyID = "KEY0000001"
    private static let teamID = "TEAM000001"

    /// Starts everything, runs the body, and stops everything. Checks that no request broke a rule of Apple's pages.
    static func run(
        _ change: (inout Options) -> Void = { _ in }, _ body: @escaping @Sendable (SecondOpinion) async throws -> Void
    ) async throws {
        var options = Options()
        change(&options)
        let chosen = options
        try await Turns.ofSystems.take { try await runNow(chosen, body) }
    }

    private static func runNow(
        _ options: Options, _ body: @escaping @Sendable (SecondOpinion) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let secret = P256.Signing.PrivateKey()
        let authority = try TestAuthority()
        let identity = try authority.makeIdentity()
        let apns = try await ForeignAPNs.start(
            in: folder, certificate: identity.certificate, key: identity.key,
            publicKey: secret.publicKey.pemRepresentation,
            ["--key-id", keyID, "--team-id", teamID, "--bundle", Stack.bundleID.text] + options.arguments)
        let result: Result<Void, any Error>
        do {
            let send = try APNSClient.Endpoint(host: "127.0.0.1", port: apns.ports.send)
            let management = try APNSClient.Endpoint(host: "127.0.0.1", port: apns.ports.manage)
            let route = APNSClient.Route(
                bundleID: Stack.bundleID, environment: .sandbox,
                key: try Signing.key(keyID: keyID, teamID: teamID, p8: secret.pemRepresentation + "\n"),
                endpoint: send, trustRoots: .pem(authority.rootPEM),
                broadcast: .init(send: send, management: management))
            try await serve(options, in: folder, apns, route, body)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        let broken = apns.requests.filter { !$0.violations.isEmpty }
        #expect(broken.isEmpty != options.breaksRule, "\(broken.map { "\($0.method) \($0.path): \($0.violations)" })")
        let end: Result<Void, any Error>
        do { end = .success(try await apns.end()) } catch { end = .failure(error) }
        try result.get()
        try end.get()
    }

    private static func serve(
        _ options: Options, in folder: URL, _ apns: ForeignAPNs, _ route: APNSClient.Route,
        _ body: @escaping @Sendable (SecondOpinion) async throws -> Void
    ) async throws {
        let store = try SQLStore(path: folder.appendingPathComponent("islet.db").path)
        defer { store.close() }
        let clock = AheadClock()
        var generator = SystemRandomNumberGenerator()
        let (key, record) = APIKey.make(
            app: Stack.bundleID, scope: .backend, at: clock.time.wall(), using: &generator)
        try await store.insertKey(record)
        var settings = Stack.Options()
        settings.policy = options.policy
        settings.machine = clock.time
        // A clock that is set forward wakes nobody.
        settings.channels.look = .milliseconds(100)
        // The client has the true time, as Apple does.
        let client = try APNSClient(routes: [route])
        let address = Promise<String>()
        let services = try Stack.services(settings, store, client, [route]) { await address.fulfil($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            let isOver = Mutex(false)
            group.addTask {
                defer { isOver.withLock { $0 = true } }
                try await services.run()
            }
            let opinion = SecondOpinion(
                apns: apns, client: client, islet: JSONCaller(await address.value) { key.text }, clock: clock)
            defer { group.cancelAll() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(opinion))
            } catch {
                result = .failure(error)
            }
            await services.triggerGracefulShutdown()
            try? await Waiting.until("the server has stopped", within: .seconds(2)) { isOver.withLock(\.self) }
            try result.get()
        }
    }

    // MARK: - The backend

    func set(_ activity: String, _ status: String, _ more: JSONObject = [:]) async throws {
        var body: JSONObject = [
            "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
            "attributes": ["orderId": .string(activity), "restaurant": "Da Mario"],
            "audience": ["users": ["alice", "bob"]],
        ]
        for (name, value) in more { body[name] = value }
        try await islet.call(.PUT, "/v1/activities/\(activity)", .object(body))
    }

    func end(_ activity: String, _ status: String) async throws {
        try await islet.call(
            .POST, "/v1/activities/\(activity)/end",
            ["state": ["status": .string(status), "progress": 1], "dismissAfter": "15m"])
    }

    func timeline(_ activity: String) async throws -> [TimelineView.Entry] {
        try await islet.call(.GET, "/v1/activities/\(activity)/timeline?limit=1000").decode(TimelineView.self).entries
    }

    /// Waits until the timeline has this many entries of a kind. It has the outcomes that the server has stored.
    func records(_ kind: String, _ count: Int = 1, of activity: String) async throws {
        try await Waiting.until("\(activity) has \(count) entries \(kind)", within: .seconds(60)) {
            try await timeline(activity).count { $0.kind == kind } >= count
        }
    }

    // MARK: - Phones

    /// Registers a phone whose app can have cards on channels.
    func register(_ phone: String) async throws {
        try await islet.call(
            .PUT, "/v1/devices/\(phone)",
            [
                "user": .string(phone), "osVersion": "18.2", "environment": "sandbox", "activitiesEnabled": true,
                "channels": true,
            ])
    }

    /// Reports the phone's card of an activity. Returns what the answer says of that activity.
    @discardableResult
    func report(
        _ state: String, of activity: String, on phone: String, _ more: JSONObject = [:]
    ) async throws -> DesiredStatesAnswer.DesiredState? {
        var body: JSONObject = ["type": "OrderTracking", "activity": .string(activity), "state": .string(state)]
        for (name, value) in more { body[name] = value }
        let answer = try await islet.call(
            .PUT, "/v1/devices/\(phone)/instances/card-of-\(activity)", .object(body)
        ).decode(DesiredStatesAnswer.self)
        return answer.activities.first { $0.activity == activity }
    }

    /// Starts a card in the app, on the channel that the answer to its announcement names.
    ///
    /// - Returns: The channel.
    @discardableResult
    func startCard(of activity: String, on phone: String) async throws -> String {
        try await register(phone)
        // The first answers may come before there is a channel.
        try await Waiting.until("\(phone) is told of a channel of \(activity)", within: .seconds(60)) {
            try await report("requesting", of: activity, on: phone)?.channel != nil
        }
        let desired = try #require(try await report("requesting", of: activity, on: phone))
        let channel = try #require(desired.channel)
        try await report(
            "active", of: activity, on: phone,
            ["channel": .string(channel), "contentState": .object(desired.state)])
        return channel
    }

    // MARK: - APNs

    /// Waits until the last broadcast to the channel that was accepted shows this state.
    func accepts(_ status: String, on channel: String) async throws {
        try await Waiting.until("APNs has accepted \(status)", within: .seconds(60)) {
            apns.broadcasts(to: channel).last { $0.status == 200 }?.shown == status
        }
    }
}

/// The machine's clocks, which a test can set forward.
final class AheadClock: Sendable {
    private let ahead = Mutex(Duration.zero)

    var time: TimeSource {
        TimeSource(
            wall: { APNSClient.liveTime.wall() + self.ahead.withLock { $0 } },
            monotonic: { APNSClient.liveTime.monotonic() + self.ahead.withLock { $0 } })
    }

    func advance(by duration: Duration) { ahead.withLock { $0 += duration } }
}
