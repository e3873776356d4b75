import APNSClient
import APNSModel
import APNSSimulator
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityStorage
import Logging
import ServiceLifecycle
import StorageSQL
import StorageSQLite
import Synchronization
import Testing

@testable import islet

/// Everything real in one process: database file, HTTP API, delivery, HTTP/2 and TLS, and the simulator with its
/// phones.
struct Stack: Sendable {
    static let bundleID = BundleID("com.example.pizza").unsafelyUnwrapped

    let simulator: APNSSimulator
    let client: APNSClient
    let store: SQLStore
    let islet: JSONCaller
    let address: String
    let key: String
    let directory: URL
    let app: ExampleApp

    struct Options: Sendable {
        /// The app on the phones and on the server.
        var app = OrderPlay.app
        /// The app's activity types; `nil` for the order's type with the policy below.
        var types: [ActivityType]?
        var policy = Stack.policy
        var limits = Dispatcher.Limits()
        var deviceLimits = DeviceLimits()
        var activityIDAttribute: String? = "/orderId"
        var environments: Set<APNSEnvironment> = [.sandbox]
        /// The topics that the key may push to; all when `nil`.
        var topics: Set<BundleID>?
        /// The provider of each type whose states are computed.
        var providers: [String: RefreshService.Provider.Ask] = [:]
        var zones: any ZoneSource = ZoneDirectory()
        /// Signs tokens of the apps' people, which the apps use instead of a key; `nil` for a key.
        var people: PersonMinter?

        var bundleID: BundleID { BundleID(app.bundleID) ?? Stack.bundleID }

        /// The server's random bits; `nil`: random ones.
        var dice: (@Sendable () -> UInt64)?
        /// The machine's clocks, as the server reads them.
        var machine = APNSClient.liveTime
        var channels = ChannelService.Limits()

        /// Makes the options of another system's app, configured like its play except for the waits.
        init(_ app: ExampleApp, _ change: (inout TypePolicy) -> Void = { _ in }) throws {
            self.app = app
            var types = try Stack.types(of: app)
            for index in types.indices { change(&types[index].policy) }
            self.types = types
        }

        init() {}
    }

