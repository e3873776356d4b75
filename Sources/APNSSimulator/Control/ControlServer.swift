internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// The control API on its own port, for demos, consoles and tests in other languages. It is plain HTTP, on the loopback
/// interface by default.
struct ControlServer: Sendable {
    let simulator: APNSSimulator
    let host: String
    let port: Int
    let access: ControlAccess

    /// Serves until the task is canceled. Calls `started` with the port.
    func run(_ started: @escaping @Sendable (Int?) -> Void) async throws {
        // Hummingbird logs starting and stopping as if it were the whole program, and cancellation as an error. A port
        // that is not available is thrown, and a failed call says so in its answer.
        var logger = simulator.logger
        logger.logLevel = .critical
        let application = Application(
            router: ControlRouter(simulator: simulator, access: access).router,
            server: HTTPServerBuilder { ControlChannel($0) },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: "apns-simulator"),
            onServerRunning: { channel in started(channel.localAddress?.port) },
            logger: logger)
        try await application.run()
    }
}
