public import APNSClient
public import APNSModel
public import JSONText
import LiveActivityCore
import LiveActivityDelivery
public import LiveActivityProviders
import LiveActivityServer
import LiveActivityStorage
import LiveActivityTracing
public import Logging
public import ServiceLifecycle
import StorageSQLite
import Synchronization
import Tracing
package import UnixSignals

/// Islet as a service of your own process: the HTTP API, delivery through APNs, the database, and providers in code.
///
/// ```swift
/// let server = try IsletServer(configuration, providers: ["NextUp": NextUpProvider(store)])
/// try await server.run()
/// ```
///
/// It does what `islet serve` does. One process at a time has the database. Stopping it gracefully answers open
/// requests and settles the pushes that are on their way; a kill loses nothing that was answered.
public final class IsletServer: Service {
    /// What a server serves.
    public struct Configuration: Sendable {
        /// The address that the HTTP API is bound to.
        public var host = "127.0.0.1"
        /// 0 takes any free port: see ``IsletServer/address``.
        public var port = 8080
        /// The certificate and its key; nil: the HTTP API speaks plain HTTP. Files that change are read anew.
        public var tls: TLS?
        /// The path of the SQLite database, which is made when it is missing.
        public var database = "islet.db"
        /// The file of the keys that seal push tokens in the database; nil: the database's path with `.keys` behind
        /// it, made with the database. One that is named must be there.
        public var tokenKeyFile: String?
        /// Whether `GET /metrics` answers.
        public var metrics = true
        /// Whether requests, decisions and pushes are told, as spans, to the tracer that the process has bootstrapped
        /// (swift-distributed-tracing's `InstrumentationSystem`).
        public var tracing = false
        /// The activity types of each app, by bundle id.
        public var apps: [BundleID: [Kind]]
        /// How the people of each app prove who they are; an app without an entry has phones called for by its backend.
        public var people: [BundleID: People] = [:]
        /// The endpoints that each app's events are told to, by bundle id.
        public var webhooks: [BundleID: [Webhook]] = [:]
        /// The keys and endpoints of each app and environment.
        public var routes: [APNSClient.Route]
        /// How many people of a type are computed in a second, of those whom nobody waits for: local midnights, and
        /// whole populations.
        public var refreshesPerSecond = 100

        /// Apps with their types, and the routes of their pushes.
        public init(apps: [BundleID: [Kind]], routes: [APNSClient.Route]) {
            self.apps = apps
            self.routes = routes
        }
    }

    /// A certificate and its key.
    public struct TLS: Sendable, Hashable {
        /// The path of the chain, leaf first, in PEM form.
        public var certificate: String
        /// The path of the leaf's private key, in PEM form.
        public var key: String

        /// A certificate and its key, by their paths.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// An activity type. What is not said here has the defaults of `islet config reference`.
    public struct Kind: Sendable {
        /// What the HTTP API calls it.
        public var name: String
        /// The Swift name of the app's `ActivityAttributes` type, exactly.
        public var attributesType: String
        /// Where the attributes name the activity, if they do; filled by the server.
        public var activityIDAttribute: JSONPointer?
        /// What a start says when the state brings no alert. Without one, no card is started by push: a phone drops a
        /// start without an alert.
        public var startAlert: PushAlert?
        /// Whether a card comes back that the person swiped away or that vanished.
        public var restart = Restart.never
        /// How long a start waits for a phone that was just in touch: its app may be starting the card itself.
        public var startGrace = Duration.seconds(15)
        /// How long a state counts as fresh after it was last computed or set; nil: cards have no stale date.
        public var staleAfter: Duration?

        /// Whom a phone that calls by itself lets in on an activity by reporting a card of it.
        public var join = Join.audience

        /// Who takes part in an activity on their phone's word.
        public enum Join: String, Sendable, Hashable, CaseIterable {
            /// The people of its audience.
            case audience
            /// Everybody who can name it.
            case open
        }

        /// What brings a card back.
        public enum Restart: String, Sendable, Hashable, CaseIterable {
            /// Nothing.
            case never
            /// The next state with an alert.
            case onAlert
            /// The next state.
            case always
        }

