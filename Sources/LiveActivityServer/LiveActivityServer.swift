package import APNSModel
import CoreMetrics
package import Hummingbird
package import LiveActivityCore
package import LiveActivityTracing
package import Logging
public import ServiceLifecycle

/// The HTTP API of Islet as a service: backends say what should be shown, phones report what they hold.
///
/// It decides nothing and sends nothing: each call is checked, committed to the store, and answered; delivery finds the
/// work there. Every answer is JSON, every refusal a problem document (RFC 9457) with a stable `code`.
/// `docs/api.md` describes the calls.
public struct LiveActivityServer: Service {
    /// Where the server listens.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The address it is bound to, such as `127.0.0.1`.
        public var host: String
        /// The port it is bound to; where 0 was asked for, the one that the system gave.
        public var port: Int
        /// It speaks TLS.
        public var isEncrypted = false

        /// `http://host:port`, or `https`.
        public var description: String {
            "http\(isEncrypted ? "s" : "")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        }
    }

    /// What a server is made of.
    package struct Configuration: Sendable {
        package var apps: [AppSettings]
        package var host = "127.0.0.1"
        /// 0 takes any free port.
        package var port = 8080
        /// A socket that somebody else bound and that is served in place of an address, by its descriptor: it outlives
        /// the process.
        package var socket: CInt?
        /// Without, the server speaks HTTP/1.1 in the clear.
        package var certificates: Certificates?
        package var limits = Limits()
        /// What `GET /metrics` shows and alerts look at; `nil`: neither is there.
        package var metrics: MetricsSources?
        /// What delivery knows, for readiness and diagnoses.
        package var delivery = DeliverySources()
        /// How people of each app prove who they are; without an entry only keys and phones call.
        package var people: [BundleID: PeopleSettings] = [:]
        /// The endpoints that events are told to, by somebody else than the server.
        package var webhooks: [ToldWebhook] = []
        /// `/` is the console.
        package var console = true
        /// In development: the simulator whose phones the console shows.
        package var simulator: SimulatorControl?
        /// Where spans go; `nil`: there are none.
        package var traces: Traces?
        /// Who can try a policy on a recorded day; `nil`: nobody.
        package var trials: PolicyTrials?
        /// What the server calls itself.
        package var version = ""
        /// A device credential that was not used for so long is not taken any more.
        package var credentialIdleLimit = Duration.seconds(90 * 86_400)

        /// `GET /metrics` is answered there and not on the API's address; `nil`: on the API's.
        package var metricsListener: MetricsListener?

        package init(apps: [AppSettings]) {
            self.apps = apps
        }
    }

    /// A listener for whoever watches the server: `/metrics`, `/healthz` and `/readyz`, and nothing else.
    package struct MetricsListener: Sendable {
        package var host: String
        /// 0 takes any free port.
        package var port: Int
        /// Called once the port is bound.
        package var onListening: @Sendable (Address) async -> Void

        package init(host: String, port: Int, onListening: @escaping @Sendable (Address) async -> Void = { _ in }) {
            self.host = host
            self.port = port
            self.onListening = onListening
        }
    }

    /// The address of ``MetricsListener`` cannot be bound.
    package struct MetricsListenerFailure: Error {
        package let host: String
        package let port: Int
        package let cause: any Error
    }

    /// Hummingbird's application, for its test framework alone: `run` serves the same responder by a front of its own.
    package let application: Application<Responder>
    /// What has to run beside it.
    package let upkeep: CallerUpkeep
    /// What takes the samples of `GET /v1/overview`; has to run beside it too.
    package let sampler: FigureSampler
    /// What looks at the rules of alerts; has to run beside it as well.
    package let alertWatch: AlertWatch
    /// What hands events to their readers; has to run beside it, and to stop before it.
    package let relay: EventRelayService
    private let front: Front
    /// For those who watch, where they have a listener of their own.
    private let watchersFront: Front?

    /// - Parameters:
    ///   - dice: 64 random bits at each call, which nobody can foresee: for keys of new devices, and for credentials.
    ///   - onListening: Called once the port is bound; requests are answered from then on.
    package init(
        configuration: Configuration, store: any ServerStore, time: TimeSource, dice: @escaping @Sendable () -> UInt64,
        logger: Logger, onListening: @escaping @Sendable (Address) async -> Void = { _ in }
    ) {
        let limits = configuration.limits
        let people = People(configuration.people)
        let keyUses = KeyUses()
        upkeep = CallerUpkeep(store: store, uses: keyUses, keySets: people.keySets, time: time, logger: logger)
        let figures = Figures()
        sampler = FigureSampler(
            figures: figures, registry: configuration.metrics?.registry, store: store, delivery: configuration.delivery,
            time: time, clock: ContinuousClock())
        var readerLimits = EventRelay.Limits()
        readerLimits.readers = limits.eventStreams
        readerLimits.readersOfApp = limits.eventStreamsOfApp
        readerLimits.buffered = limits.unreadEvents
        let readers = EventReaders(readerLimits)
        relay = EventRelayService(
            readers: readers, store: store, interval: limits.eventBeat, clock: ContinuousClock(), logger: logger)
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
            events: readers, admission: Admission(limits), people: people, keyUses: keyUses,
            credentialIdleLimit: configuration.credentialIdleLimit, figures: figures,
            traces: configuration.traces, alerts: AlertBoard(), trials: configuration.trials,
            census: Census(freshness: Census.interval),
            metricsPage: SharedReading(freshness: HealthCalls.pageFreshness),
            startedAt: configuration.metrics?.startedAt ?? time.wall(), version: configuration.version,
            console: configuration.console
                ? Console(simulator: configuration.simulator, version: configuration.version) : nil)
        alertWatch = AlertWatch(services: services, clock: ContinuousClock())
        let responder = Responder(services: services)
        application = Application(responder: responder, logger: logger)
        func channel(_ responder: Responder) -> FrontChannel {
            FrontChannel(
                certificates: configuration.certificates, limits: limits, logger: logger,
                responder: responder.answering(time, logger))
        }
        front = Front(
            channel: channel(responder), host: configuration.host, port: configuration.port,
            socket: configuration.socket, limits: limits, logger: logger, onListening: onListening)
        watchersFront = configuration.metricsListener.map { listener in
            var limits = limits
            limits.connections = limits.metricsConnections
            return Front(
                channel: channel(Responder(services: services, door: .watchers)), host: listener.host,
                port: listener.port, socket: nil, limits: limits, logger: logger, onListening: listener.onListening)
        }
    }

    /// Serves until its service group shuts down gracefully: then no more connections are accepted, and requests that
    /// are being answered, or on their way on a connection, are finished.
    ///
    /// - Throws: When the port cannot be bound.
    public func run() async throws {
        guard let watchersFront else { return try await front.run() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await front.run() }
            group.addTask {
                do { try await watchersFront.run() } catch {
                    throw MetricsListenerFailure(host: watchersFront.host, port: watchersFront.port, cause: error)
                }
            }
            try await group.waitForAll()
        }
    }
}
