public import APNSClient
public import APNSModel
public import JSONText
import LiveActivityCore
import LiveActivityDelivery
public import LiveActivityProviders
package import LiveActivityServer
import LiveActivityStorage
import LiveActivityTracing
public import Logging
public import ServiceLifecycle
package import StorageSQL
import StorageSQLite
import Synchronization
import Tracing

/// An Islet server as a service of your own process: the HTTP API, delivery through APNs, the database, and providers
/// written in Swift.
///
/// ```swift
/// let server = try IsletServer(configuration, providers: ["NextUp": NextUpProvider(store)])
/// try await server.run()
/// ```
///
/// The server does what `islet serve` does. Only one process at a time can use the database.
///
/// A graceful shutdown answers open requests and settles the pushes in flight. A kill loses nothing that the server has
/// answered.
public final class IsletServer: Service {
    /// Addresses, apps, routes and options of a server.
    public struct Configuration: Sendable {
        /// Address that the HTTP API binds to.
        public var host = "127.0.0.1"
        /// Port that the HTTP API binds to. With 0, the system picks a free port; see ``IsletServer/address``.
        public var port = 8080
        /// Certificate and key of the HTTP API. With `nil`, the API uses plain HTTP. The server reloads the files when
        /// they change.
        public var tls: TLS?
        /// Path of the SQLite database. The server creates a missing database.
        ///
        /// With the package trait `PostgreSQL` it may be a URL such as `postgres://islet@db.example.com/islet`. Then
        /// ``tokenKeyFile`` is needed.
        public var database = "islet.db"
        /// File of the keys that seal push tokens in the database.
        ///
        /// With `nil`, the file is the database's path followed by `.keys`, and the server creates it together with the
        /// database. A file named here must exist.
        public var tokenKeyFile: String?
        /// A Boolean value that indicates whether the server answers `GET /metrics`.
        public var metrics = true
        /// A Boolean value that indicates whether the server records spans of requests, decisions and pushes.
        ///
        /// The spans go to the tracer that the process has bootstrapped with swift-distributed-tracing's
        /// `InstrumentationSystem`.
        public var tracing = false
        /// Activity types of each app, by bundle ID.
        public var apps: [BundleID: [Kind]]
        /// Sign-in of each app's people, by bundle ID. For an app without an entry, the backend makes the calls of its
        /// phones.
        public var people: [BundleID: People] = [:]
        /// Endpoints that receive the events of each app, by bundle ID.
        public var webhooks: [BundleID: [Webhook]] = [:]
        /// APNs keys and endpoints, for each app and environment.
        public var routes: [APNSClient.Route]
        /// Maximum number of people per second that each provided type computes in the background.
        ///
        /// The limit applies to work that no caller waits for, such as local midnights and whole populations.
        public var refreshesPerSecond = 100

        /// Creates a configuration from apps with their types, and the routes of their pushes.
        public init(apps: [BundleID: [Kind]], routes: [APNSClient.Route]) {
            self.apps = apps
            self.routes = routes
        }
    }

    /// A TLS certificate and its private key, as files.
    public struct TLS: Sendable, Hashable {
        /// Path of the certificate chain, leaf first, in PEM form.
        public var certificate: String
        /// Path of the leaf's private key, in PEM form.
        public var key: String

        /// Creates a pair from the paths of its files.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// An activity type. Every setting that is missing here has the default that `islet config reference` prints.
    public struct Kind: Sendable {
        /// Name of the type in the HTTP API.
        public var name: String
        /// Name of the app's `ActivityAttributes` type, exactly as in Swift.
        public var attributesType: String
        /// Place in the attributes that holds the activity's id, which the server fills in. `nil` if the attributes do
        /// not hold it.
        public var activityIDAttribute: JSONPointer?
        /// Alert of a start whose state brings no alert.
        ///
        /// Without any alert, the server starts no card by push, because a phone drops such a start.
        public var startAlert: PushAlert?
        /// Condition under which a card comes back after the person swiped it away or after it vanished.
        public var restart = Restart.never
        /// Time that a start waits for a phone that was just in contact, because its app may be starting the card
        /// itself.
        public var startGrace = Duration.seconds(15)
        /// Time for which a state counts as fresh after it was last computed or set. With `nil`, cards have no stale
        /// date.
        public var staleAfter: Duration?

        /// Rule for a phone with its own credential that reports a card of an activity.
        public var join = Join.audience

        /// Way in which states reach the phones.
        ///
        /// With `channel` and `auto`, everybody may see what anybody sees: an app can follow a broadcast channel whose
        /// id it knows.
        public var delivery = Delivery.token

        /// A way to the phones.
        public enum Delivery: String, Sendable, Hashable, CaseIterable {
            /// Each card has an update token, to which its states are pushed.
            case token
            /// New cards are on a broadcast channel of their activity, where the phone has iOS 18.
            case channel
            /// New cards are on a channel if the activity has at least 50 phones, or if everybody may join it.
            case auto
        }