        /// A type that is started by push where the phone can, with this alert.
        public init(_ name: String, attributesType: String, startAlert: PushAlert?) {
            self.name = name
            self.attributesType = attributesType
            self.startAlert = startAlert
        }
    }

    /// What a key for the HTTP API may do.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Everything of its app.
        case backend
        /// What phones report, and reading.
        case device
        /// Reading alone.
        case read
    }

    /// Why a server cannot be made, or does not do what it was asked.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// For people: what is wrong, and where.
        public let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private let parts: ServerParts
    private let store: SQLiteStore
    private let client: APNSClient
    private let listening = Listening()

    /// Opens or makes the database. The server answers once ``run()`` runs.
    ///
    /// - Parameters:
    ///   - providers: Who computes what, by activity type. A name that no app has is refused.
    ///   - logger: Where the server logs; `notice` is quiet.
    /// - Throws: ``Failure`` when the database cannot be opened or is in use, or something does not fit together;
    ///   `APNSClientError` for a route that cannot be taken.
    public convenience init(
        _ configuration: Configuration, providers: [String: any ActivityProvider] = [:],
        options: ProviderOptions = ProviderOptions(), logger: Logger = Logger(label: "islet")
    ) throws {
        var parts = ServerParts(
            apps: configuration.apps.sorted { $0.key.text < $1.key.text }.map { app, kinds in
                AppSettings(
                    bundleID: app, types: kinds.map { Self.type($0, isProvided: providers[$0.name] != nil) },
                    environments: Set(configuration.routes.filter { $0.bundleID == app }.map(\.environment)))
            }, routes: configuration.routes, version: "embedded", logger: logger)
        parts.host = configuration.host
        parts.port = configuration.port
        if let tls = configuration.tls {
            do throws(CertificateProblem) {
                parts.certificates = try Certificates(.init(certificate: tls.certificate, key: tls.key))
            } catch {
                throw Failure("\(error)")
            }
        }
        parts.people = try configuration.appPeople()
        parts.webhooks = try configuration.appWebhooks()
        parts.metrics = configuration.metrics
        if configuration.tracing { parts.traces = Traces(InstrumentationSystem.tracer) }
        parts.tokenKeys = configuration.tokenKeyFile.map { .file($0, isMade: false) }
        parts.refreshes.perSecond = configuration.refreshesPerSecond
        for (name, provider) in providers.sorted(by: { $0.key < $1.key }) {
            let found = parts.apps.compactMap { app in app.types[name].map { (app.bundleID, $0) } }
            guard !found.isEmpty else { throw Failure("no app has the activity type `\(name)` of a provider") }
            for (app, type) in found {
                parts.providers.append(
                    RefreshService.Provider(app: app, type: type, deadline: options.deadline) {
                        question throws(RefreshFailure) in try await provider.answer(to: question)
                    })
            }
        }
        try self.init(parts: parts, database: configuration.database)
    }

    package init(parts: ServerParts, database: String) throws {
        self.parts = parts
        client = try parts.makeClient()
        do throws(StorageError) {
            store = try SQLiteStore(path: database, tokenKeys: parts.tokenKeys, faultPoints: parts.faultPoints)
        } catch {
            throw Failure("\(error)")
        }
        if let made = store.madeTokenKeys {
            parts.logger.notice(
                "made the keys that seal push tokens: keep a copy of them apart from the database's backups",
                metadata: ["file": "\(made)"])
        }
    }

    private static func type(_ kind: Kind, isProvided: Bool) -> ActivityType {
        var policy = TypePolicy()
        policy.startAlert = kind.startAlert.flatMap { AlertTemplate($0) }
        policy.start = kind.startAlert == nil ? .appOnly : .ifPossible
        policy.startGrace = kind.startGrace
        policy.staleAfter = kind.staleAfter
        policy.join =
            switch kind.join {
            case .audience: .audience
            case .open: .open
            }
        policy.restart =
            switch kind.restart {
            case .never: .never
            case .onAlert: .onAlert
            case .always: .always
            }
        var type = ActivityType(
            name: kind.name, attributesType: kind.attributesType, activityIDAttribute: kind.activityIDAttribute,
            policy: policy)
        type.isProvided = isProvided
        return type
    }

