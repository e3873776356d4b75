package import APNSModel
import CoreMetrics
package import Hummingbird
import HummingbirdCore
package import LiveActivityCore
package import Logging
import NIOCore
public import ServiceLifecycle

/// The HTTP API of Islet as a service: backends say what should be shown, phones report what they hold.
///
/// It decides nothing and sends nothing: each call is checked, committed to the store, and answered; delivery finds the
/// work there. Every answer is JSON, every refusal a problem document (RFC 9457) with a stable `code`.
/// `docs/api.md` describes the calls.
public struct LiveActivityServer: Service {
    /// What the server takes at most. The defaults fit one small machine.
    public struct Limits: Sendable, Hashable {
        /// The most bytes of a request's body; beyond, the call answers 413.
        public var bodyBytes = 64 * 1024
        /// The most bytes of an inventory, which lists every card of a phone, and of a page of an audience.
        public var inventoryBytes = 256 * 1024
        /// The most arrays and objects inside one another in a body.
        public var jsonDepth = 32
        /// The most values in a body.
        public var jsonValues = 20_000
        /// The most phones whose outlook one answer works out one by one.
        public var countedPhones = 2_000
        /// Of more phones so many are looked at, and the others taken to be like them.
        public var sampledPhones = 500
        /// The most phones that a dry run counts.
        public var previewedPhones = 10_000
        /// The most bytes of one line of a batch; a longer one is answered with 413.
        public var lineBytes = 64 * 1024
        /// The most lines of a batch.
        public var lines = 1_000_000
        /// The most lines of a batch that are worked on at the same time.
        public var openLines = 256
        /// The most bytes of answers that wait for their reader; while there are as many, no further line is read.
        public var unreadBytes = 16 * 1024 * 1024
        /// The most batches and streamed audiences at the same time; a further one is answered with 503.
        public var streams = 8
        /// The most connections at the same time; further ones wait to be accepted.
        public var connections = 10_000
        /// How long a connection may be silent before it is closed.
        public var idleTimeout = Duration.seconds(60)

        /// The standard limits.
        public init() {}
    }

    /// Where the server listens.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// The address it is bound to, such as `127.0.0.1`.
        public var host: String
        /// The port it is bound to; where 0 was asked for, the one that the system gave.
        public var port: Int

        /// `http://host:port`.
        public var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    }

    /// What a server is made of.
    package struct Configuration: Sendable {
        package var apps: [AppSettings]
        package var host = "127.0.0.1"
        /// 0 takes any free port.
        package var port = 8080
        package var limits = Limits()
        /// What `GET /metrics` shows; `nil` turns it off.
        package var metrics: MetricsSources?
        /// What delivery knows, for readiness and diagnoses.
        package var delivery = DeliverySources()

        package init(apps: [AppSettings]) {
            self.apps = apps
        }
    }

    /// Hummingbird's application: for its test framework, or to run beside other routes.
    package let application: Application<Responder>

    /// - Parameters:
    ///   - dice: 64 random bits at each call: for the keys of new devices.
    ///   - onListening: Called once the port is bound; requests are answered from then on.
    package init(
        configuration: Configuration, store: any ServerStore, time: TimeSource, dice: @escaping @Sendable () -> UInt64,
        logger: Logger, onListening: @escaping @Sendable (Address) async -> Void = { _ in }
    ) {
        let limits = configuration.limits
        let services = Services(
            store: store,
            apps: Dictionary(configuration.apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first }),
            limits: limits, time: time, dice: dice, logger: logger, metrics: configuration.metrics,
            delivery: configuration.delivery,
            httpMetrics: HTTPMetrics(configuration.metrics?.registry ?? MetricsSystem.factory),
            streams: StreamPlaces(maximum: limits.streams))
        let idle = TimeAmount.nanoseconds(limits.idleTimeout.wholeNanoseconds)
        application = Application(
            responder: Responder(services: services),
            server: .http1(configuration: .init(idleTimeout: idle)),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)),
            onServerRunning: { channel in
                guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
                    return
                }
                await onListening(Address(host: host, port: port))
            },
            logger: logger)
    }

    /// Serves until the task is cancelled or its service group shuts down gracefully: then no more connections are
    /// accepted, and requests that are being answered are finished.
    ///
    /// - Throws: When the port cannot be bound.
    public func run() async throws {
        try await application.run()
    }
}