        /// The people who join an activity when their phone reports a card of it.
        public enum Join: String, Sendable, Hashable, CaseIterable {
            /// The people of the activity's audience.
            case audience
            /// Everybody who can name the activity.
            case open
        }

        /// The event that brings a card back.
        public enum Restart: String, Sendable, Hashable, CaseIterable {
            /// No event.
            case never
            /// The next state with an alert.
            case onAlert
            /// The next state.
            case always
        }

        /// Creates a type.
        ///
        /// With an alert, the server starts cards by push on phones that support it. With `nil`, only the app starts
        /// cards.
        public init(_ name: String, attributesType: String, startAlert: PushAlert?) {
            self.name = name
            self.attributesType = attributesType
            self.startAlert = startAlert
        }
    }

    /// Permissions of a key for the HTTP API.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Every call of the key's app.
        case backend
        /// Calls of phones: reports of devices, tokens and cards.
        case device
        /// Reading only.
        case read
    }

    /// An error that says why the server cannot be created, or why a call to it failed.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// Message for people: the problem, and where it is.
        public let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// Configuration as of the last change.
    package var parts: ServerParts { current.withLock(\.self) }
    let current: Mutex<ServerParts>
    let store: SQLStore
    let memory: ServerMemory
    let registry = MetricsRegistry()
    let desk: NodeDesk
    let first: Generation
    let api: Succession
    let delivery: Succession
    /// Changes of the configuration, one at a time.
    let changes = AsyncLock()
    /// `true` once nobody may be seated at the desk any more.
    let isOver = Mutex(false)
    let listening = Listening()

    /// Opens the database, or creates it. The server answers requests while ``run()`` runs.
    ///
    /// - Parameters:
    ///   - configuration: Addresses, apps and routes to serve.
    ///   - providers: Provider of each activity type, by the type's name. Every name must be a type of at least one
    ///     app.
    ///   - options: Options of the providers.
    ///   - logger: Logger of the server. At level `notice`, the server logs little.
    /// - Throws: ``Failure`` if the database cannot be opened or is in use. ``Failure`` if parts of the configuration
    ///   contradict each other. `APNSClientError` for an invalid route.
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
            guard !found.isEmpty else { throw Failure("a provider is set for the type `\(name)`, which no app has") }
            for (app, type) in found {
                parts.providers.append(
                    RefreshService.Provider(app: app, type: type, deadline: options.deadline) {
                        question throws(RefreshFailure) in try await provider.answer(to: question)
                    })
            }
        }
        try self.init(parts: parts, database: DatabaseLocation(configuration.database))
    }

    /// - Parameters:
    ///   - node: This process among several on the database; `nil`: it is the only one.
    ///   - desk: Desk of listeners that outlive the server; `nil`: the server has its own.
    package convenience init(
        parts: ServerParts, database: DatabaseLocation, node: DatabaseNode? = nil, desk: NodeDesk? = nil
    ) throws {
        let client = try parts.makeClient()
        let store: SQLStore
        do throws(StorageError) {
            store = try database.open(
                for: .serving, tokenKeys: parts.tokenKeys, needsStandby: parts.needsStandby, node: node,
                faultPoints: parts.faultPoints)
        } catch {
            throw Failure("\(error)")
        }
        self.init(parts: parts, store: store, client: client, desk: desk)
        if let restore = store.database.assumedRestore {
            parts.logger.warning(
                """
                the database counts as restored: cards that may have been started and alerts that may have been given \
                since its last change are not repeated. Have your backend set its activities again, those that it \
                lacks with "start": "appOnly"
                """,
                metadata: [
                    "reason": "\(restore.reason)", "lastChange": "\(restore.madeAt)",
                    "heldStarts": "\(restore.changes.starts)", "spentAlerts": "\(restore.changes.alerts)",
                ])
        }
        if let made = store.madeTokenKeys {
            parts.logger.notice(
                "created the keys that seal push tokens: keep a copy of them apart from the database's backups",
                metadata: ["file": "\(made)"])
        }
    }

    /// Creates a server on an open database.
    package init(parts: ServerParts, store: SQLStore, client: APNSClient, desk: NodeDesk? = nil) {
        current = Mutex(parts)
        self.store = store
        memory = ServerMemory(parts.limits)
        self.desk = desk ?? NodeDesk {}
        first = parts.generation(store, client, desk: self.desk, memory: memory, registry: registry)
        api = Succession(first.api)
        delivery = Succession(first.delivery)
        first.server.takeSeat()
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
        policy.delivery =
            switch kind.delivery {
            case .token: .token
            case .channel: .channel
            case .auto: .auto
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

    /// Serves until its task is canceled or its service group shuts down gracefully. Then it closes the database.
    ///
    /// - Throws: An error if the port cannot be bound.
    public func run() async throws {
        try await run(signals: []) { _ in }
    }

    /// Address of the server, `http://host:port`, or `https://host:port` with TLS.
    ///
    /// Waits until the server listens; `nil` if the server ended before.
    public var address: String? {
        get async { await listening.address }
    }
}
