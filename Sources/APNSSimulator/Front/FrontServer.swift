internal import APNSModel
internal import NIOCore
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS
internal import Synchronization

/// The open connections of a simulator, which receive commands and can be closed.
final class FrontConnections: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])
    private let bytes = Atomic<Int>(0)

    /// Maximum number of connections. Further ones are closed when they open.
    static let capacity = 4096

    /// Adds a connection, and returns `false` if there is no room.
    func add(_ channel: any Channel) -> Bool {
        let hasRoom = channels.withLock { channels in
            guard channels.count < Self.capacity else { return false }
            channels[ObjectIdentifier(channel)] = channel
            return true
        }
        guard hasRoom else { return false }
        channel.closeFuture.whenComplete { [self] _ in
            _ = channels.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
        }
        return true
    }

    var count: Int { channels.withLock { $0.count } }

    /// Number of bytes that all connections have received, after TLS.
    var receivedBytes: Int { bytes.load(ordering: .relaxed) }

    func receive(_ count: Int) { bytes.wrappingAdd(count, ordering: .relaxed) }

    func tell(_ command: FrontCommand) {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.triggerUserOutboundEvent(command, promise: nil)
        }
    }

    func closeAll() async {
        for channel in channels.withLock({ Array($0.values) }) {
            try? await channel.close()
        }
    }
}

/// Counts the bytes of a connection, which it passes on unchanged.
private final class FrontByteCount: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connections: FrontConnections

    init(_ connections: FrontConnections) {
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connections.receive(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}

/// A listening port that speaks HTTP/2 over TLS and nothing else, like APNs.
struct FrontServer: Sendable {
    let engine: Engine
    let tls: NIOSSLContext
    let connections: FrontConnections

    /// Maximum size of a header list, in bytes.
    private static let headerListBytes = 8000

    func bind(host: String, port: Int, settings: FrontConnection.Settings) async throws -> any Channel {
        let (engine, tls, connections) = (engine, tls, connections)
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                guard connections.add(channel) else { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    try pipeline.addHandler(
                        ApplicationProtocolNegotiationHandler { result, channel in
                            Self.begin(result, channel, engine, connections, settings)
                        })
                }
            }
            .bind(host: host, port: port).get()
    }

    private static func begin(
        _ result: ALPNResult, _ channel: any Channel, _ engine: Engine, _ connections: FrontConnections,
        _ settings: FrontConnection.Settings
    ) -> EventLoopFuture<Void> {
        guard case .negotiated("h2") = result else { return channel.close() }
        return channel.eventLoop.makeCompletedFuture {
            var connection = NIOHTTP2Handler.ConnectionConfiguration()
            connection.initialSettings = [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
                HTTP2Setting(parameter: .maxHeaderListSize, value: headerListBytes),
            ]
            // Tests reset and refuse pushes on purpose, by the thousand.
            var streams = NIOHTTP2Handler.StreamConfiguration()
            streams.streamResetFrameRateLimit.maximumCount = 1_000_000
            streams.streamErrorRateLimit.maximumCount = 1_000_000
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(FrontByteCount(connections))
            try pipeline.addHandler(
                NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: streams))
            try pipeline.addHandler(FrontConnection(engine: engine, settings: settings))
        }
    }
}
