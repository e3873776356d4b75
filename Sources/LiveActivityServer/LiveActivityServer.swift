package import APNSModel
import CoreMetrics
package import Hummingbird
package import LiveActivityAPI
package import LiveActivityCore
package import LiveActivityTracing
package import Logging
public import ServiceLifecycle

/// The HTTP API of Islet as a service: backends set what should be shown, and phones report what they hold.
///
/// The server neither decides about pushes nor sends them. It checks each call, commits it to the store and answers;
/// delivery finds the work in the store. Every answer is JSON. Every refusal is a problem document (RFC 9457) with a
/// stable `code`. `docs/api.md` describes the calls.
public struct LiveActivityServer: Service {
    /// An address on which the server listens.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The host that the server is bound to, such as `127.0.0.1`.
        public var host: String
        /// The port that the server is bound to. If port 0 was requested, the port that the system chose.
        public var port: Int
        /// `true` if the server uses TLS.
        public var isEncrypted = false

        /// The URL of the server: `http://host:port`, or with `https`.
        public var description: String {
            "http\(isEncrypted ? "s" : "")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }
    }

    /// The settings of a server.
    package struct Configuration: Sendable {
        package var apps: [AppSettings]
        package var host = "127.0.0.1"
        /// The port. 0 takes any free port.
        package var port = 8080
        /// The descriptor of a socket that was bound elsewhere, served instead of `host` and `port`. It outlives the
        /// process.
        package var socket: CInt?
        /// The desk of listeners that outlive the server, through which requests come. `nil`: the server listens
        /// itself.
        package var desk: NodeDesk?
        /// State that outlives the server; `nil`: there is none yet.
        package var memory: ServerMemory?
        /// Returns the servers that share the database, the owner first. Empty if there is one server.
        package var nodes: @Sendable () -> NodeList = { NodeList(nodes: []) }
        /// The certificate for TLS. `nil`: the server speaks HTTP/1.1 without encryption.
        package var certificates: Certificates?
        package var limits = Limits()
        /// The sources of `GET /metrics` and of alerts. `nil`: both are missing.
        package var metrics: MetricsSources?
        /// The state of delivery, for readiness and diagnoses.
        package var delivery = DeliverySources()
        /// The settings that prove people's identities, by app. In an app without an entry only keys and phones can
        /// call.
        package var people: [BundleID: PeopleSettings] = [:]
        /// The endpoints that receive events. Another component sends the events.
        package var webhooks: [ToldWebhook] = []
        /// `true` if `/` serves the console.
        package var console = true
        /// The simulator whose phones the console shows. Only in development.
        package var simulator: SimulatorControl?
        /// The destination of spans. `nil`: no spans are recorded.
        package var traces: Traces?
        /// The parser and the player for policy trials on a recorded day. `nil`: the server refuses such trials.
        package var trials: PolicyTrials?
        /// The version that the server reports.
        package var version = ""
        /// The time after which a device credential that was not used is no longer accepted.
        package var credentialIdleLimit = Duration.seconds(90 * 86_400)

        /// The separate listener for `GET /metrics`. `nil`: the API's address serves it.
        package var metricsListener: MetricsListener?

        package init(apps: [AppSettings]) {
            self.apps = apps
        }
    }

    /// A separate listener for monitoring. It serves `/metrics`, `/healthz` and `/readyz`, and nothing else.
    package struct MetricsListener: Sendable {
        package var host: String
        /// The port. 0 takes any free port.
        package var port: Int
        /// Called once the port is bound.
        package var onListening: @Sendable (Address) async -> Void

        package init(host: String, port: Int, onListening: @escaping @Sendable (Address) async -> Void = { _ in }) {
            self.host = host
            self.port = port
            self.onListening = onListening
        }
    }

    /// An error that occurs if an address other than the API's own cannot be bound.
    package struct ListenerFailure: Error {
        /// The configuration's key of the address.
        package let setting: String
        package let host: String
        package let port: Int
        package let cause: any Error
    }

