import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOExtras
import NIOPosix
import ServiceLifecycle

/// Accepts connections and has their requests answered: Hummingbird's HTTP on a listener of our own.
///
/// Of our own, because it may be handed a socket that outlives the process, changes its certificate while it runs, and
/// closes connections so that no request is lost.
struct Front: Sendable {
    let channel: FrontChannel
    let host: String
    let port: Int
    /// A socket that was bound by somebody else, in place of host and port.
    let socket: CInt?
    let limits: LiveActivityServer.Limits
    let logger: Logger
    let onListening: @Sendable (LiveActivityServer.Address) async -> Void

    /// Connections that the system holds until they are accepted.
    private static let backlog: CInt = 1024

    /// Until graceful shutdown, and what was begun is answered.
    ///
    /// - Throws: When the address cannot be bound, or the socket is no listener.
    func run() async throws {
        let group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
        let quiescing = ServerQuiescingHelper(group: group)
        let server = try await bind(group, quiescing)
        guard let address = server.channel.localAddress, let host = address.ipAddress, let port = address.port else {
            throw ListenerError.notAnAddress
        }
        try await withGracefulShutdownHandler {
            await onListening(.init(host: host, port: port, isEncrypted: channel.certificates != nil))
            // Connections end by themselves: they are told that the server stops, and have deadlines.
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

/// Why there is nothing to listen on.
enum ListenerError: Error, CustomStringConvertible {
    case notAnAddress

    var description: String { "the socket that was handed over is bound to no address of IP" }
}