    /// Serves until its task is cancelled or its service group shuts down gracefully; then the database is closed.
    ///
    /// - Throws: When the port cannot be bound.
    public func run() async throws {
        try await run(signals: []) { _ in }
    }

    /// The same as a program of its own, which signals stop.
    package func run(signals: [UnixSignal], onListening: @escaping @Sendable (String) -> Void) async throws {
        defer {
            listening.end()
            store.close()
        }
        let listening = listening
        let services = parts.services(store, client) { address in
            listening.begin(address.description)
            onListening(address.description)
        }
        var all = services
        // Another process's signals are its own.
        if !signals.isEmpty, let watch = parts.certificateWatch { all.append(HangUps(watch: watch)) }
        let group = ServiceGroup(
            configuration: .init(
                services: all.map { .init(service: $0) }, gracefulShutdownSignals: signals,
                logger: parts.logger))
        try await group.run()
    }

    /// Where the server listens, `http://host:port`, as soon as it does; nil when it ended before.
    public var address: String? {
        get async { await listening.address }
    }

    // MARK: - What the process itself asks for

    /// Has the providers compute anew what a person should see: soon, in the background, and once however often asked.
    ///
    /// Durable when it returns. - Returns: How many types are computed; 0 for a person without a device.
    ///
    /// - Parameter type: The one activity type; nil: every type that has a provider.
    /// - Throws: ``Failure`` for an unknown app or type, a bad id, or a database that fails.
    @discardableResult
    public func refresh(_ user: String, of app: BundleID, type: String? = nil) async throws -> Int {
        guard let settings = parts.apps.first(where: { $0.bundleID == app }) else {
            throw Failure("there is no app \(app)")
        }
        if let type, !settings.providedTypes.contains(type) { throw Failure("`\(type)` has no provider") }
        let id: UserID
        do throws(ForeignIDError) { id = try UserID(user) } catch { throw Failure("\(error)") }
        let command = AskRefresh(
            app: app, users: [id], types: type.map { [$0] } ?? settings.providedTypes, pace: .prompt,
            now: parts.time.wall())
        do throws(StorageError) {
            guard case .success(let reply) = try await store.commit(command) else { return 0 }
            return reply.asked
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Makes a key for the HTTP API. It is shown this once: the database keeps a hash.
    ///
    /// - Throws: ``Failure`` for an app that is not served, or a database that fails.
    public func makeKey(for app: BundleID, scope: Scope) async throws -> String {
        guard parts.apps.contains(where: { $0.bundleID == app }) else { throw Failure("there is no app \(app)") }
        let wanted: APIKeyRecord.Scope =
            switch scope {
            case .backend: .backend
            case .device: .device
            case .read: .read
            }
        var generator = SystemRandomNumberGenerator()
        let (key, record) = APIKey.make(app: app, scope: wanted, at: parts.time.wall(), using: &generator)
        do throws(StorageError) {
            try await store.insertKey(record)
        } catch {
            throw Failure("\(error)")
        }
        return key.text
    }
}

/// SIGHUP: the certificates are read anew at once.
private struct HangUps: Service {
    let watch: CertificateWatch

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { watch.look() }
    }
}

/// An address that is known once a server listens.
private final class Listening: Sendable {
    private struct State {
        var address: String?
        var isOver = false
        var waiters: [CheckedContinuation<String?, Never>] = []
    }

    private let state = Mutex(State())

    var address: String? {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> String?? in
                    if let address = state.address { return .some(address) }
                    if state.isOver { return .some(nil) }
                    state.waiters.append(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    func begin(_ address: String) { tell(address, isOver: false) }
    func end() { tell(nil, isOver: true) }

    private func tell(_ address: String?, isOver: Bool) {
        let waiters = state.withLock { state in
            state.address = state.address ?? address
            state.isOver = isOver
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: address) }
    }
}
