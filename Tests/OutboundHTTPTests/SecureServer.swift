import HTTP2TestServer
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// An HTTPS server on loopback with a certificate that a test chooses. It answers every request alike.
final class SecureServer: Sendable {
    let port: Int
    let authority: TestAuthority
    private let counted: Counted

    /// Number of requests that were read. A server that clients refuse never has any.
    var requests: Int { counted.count.withLock(\.self) }

    private final class Counted: Sendable {
        let count = Mutex(0)
    }

    private init(_ port: Int, _ authority: TestAuthority, _ counted: Counted) {
        self.port = port
        self.authority = authority
        self.counted = counted
    }

    static func run(
        addresses: [[UInt8]], names: [String], _ work: (SecureServer) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        let tls = try NIOSSLContext(
            configuration: authority.makeServerConfiguration(
                protocols: ["http/1.1"], addresses: addresses, names: names))
        let counted = Counted()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Answering(counted))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await work(SecureServer(channel.localAddress?.port ?? 0, authority, counted))
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let counted: Counted

        init(_ counted: Counted) { self.counted = counted }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            counted.count.withLock { $0 += 1 }
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "2"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "{}")))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
