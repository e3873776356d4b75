package import APNSClient
package import APNSModel
package import JSONText
package import LiveActivityAPI
package import LiveActivityCore
package import LiveActivityDelivery
package import LiveActivityProviders
package import LiveActivityServer
package import LiveActivityStorage
package import LiveActivityTracing
package import Logging
package import ServiceLifecycle
package import StorageSQL
import StorageSQLite

/// The parts of a server and their connections, shared by `islet serve` and by programs that embed a server.
package struct ServerParts: Sendable {
    /// A backend that computes the states of a type.
    package struct Backend: Sendable {
        package var app: BundleID
        package var type: String
        package var target: HTTPProvider.Target

        package init(app: BundleID, type: String, target: HTTPProvider.Target) {
            self.app = app
            self.type = type
            self.target = target
        }
    }

    /// An endpoint that receives an app's events.
    package struct Webhook: Sendable {
        package var key: WebhookKey
        /// Kinds of events to send; `nil`: all.
        package var kinds: Set<EventRecord.Kind>?
        package var target: HTTPProvider.Target

        package init(key: WebhookKey, kinds: Set<EventRecord.Kind>?, target: HTTPProvider.Target) {
            self.key = key
            self.kinds = kinds
            self.target = target
        }

        /// Returns `true` for 1 to 64 letters, digits, `-`, `_` and `.`, because names are printed and typed on command
        /// lines.
        package static func isName(_ text: String) -> Bool {
            (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_.".utf8.contains(byte)
                        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & ~0x20)
                }
        }
    }

    /// Sign-in of an app's people.
    package struct AppPeople: Sendable {
        package enum Keys: Sendable {
            case fixed([PersonTokenKey])
            /// A key set at a URL. With `allowPrivate`, the URL may be plain HTTP and may lead to a private network.
            case set(url: String, refresh: Duration?, allowPrivate: Bool)
        }

        package var issuers: [String]
        package var audience: String
        package var algorithms: Set<TokenAlgorithm>
        package var keys: Keys
        package var user: JSONPointer
        package var leeway: Duration

        package init(
            issuers: [String], audience: String, algorithms: Set<TokenAlgorithm>, keys: Keys, user: JSONPointer,
            leeway: Duration
        ) {
            self.issuers = issuers
            self.audience = audience
            self.algorithms = algorithms
            self.keys = keys
            self.user = user
            self.leeway = leeway
        }
    }

    package var apps: [AppSettings]
    package var people: [BundleID: AppPeople] = [:]
    /// Idle time after which the server rejects a phone's own credential.
    package var credentialIdleLimit = Duration.seconds(90 * 86_400)
    package var routes: [APNSClient.Route]
    package var host = "127.0.0.1"
    package var port = 8080
    /// Socket that is already bound, in place of host and port.
    package var socket: CInt?
    /// Certificates of the HTTP API. With `nil`, it uses plain HTTP.
    package var certificates: Certificates?
    package var limits = LiveActivityServer.Limits()
    /// `true` if the server answers `GET /metrics`.
    package var metrics = true
    /// `true` if `GET /metrics` needs a key of the scope `read`.
    package var metricsNeedKey = false
    /// Separate address for `GET /metrics`.
    package var metricsListener: LiveActivityServer.MetricsListener?
    /// `true` if `/` is the console.
    package var console = true
    /// Returns 64 unpredictable random bits at each call.
    package var dice: @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
    /// Returns the servers that share the database.
    package var nodes: @Sendable () -> NodeList = { NodeList(nodes: []) }
    /// Simulator whose phones the console shows, in development.
    package var simulator: SimulatorControl?
    /// Runner of policy trials on a recorded day; `nil`: trials are not available.
    package var trials: PolicyTrials?
    package var version: String
    /// Options of the connections to APNs.
    package var connections = APNSClient.Options()
    /// Retention time of data that is over.
    package var keep = PruneLimits()
    /// Source of the keys that seal push tokens; `nil`: a file beside the database.
    package var tokenKeys: TokenKeySource?
    /// `true` to refuse changes while PostgreSQL names no synchronous standby.
    package var needsStandby = false
    package var backends: [Backend] = []
    package var webhooks: [Webhook] = []
    package var webhookLimits = WebhookService.Limits()
    package var providers: [RefreshService.Provider] = []
    package var refreshes = RefreshService.Limits()
    package var delivery = Dispatcher.Limits()
    package var channelLimits = ChannelService.Limits()
    package var zones: any ZoneSource = ZoneDirectory()
    /// Clocks of the machine. The server's corrected clock and the client both derive from them.
    private let machine: TimeSource
    private let clock: ReferenceClock
    private let startedAt: UnixTime
    /// Destination of spans; `nil`: there are no spans.
    package var traces: Traces?
    /// Services that run beside the server. They start before it and stop after it.
    package var companions: [any Service] = []
    /// `true` if the server asks APNs for the time before the first push.
    package var asksTheTime = true
    package var faultPoints = FaultPoints()
    package var logger: Logger

    package init(
        apps: [AppSettings], routes: [APNSClient.Route], version: String, machine: TimeSource = APNSClient.liveTime,
        logger: Logger
    ) {
        self.apps = apps
        self.routes = routes
        self.version = version
        self.machine = machine
        self.logger = logger
        clock = ReferenceClock(wall: machine.wall, elapsed: machine.monotonic)
        startedAt = machine.wall()
    }

    /// Time that the server writes and decides by.
    package var time: TimeSource { clock.time }

    /// Creates the client, which reports the dates of APNs's answers to the server's clock.
    ///
    /// The client reads the same monotonic clock as the dispatcher: one makes a lease and the other checks it. Its wall
    /// clock is the machine's own, because it measures the distance between that clock and APNs's.
    package func makeClient() throws(APNSClientError) -> APNSClient {
        var options = connections
        let clock = clock
        options.dateReceived = { clock.learn($0) }
        return try APNSClient(routes: routes, time: machine, options: options, logger: logger)
    }

    private var loggedMetricsListener: LiveActivityServer.MetricsListener? {
        metricsListener.map { [logger] listener in
            LiveActivityServer.MetricsListener(host: listener.host, port: listener.port) { address in
                logger.notice("metrics are served", metadata: ["address": "\(address)"])
                await listener.onListening(address)
            }
        }
    }

    /// Addresses, certificates and limits of the HTTP API.
    package var listening: LiveActivityServer.Configuration {
        var listening = LiveActivityServer.Configuration(apps: apps)
        listening.host = host
        listening.port = port
        listening.socket = socket
        listening.nodes = nodes
        listening.certificates = certificates
        listening.limits = limits
        listening.metricsListener = loggedMetricsListener
        return listening
    }

    /// Creates the services of this configuration.
    ///
    /// - Parameters:
    ///   - desk: Desk of the listeners, which outlive the configuration.
    ///   - memory: State that outlives the configuration.
    ///   - registry: Metrics, which outlive it too.
    func generation(
        _ store: SQLStore, _ client: APNSClient, desk: NodeDesk, memory: ServerMemory, registry: MetricsRegistry
    ) -> Generation {
        let time = time
        let node = Int64(bitPattern: dice())
        let question = TimeQuestion(to: client, asksTheTime ? routes.first : nil, time, dice)
        let dispatcher = Dispatcher(
            store: store, sender: client, apps: apps, time: time, node: node, dice: dice, limits: delivery,
            faultPoints: faultPoints, metrics: DeliveryMetrics(factory: registry), traces: traces, logger: logger,
            beforeClaim: { [clock] in if clock.doubts() { await question.ask() } },
            mayClaimAtOnce: { [clock] in !clock.isInDoubt })
        let connections = ProviderConnections()
        let server = server(
            store, client, connections, desk, memory, registry, troubled: { dispatcher.troubledRoutes })
        let cleanUp = CleanUp(store: store, apps: apps, limits: keep, logger: logger)
        // Pruning waits until APNs has said the time: by a clock that is ahead, everything is old enough to erase.
        let pruner = Pruner(
            time: time, logger: logger,
            mayPrune: { [clock] in
                if question.isPossible, !clock.hasHeard { await question.ask() }
                return clock.hasHeard || !question.isPossible
            },
            prune: { now throws(StorageError) in try await cleanUp.page(at: now) })
        var timed: [any Service] = [dispatcher]
        let all = providers + asked(connections)
        if !all.isEmpty {
            timed.append(
                RefreshService(
                    store: store, providers: all, zones: zones, time: time, node: node, dice: dice,
                    limits: refreshes, metrics: RefreshMetrics(factory: registry), logger: logger))
        }
        // It also ends and deletes channels of types that take none any more.
        timed.append(channels(store, client, node, registry))
        let webhookService = WebhookService(
            store: store, endpoints: told(connections), time: time, dice: dice, limits: webhookLimits,
            metrics: WebhookMetrics(factory: registry), logger: logger)
        if !webhooks.isEmpty { timed.append(webhookService) }
        return Generation(
            server: server,
            delivery: [
                CancellableService(run: client.run), connections, pruner,
                TimeAsked(before: timed, question, isNeeded: { [clock] in !clock.hasHeard || clock.isInDoubt }) {
                    await webhookService.makeKnown()
                },
            ], logger: logger)
    }

    /// Creates the HTTP API.
    private func server(
        _ store: SQLStore, _ client: APNSClient, _ connections: ProviderConnections, _ desk: NodeDesk,
        _ memory: ServerMemory, _ registry: MetricsRegistry,
        troubled: @escaping @Sendable () -> [PushRoute: CircuitBoard.Status]
    ) -> LiveActivityServer {
        var serving = listening
        serving.desk = desk
        serving.memory = memory
        serving.credentialIdleLimit = credentialIdleLimit
        serving.people = people.mapValues { $0.settings(connections) }
        serving.webhooks = webhooks.map { ToldWebhook(key: $0.key, origin: $0.target.origin, kinds: $0.kinds) }
        serving.console = console
        serving.simulator = simulator
        serving.trials = trials
        serving.version = version
        serving.traces = traces
        let readings = { @Sendable [routes] in ConnectionReading.readings(of: client, routes) }
        serving.delivery = DeliverySources(routes: troubled, connections: readings)
        var sources = MetricsSources(
            registry: registry, version: version, startedAt: startedAt, connections: readings)
        sources.isServed = metrics
        sources.needsKey = metricsNeedKey
        serving.metrics = sources
        return LiveActivityServer(configuration: serving, store: store, time: time, dice: dice, logger: logger)
    }

    /// Returns the loop of broadcast channels.
    private func channels(
        _ store: SQLStore, _ client: APNSClient, _ node: Int64, _ registry: MetricsRegistry
    ) -> ChannelService {
        ChannelService(
            store: store, sender: client, apps: apps, time: time, node: node, dice: dice, limits: channelLimits,
            faultPoints: faultPoints, metrics: ChannelMetrics(factory: registry), logger: logger)
    }

    /// Service that reloads changed certificate files; `nil` without certificates.
    package var certificateWatch: CertificateWatch? {
        certificates.map { CertificateWatch($0, time: time, logger: logger) }
    }

    private func told(_ connections: ProviderConnections) -> [WebhookService.Endpoint] {
        webhooks.compactMap { webhook in
            guard let target = WebhookTarget(webhook.target, connections) else { return nil }
            return WebhookService.Endpoint(
                key: webhook.key, kinds: webhook.kinds, deadline: webhook.target.timeout + .seconds(1),
                send: target.send)
        }
    }

    private func asked(_ connections: ProviderConnections) -> [RefreshService.Provider] {
        backends.compactMap { backend in
            guard let type = apps.first(where: { $0.bundleID == backend.app })?.types[backend.type],
                let provider = HTTPProvider(backend.target, connections)
            else { return nil }
            return RefreshService.Provider(
                app: backend.app, type: type, deadline: backend.target.timeout, ask: provider.answer)
        }
    }
}