    /// Hummingbird's application, for its test framework only. `run` serves the same responder through listeners.
    package let application: Application<Responder>
    /// The upkeep of keys and their uses. Must run beside the server.
    package let upkeep: CallerUpkeep
    /// The sampler for `GET /v1/overview`. Must run beside the server.
    package let sampler: FigureSampler
    /// The evaluation of alert rules. Must run beside the server.
    package let alertWatch: AlertWatch
    /// The relay that passes events to their readers. Must run beside the server, and stop before it.
    package let relay: EventRelayService
    private let desk: NodeDesk
    private let seat: NodeDesk.Seat
    private let stopTimeout: Duration
    /// Listeners of the server's own; `nil`: others bring the requests to the desk.
    private let listeners: NodeListeners?

    /// - Parameters:
    ///   - dice: Returns 64 unpredictable random bits at each call, for keys of new devices and for credentials.
    ///   - onListening: Called once the port is bound. The server answers requests from then on.
    package init(
        configuration: Configuration, store: any ServerStore, time: TimeSource, dice: @escaping @Sendable () -> UInt64,
        logger: Logger, onListening: @escaping @Sendable (Address) async -> Void = { _ in }
    ) {
        let limits = configuration.limits
        let people = People(configuration.people)
        let memory = configuration.memory ?? ServerMemory(limits)
        let keyUses = memory.keyUses
        upkeep = CallerUpkeep(store: store, uses: keyUses, keySets: people.keySets, time: time, logger: logger)
        let figures = memory.figures
        memory.goOn(with: people.keySets)
        sampler = FigureSampler(
            figures: figures, registry: configuration.metrics?.registry, store: store, delivery: configuration.delivery,
            time: time, clock: ContinuousClock())
        relay = memory.relay(store, limits, logger)
        var metrics = configuration.metrics
        metrics?.listensApart = configuration.metricsListener != nil
        let services = Services(
            store: store,
            apps: Dictionary(configuration.apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first }),
            limits: limits, time: time, dice: dice, logger: logger, metrics: metrics,
            delivery: configuration.delivery,
            httpMetrics: HTTPMetrics(configuration.metrics?.registry ?? MetricsSystem.factory),
            streams: Places(maximum: limits.streams),
            webhooks: Dictionary(
                configuration.webhooks.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first }),
            events: memory.readers, admission: Admission(limits), people: people, keyUses: keyUses,
            credentialIdleLimit: configuration.credentialIdleLimit, nodes: configuration.nodes, figures: figures,
            traces: configuration.traces, alerts: memory.alerts, trials: configuration.trials,
            census: Census(freshness: Census.interval),
            metricsPage: SharedReading(freshness: HealthCalls.pageFreshness),
            startedAt: configuration.metrics?.startedAt ?? time.wall(), version: configuration.version,
            console: configuration.console
                ? Console(
                    desk: memory.console, simulator: configuration.simulator, version: configuration.version) : nil)
        alertWatch = AlertWatch(services: services, clock: ContinuousClock())
        let responder = Responder(services: services)
        application = Application(responder: responder, logger: logger)
        let watching = Responder(services: services, door: .watchers)
        seat = NodeDesk.Seat(
            api: { try await responder.respond(to: $0, from: $1) },
            watchers: { try await watching.respond(to: $0, from: $1) })
        stopTimeout = limits.stopTimeout
        if let desk = configuration.desk {
            self.desk = desk
            listeners = nil
            return
        }
        desk = NodeDesk {}
        listeners = NodeListeners(
            configuration, servesMetrics: configuration.metrics?.isServed ?? false, desk: desk, time: time,
            logger: logger, onListening: onListening)
    }

    /// Answers requests from now on, in place of a server that did before at the same desk.
    package func takeSeat() { desk.open(seat) }

    /// Serves until its service group shuts down gracefully.
    ///
    /// With a desk of the configuration, it answers from ``takeSeat()`` on.
    ///
    /// It then accepts no more connections, but finishes requests that are being answered or are on their way.
    ///
    /// - Throws: An error if a port cannot be bound.
    public func run() async throws {
        guard let listeners else {
            // Cancelled: nobody is left to be answered.
            try? await gracefulShutdown()
            return await leaveSeat()
        }
        takeSeat()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for listener in listeners.all { group.addTask { try await listener.run() } }
            try await group.waitForAll()
        }
    }

    /// Answers the requests that were begun, and no others.
    private func leaveSeat() async {
        await withTaskGroup { group in
            group.addTask { await desk.close(seat) }
            group.addTask { try? await ContinuousClock().sleep(for: stopTimeout) }
            await group.next()
            group.cancelAll()
        }
    }
}