    /// Returns the activity types of an app as the server reads them from its configuration.
    private static func types(of app: ExampleApp) throws -> [ActivityType] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("islet.yaml")
        let text = """
            apps:
              - bundleID: \(app.bundleID)
                apns: {sandbox: {keyEnvironment: P8, keyID: ABC123DEFG, teamID: XYZ987MNOP}}
            \(app.configuration(startGrace: "0s"))
            """
        try Data(text.utf8).write(to: file)
        try app.writeContracts(into: folder)
        let settings = try ConfigurationLoader.load(file.path, environment: ["P8": SimulatorProviderKey.fresh().p8])
        return settings.apps.flatMap { $0.types.values }
    }

    static var policy: TypePolicy {
        var policy = TypePolicy()
        policy.startGrace = .zero
        policy.startAlert = AlertTemplate(PushAlert(title: .text("Your order"), body: .text("Follow it here")))
        return policy
    }

    /// Starts everything, runs the body, and stops everything.
    static func run(
        _ options: Options = Options(), _ body: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        try await Turns.ofSystems.take { try await runNow(options, body) }
    }

    private static func runNow(
        _ options: Options, _ body: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try SQLStore(path: directory.appendingPathComponent("islet.db").path)
        defer { store.close() }
        var generator = SystemRandomNumberGenerator()
        let (apiKey, record) = APIKey.make(
            app: options.bundleID, scope: .backend, at: APNSClient.liveTime.wall(), using: &generator)
        try await store.insertKey(record)

        // One key for each environment: APNs refuses a token that the other environment's key signed.
        let keys = options.environments.map { environment in
            (environment, APNSSimulator.ProviderKeyAlias.fresh(environments: [environment], topics: options.topics))
        }
        let address = Promise<String>()
        let backend = LateBackend(address: address, key: apiKey.text, people: options.people)
        var configuration = APNSSimulator.Configuration()
        configuration.ports = Dictionary(uniqueKeysWithValues: options.environments.map { ($0, 0) })
        configuration.keys = keys.map(\.1.key)
        configuration.deviceLimits = options.deviceLimits
        let simulator = try APNSSimulator(configuration, backend: backend)

        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await simulator.run() }
            let ports = try await simulator.started
            let routes = try keys.map { environment, key in
                let endpoint = try APNSClient.Endpoint(host: ports.host, port: ports.ports[environment] ?? 0)
                let management = try APNSClient.Endpoint(
                    host: ports.host, port: ports.managementPorts[environment] ?? 0)
                return APNSClient.Route(
                    bundleID: options.bundleID, environment: environment,
                    key: try Signing.key(keyID: key.key.keyID, teamID: key.key.teamID, p8: key.p8),
                    endpoint: endpoint, trustRoots: .pem(Array(ports.caPEM.utf8)),
                    broadcast: .init(send: endpoint, management: management))
            }
            let client = try APNSClient(routes: routes)
            let services = try services(options, store, client, routes) { await address.fulfil($0) }
            let isOver = Mutex(false)
            group.addTask {
                defer { isOver.withLock { $0 = true } }
                try await services.run()
            }
            let islet = await address.value
            let stack = Stack(
                simulator: simulator, client: client, store: store,
                islet: JSONCaller(islet) { apiKey.text }, address: islet, key: apiKey.text, directory: directory,
                app: options.app)
            defer { group.cancelAll() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(stack))
            } catch {
                result = .failure(error)
            }
            // Stop in order first: NIO requires that a connection which a phone makes at this moment is accepted.
            await services.triggerGracefulShutdown()
            try? await Waiting.until("the server has stopped", within: .seconds(2)) { isOver.withLock(\.self) }
            try result.get()
        }
    }

    /// Returns the services of `islet serve`, in its order.
    static func services(
        _ options: Options, _ store: SQLStore, _ client: APNSClient, _ routes: [APNSClient.Route],
        _ onListening: @escaping @Sendable (String) async -> Void
    ) throws -> ServiceGroup {
        var settings = AppSettings(
            bundleID: options.bundleID,
            types: try options.types ?? orderTypes(options), environments: options.environments)
        for name in options.providers.keys { settings.types[name]?.isProvided = true }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var parts = ServerParts(
            apps: [settings], routes: routes, version: Islet.version, machine: options.machine, logger: logger)
        parts.port = 0
        // Only the pushes to phones are counted.
        parts.asksTheTime = false
        parts.delivery = options.limits
        parts.channelLimits = options.channels
        if let dice = options.dice { parts.dice = dice }
        parts.zones = options.zones
        parts.people = try options.people.map { [options.bundleID: try $0.people] } ?? [:]
        for (name, ask) in options.providers {
            guard let type = settings.types[name] else { continue }
            parts.providers.append(.init(app: settings.bundleID, type: type, ask: ask))
        }
        let server = IsletServer(parts: parts, store: store, client: client)
        let services = server.services { await onListening($0.description) }
        return ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: logger))
    }

    private static func orderTypes(_ options: Options) throws -> [ActivityType] {
        [
            ActivityType(
                name: "OrderTracking", attributesType: "OrderTrackingAttributes",
                activityIDAttribute: try options.activityIDAttribute.map { try JSONPointer($0) },
                policy: options.policy)
        ]
    }

    // MARK: - Phones

    /// Adds a phone whose app has registered with the server.
    @discardableResult
    func phone(_ user: String, _ change: (inout PhoneSpecification) -> Void = { _ in }) async throws -> PhoneID {
        var specification = PhoneSpecification(user: user, bundleID: BundleID(app.bundleID) ?? Self.bundleID)
        specification.id = PhoneID(user)
        for type in app.types { specification.installs(type.onPhones) }
        change(&specification)
        let id = try simulator.addPhone(specification)
        if specification.isOnline { try await reported(id) }
        return id
    }

    /// Checks that no phone got two pushes within a second, however long a test took.
    ///
    /// Timestamps of a phone's pushes grow by at least a second. Pushes in quick succession therefore run ahead of the
    /// clock, by one second for each push too many. The timestamps may be ahead from the beginning. A phone that got
    /// the state in the answer to its own call gets no push.
    func sentNothingAhead(after count: Int, _ place: SourceLocation = #_sourceLocation) {
        let pushes = simulator.received.filter { $0.number > count }
        let leads = pushes.map { ($0.timestamp ?? 0) - Int($0.at.seconds) }
        guard let first = leads.first else { return }
        // One more because of rounding.
        #expect(leads.allSatisfy { $0 <= first + 1 }, "\(leads)", sourceLocation: place)
    }

    /// Waits until all of a phone's reports have arrived.
    func reported(_ phone: PhoneID) async throws {
        try await simulator.wait(for: phone, timeout: .seconds(90)) { $0.waitingReports == 0 }
    }

    /// Starts a card in the app on a phone that is on the screen. Returns when the server knows it.
    func startLocally(_ start: PhoneAction.LocalStart, on phone: PhoneID) async throws -> String {
        let before = Set(try simulator.lockScreen(of: phone).cards.map(\.localID))
        try simulator.perform(.startLocally(start), on: phone)
        let screen = try await simulator.wait(for: phone, timeout: .seconds(90)) { screen in
            screen.waitingReports == 0 && screen.cards.contains { !before.contains($0.localID) }
        }
        guard let card = screen.cards.first(where: { !before.contains($0.localID) }) else {
            throw DemoFailure("no card was started")
        }
        return card.localID
    }

    /// Waits until a phone shows exactly one card, in this status.
    @discardableResult
    func shows(_ status: String, on phone: PhoneID, state: Card.State = .active) async throws -> LockScreen {
        try await simulator.wait(for: phone, timeout: .seconds(90)) { screen in
            screen.cards.count == 1 && screen.cards[0].state == state
                && screen.cards[0].contentState["status"]?.string == status
        }
    }

    // MARK: - The server

    @discardableResult
    func set(
        _ activity: String, _ status: String, people: [String], _ more: JSONObject = [:]
    ) async throws -> ActivityAnswer {
        var body: JSONObject = [
            "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
            "attributes": ["orderId": .string(activity), "restaurant": "Da Mario"],
            "audience": ["users": .array(people.map(JSONValue.string))],
        ]
        for (name, value) in more { body[name] = value }
        return try await islet.call(.PUT, "/v1/activities/\(activity)", .object(body)).decode(ActivityAnswer.self)
    }

    func end(_ activity: String, _ body: JSONObject = [:]) async throws {
        try await islet.call(.POST, "/v1/activities/\(activity)/end", .object(body))
    }

    func view(_ activity: String) async throws -> ActivityView {
        try await islet.call(.GET, "/v1/activities/\(activity)").decode(ActivityView.self)
    }

    func device(_ id: String, of activity: String) async throws -> DeviceView? {
        try await view(activity).devices.first { $0.device == id }
    }

    func timeline(_ activity: String) async throws -> [TimelineView.Entry] {
        try await islet.call(.GET, "/v1/activities/\(activity)/timeline?limit=1000").decode(TimelineView.self).entries
    }

    /// Waits until the server's view of a phone satisfies the condition.
    @discardableResult
    func device(
        _ id: String, of activity: String, _ what: String, until isWanted: @escaping @Sendable (DeviceView) -> Bool
    ) async throws -> DeviceView {
        try await Waiting.until("\(id): \(what)", within: .seconds(90)) {
            try await device(id, of: activity).map(isWanted) ?? false
        }
        guard let view = try await device(id, of: activity) else { throw DemoFailure("\(id) is gone") }
        return view
    }
}

/// A value that becomes known later.
actor Promise<Value: Sendable> {
    private var known: Value?
    private var waiters: [CheckedContinuation<Value, Never>] = []

    var value: Value {
        get async {
            if let known { return known }
            return await withCheckedContinuation { waiters.append($0) }
        }
    }

    func fulfil(_ value: Value) {
        known = value
        for waiter in waiters { waiter.resume(returning: value) }
        waiters = []
    }
}

/// The phones' connection to a server whose address is known once it listens.
struct LateBackend: PhoneBackend {
    let address: Promise<String>
    let key: String
    let people: PersonMinter?

    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        let key = try people.map { try $0.token(request.person ?? "nobody") } ?? self.key
        let backend = HTTPPhoneBackend(islet: JSONCaller(await address.value) { key })
        return try await backend.call(phone, request)
    }
}
