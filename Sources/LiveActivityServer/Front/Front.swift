import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOExtras
import NIOPosix
import ServiceLifecycle

/// The server's listener: it accepts connections and answers their requests with Hummingbird's HTTP.
///
/// Hummingbird's listener is not used, because this one can take over a socket that outlives the process. It also
/// changes its certificate while it runs, and closes connections without losing a request.
struct Front: Service {
    let channel: FrontChannel
    let host: String
    let port: Int
    /// A socket that was bound elsewhere, used instead of host and port.
    let socket: CInt?
    let limits: LiveActivityServer.Limits
    let logger: Logger
    let onListening: @Sendable (LiveActivityServer.Address) async -> Void

    /// Number of connections that the system queues until they are accepted.
    private static let backlog: CInt = 1024

    /// Serves until graceful shutdown, and until the requests that were begun are answered.
    ///
    /// - Throws: An error if the address cannot be bound, or the socket is not a listener.
    func run() async throws {
        let group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
        let quiescing = ServerQuiescingHelper(group: group)
        let server = try await bind(group, quiescing)
        guard let address = server.channel.localAddress, let host = address.ipAddress, let port = address.port else {
            throw ListenerError.notAnAddress
        }
        try await withGracefulShutdownHandler {
            await onListening(.init(host: host, port: port, isEncrypted: channel.certificates != nil))
            // Connections end by themselves: they learn of the shutdown, and have deadlines.
            try await server.executeThenClose { inbound in
                await withDiscardingTaskGroup { connections in
                    do {
                        for try await connection in inbound {
                            connections.addTask { await channel.handle(connection) }
                        }
                    } catch {
                        logger.error("no more connections are accepted", metadata: ["error": "\(error)"])
                    }
                }
            }
        } onGracefulShutdown: {
            quiescing.initiateShutdown(promise: nil)
        }
    }

    private typealias Connections = NIOAsyncChannel<EventLoopFuture<FrontChannel.Connection>, Never>

    private func bind(_ group: any EventLoopGroup, _ quiescing: ServerQuiescingHelper) async throws -> Connections {
        let maximum = limits.connections
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    let pipeline = server.pipeline.syncOperations
                    try pipeline.addHandler(AvailableConnectionsChannelHandler(maxConnections: maximum))
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: server))
                }
            }
        guard let socket else { return try await bootstrap.bind(host: host, port: port) { channel.setUp($0) } }
        return try await bootstrap.bind(socket) { channel.setUp($0) }
    }
}

/// A listener beside the API's own, whose errors say which one it is.
struct NamedFront: Service {
    /// The configuration's key of its address.
    let setting: String
    let front: Front

    func run() async throws {
        do { try await front.run() } catch {
            throw LiveActivityServer.ListenerFailure(
                setting: setting, host: front.host, port: front.port, cause: error)
        }
    }
}

/// A reason why the server cannot listen.
enum ListenerError: Error, CustomStringConvertible {
    case notAnAddress

    var description: String { "the socket that was handed over is bound to no address of IP" }
}
