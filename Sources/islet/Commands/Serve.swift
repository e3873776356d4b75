import ArgumentParser
import EmbeddedIslet
import LiveActivityDelivery
import UnixSignals

/// `islet serve`: the server.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the server: the HTTP API, and delivery through APNs.",
        discussion: """
            Prints the address it listens on. SIGTERM and SIGINT stop it gracefully: open requests are answered, \
            pushes on their way are settled. A kill loses nothing that was answered.
            Log level: ISLET_LOG_LEVEL (trace, debug, info, notice, warning, error).
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let settings = try file.settings()
        var parts = ServerParts(
            apps: settings.apps, routes: settings.routes, version: Islet.version, logger: Output.logger("islet"))
        parts.host = settings.host
        parts.port = settings.port
        parts.metrics = settings.metrics
        parts.connections = settings.connections
        parts.keep = settings.keep
        parts.backends = settings.backends
        parts.refreshes.perSecond = settings.refreshesPerSecond
        parts.faultPoints = try FaultInjection.points()
        let server = try IsletServer(parts: parts, database: settings.databasePath)
        do {
            try await server.run(signals: [.sigterm, .sigint]) { Output.line("islet listening on \($0)") }
        } catch {
            let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
            throw CommandError.listening(on: "\(host):\(settings.port)", setBy: "`listen`", error)
        }
    }
}
