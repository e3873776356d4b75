import APNSModel
import ArgumentParser
import EmbeddedIslet
import Foundation
import LiveActivityDelivery
import LiveActivityServer
import LiveActivityTracing
import Logging
import UnixSignals

/// The `islet serve` command, which runs the server.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the server: the HTTP API, the console, and delivery through APNs.",
        discussion: """
            Prints the address that the server listens on. SIGTERM and SIGINT stop it gracefully: open requests are \
            answered, and pushes in flight are settled. Even if the process is killed, no acknowledged change is lost. \
            SIGHUP reloads the configuration and the certificate without losing a connection. A configuration that is \
            wrong is refused, and the old one goes on; the log says so, and which changed keys need a restart.
            A socket that systemd passes (LISTEN_FDS) is served in place of `listen`: then a restart refuses no \
            connection. systemd learns when the server answers calls (NOTIFY_SOCKET).
            With --dev it needs no configuration and no Apple account: it pushes to simulated phones, which you see \
            and control in the console (docs/console.md). It prints a link that signs you in. All data is deleted when \
            it stops.
            Log level: ISLET_LOG_LEVEL (trace, debug, info, notice, warning, error, critical). ISLET_LOG_FORMAT=json: \
            each line a JSON document.
            """)

    @OptionGroup var file: ConfigurationOption
    @Flag(help: "Simulated phones in place of Apple's, for developing.") var dev = false
    @Option(help: "With --dev: the port, else 8080; 0 takes a free one.") var port: Int?
    @Option(help: "With --dev: the example app, a name from `islet demo --system`; else orders.") var system: String?

    func validate() throws {
        guard dev || port == nil && system == nil else {
            throw ValidationError("--port and --system need --dev; without it, the configuration's `listen` applies")
        }
        if let port, !(0...65_535).contains(port) { throw ValidationError("--port is 0 to 65535, not \(port)") }
        if let system, Systems.named(system) == nil {
            throw ValidationError("there is no system `\(system)`: there are \(Systems.names.joined(separator: ", "))")
        }
    }

    func run() async throws {
        guard dev else {
            let hangUps = await UnixSignalsSequence(trapping: .sighup)
            let settings = try file.settings()
            let reload = Self.reload(on: hangUps, from: settings) { [file] in try file.settings() }
            return try await Self.serve(settings, Self.parts(settings), reload) {
                Output.line("islet listening on \($0)")
                ServiceManager.ready()
            }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-dev-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try port == 0 ? Int(DemoStage.freePort()) : port ?? 8080
        let stage = DeveloperStage(
            folder: folder, example: (system.flatMap(Systems.named) ?? OrderPlay.self).app, listen: "127.0.0.1:\(port)")
        try await stage.run { settings, simulator, key in
            var parts = try Self.parts(settings)
            parts.simulator = simulator
            try await Self.serve(settings, parts, nil) { address in
                Output.line("islet listening on \(address)\nconsole: \(address)/#key=\(key)")
            }
        }
    }

    /// Returns the reload of a server that was started with these settings.
    ///
    /// - Parameter load: Loads the configuration anew.
    private static func reload(
        on hangUps: UnixSignalsSequence, from started: Settings, _ load: @escaping @Sendable () throws -> Settings
    ) -> Reload {
        Reload(hangUps: hangUps) { parts in
            let settings = try load()
            apply(settings, to: &parts)
            return settings.needingRestart(since: started)
        }
    }

    /// Sets the parts that may change while a server runs.
    private static func apply(_ settings: Settings, to parts: inout ServerParts) {
        parts.apps = settings.apps
        parts.routes = settings.routes
        parts.metrics = settings.metrics.isServed
        parts.metricsNeedKey = settings.metrics.needsKey
        parts.console = settings.console
        parts.connections = settings.connections
        parts.keep = settings.keep
        parts.people = settings.people
        parts.credentialIdleLimit = settings.credentialIdleLimit
        parts.backends = settings.backends
        parts.webhooks = settings.webhooks
        parts.refreshes.perSecond = settings.refreshesPerSecond
    }

    private static func parts(_ settings: Settings) throws -> ServerParts {
        var parts = ServerParts(
            apps: settings.apps, routes: settings.routes, version: Islet.version, logger: try Output.logger("islet"))
        apply(settings, to: &parts)
        parts.host = settings.host
        parts.port = settings.port
        parts.socket = try InheritedSocket.descriptor()
        parts.certificates = settings.certificates
        parts.limits = settings.limits
        parts.metricsListener = settings.metrics.listener.map { .init(host: $0.host, port: $0.port) }
        parts.trials = .played
        parts.tokenKeys = settings.tokenKeys
        parts.needsStandby = settings.needsStandby
        if settings.certificates == nil, !settings.isLoopback, parts.socket == nil {
            parts.logger.warning(
                "other machines reach the API over plain HTTP, so keys and tokens travel in the clear: set `tls`")
        }
        if let tracing = settings.tracing {
            let buffer = SpanBuffer()
            parts.traces = Traces(OTLPTracer(buffer: buffer, share: tracing.share) { .random(in: 0 ... .max) })
            parts.companions.append(
                TraceExporter(buffer, to: tracing.endpoint, version: Islet.version, logger: parts.logger))
        }
        parts.faultPoints = try FaultInjection.points()
        return parts
    }

    private static func serve(
        _ nodes: NodeSettings, _ database: DatabaseLocation, _ parts: ServerParts, _ reload: Reload?,
        _ onListening: @escaping @Sendable (String) -> Void
    ) async throws {
        #if PostgreSQL
            try await NodeServer(parts: parts, database: database, settings: nodes)
                .run(signals: [.sigterm, .sigint], reload: reload, onListening: onListening)
        #else
            throw CommandError("this build of islet has no PostgreSQL: build it with the package trait PostgreSQL")
        #endif
    }

    private static func serve(
        _ settings: Settings, _ parts: ServerParts, _ reload: Reload?, onListening: @escaping @Sendable (String) -> Void
    ) async throws {
        do {
            if let nodes = settings.nodes {
                try await serve(nodes, settings.database, parts, reload, onListening)
            } else {
                try await IsletServer(parts: parts, database: settings.database)
                    .run(signals: [.sigterm, .sigint], reload: reload, onListening: onListening)
            }
        } catch let failure as IsletServer.Failure {
            throw failure
        } catch let failure as LiveActivityServer.ListenerFailure {
            throw CommandError.listening(
                on: "\(failure.host):\(failure.port)", setBy: "`\(failure.setting)`", failure.cause)
        } catch {
            let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
            throw CommandError.listening(on: "\(host):\(settings.port)", setBy: "`listen`", error)
        }
    }
}
