import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy between a client and a server on loopback that can end or freeze a connection at any byte. The layers
/// above it (TLS, HTTP/2) do not know of it.
final class ByteProxy: Sendable {
    enum Fate: Sendable, Hashable {
        case pass
        /// Closes both sides after this many bytes from the server.
        case cut(after: Int)
        /// Like `cut`, with a TCP reset toward the client.
        case reset(after: Int)
    }

    private struct State {
        var connections = 0
        var bytesFromServer: [Int] = []
        var pairs: [ProxyPair] = []
    }

    private let state = Mutex(State())
    private let fate: @Sendable (Int) -> Fate
    private let server: Int

    private init(_ server: Int, _ fate: @escaping @Sendable (Int) -> Fate) {
        self.server = server
        self.fate = fate
    }

    /// - Parameter fate: The fate of a connection, by its number from 1.
    static func run(
        to server: Int, fate: @escaping @Sendable (Int) -> Fate = { _ in .pass },
        body: (ByteProxy, Int) async throws -> Void
    ) async throws {
        let proxy = ByteProxy(server, fate)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in proxy.connect(channel) }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(proxy, channel.localAddress?.port ?? 0)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    var connections: Int { state.withLock { $0.connections } }

    /// Number of bytes that the server sent on each connection.
    var bytesFromServer: [Int] { state.withLock { $0.bytesFromServer } }

    /// Stops all bytes on the open connections, in both directions and without notice, from now on.
    func freeze() async {
        for pair in state.withLock({ $0.pairs }) { await pair.freeze() }
    }

    private func connect(_ client: any Channel) -> EventLoopFuture<Void> {
        let number = state.withLock { state in
            state.connections += 1
            state.bytesFromServer.append(0)
            return state.connections
        }
        let fate = fate(number)
        return ClientBootstrap(group: client.eventLoop)
            .channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: server)
            .flatMapThrowing { server in
                let pair = ProxyPair(client: client, server: server)
                self.state.withLock { $0.pairs.append(pair) }
                try client.pipeline.syncOperations.addHandler(ProxyHandler(to: server, fate: .pass) { _ in })
                try server.pipeline.syncOperations.addHandler(
                    ProxyHandler(to: client, fate: fate) { count in
                        self.state.withLock { $0.bytesFromServer[number - 1] += count }
                    })
                try client.syncOptions?.setOption(.autoRead, value: true)
                try server.syncOptions?.setOption(.autoRead, value: true)
            }
    }
}

private struct ProxyPair: Sendable {
    let client: any Channel
    let server: any Channel

    /// Returns at once for a connection that is already closed.
    func freeze() async {
        try? await client.setOption(.autoRead, value: false).get()
        try? await server.setOption(.autoRead, value: false).get()
    }
}

private final class ProxyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private var left: Int
    private let resets: Bool
    private let count: (Int) -> Void

    init(to other: any Channel, fate: ByteProxy.Fate, count: @escaping (Int) -> Void) {
        self.other = other
        self.count = count
        switch fate {
        case .pass: (left, resets) = (.max, false)
        case .cut(let bytes): (left, resets) = (bytes, false)
        case .reset(let bytes): (left, resets) = (bytes, true)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if left == 0 { end(context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard let passing = bytes.readSlice(length: min(left, bytes.readableBytes)) else { return }
        left -= passing.readableBytes
        count(passing.readableBytes)
        other.write(passing, promise: nil)
        if left == 0 { end(context) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        other.flush()
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func end(_ context: ChannelHandlerContext) {
        if resets { _ = (other as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)) }
        other.writeAndFlush(ByteBuffer(), promise: nil)
        other.close(promise: nil)
        context.close(promise: nil)
    }
}
