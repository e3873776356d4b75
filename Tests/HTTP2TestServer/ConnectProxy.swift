import NIOCore
import NIOPosix
import Synchronization

/// A small HTTP proxy on loopback that knows CONNECT alone. It copies bytes and looks into none.
package final class ConnectProxy: Sendable {
    package enum Behavior: Sendable {
        /// Opens the tunnel; with credentials, only for those who show them.
        case tunnel(authorization: String? = nil)
        /// Answers these bytes, and closes.
        case answer(String)
        /// Answers nothing, ever.
        case silence
        /// Closes without an answer.
        case close
    }

    private struct State {
        var heads: [String] = []
        var channel: (any Channel)?
        var tunneledBytes = 0
    }

    private let behavior: Behavior
    private let state = Mutex(State())

    private init(_ behavior: Behavior) {
        self.behavior = behavior
    }

    /// Runs a proxy on a free port of loopback while the body runs.
    package static func run(_ behavior: Behavior, body: (ConnectProxy) async throws -> Void) async throws {
        let proxy = ConnectProxy(behavior)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ConnectHandler(proxy))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        proxy.state.withLock { $0.channel = channel }
        do {
            try await body(proxy)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    package var port: Int { state.withLock { $0.channel?.localAddress?.port } ?? 0 }
    /// The requests of clients, each from its first line to the last header.
    package var heads: [String] { state.withLock { $0.heads } }
    package var tunneledBytes: Int { state.withLock { $0.tunneledBytes } }

    fileprivate func count(_ bytes: Int) {
        state.withLock { $0.tunneledBytes += bytes }
    }

    /// Returns the answer to a head, and the port to connect to.
    fileprivate func decide(_ head: String) -> (answer: String?, port: Int?, closes: Bool) {
        state.withLock { $0.heads.append(head) }
        switch behavior {
        case .silence: return (nil, nil, false)
        case .close: return (nil, nil, true)
        case .answer(let text): return (text, nil, true)
        case .tunnel(let authorization):
            if let authorization, !head.contains("proxy-authorization: \(authorization)\r\n") {
                return ("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", nil, true)
            }
            let target = head.split(separator: " ").dropFirst().first.flatMap { $0.split(separator: ":").last }
            guard head.hasPrefix("CONNECT "), let port = target.flatMap({ Int($0) }) else {
                return ("HTTP/1.1 400 Bad Request\r\n\r\n", nil, true)
            }
            return ("HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n", port, false)
        }
    }
}

/// Reads the head, then copies between two channels, which are on one event loop.
private final class ConnectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let proxy: ConnectProxy
    private var head = ""
    private var peer: (any Channel)?

    init(_ proxy: ConnectProxy) {
        self.proxy = proxy
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if let peer {
            proxy.count(bytes.readableBytes)
            peer.writeAndFlush(bytes, promise: nil)
            return
        }
        head += String(buffer: bytes)
        guard head.hasSuffix("\r\n\r\n") else { return }
        let (answer, port, closes) = proxy.decide(head)
        if let port {
            connect(port, context, answer ?? "")
        } else {
            if let answer { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil) }
            if closes { context.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        peer?.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Whatever the name is, the destination is on loopback: tests look nothing up.
    private func connect(_ port: Int, _ context: ChannelHandlerContext, _ answer: String) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let client = context.channel
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(CopyHandler(to: client))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .whenComplete { result in
                let (handler, context) = bound.value
                switch result {
                case .success(let channel):
                    handler.peer = channel
                    context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
                case .failure:
                    let text = "HTTP/1.1 502 Bad Gateway\r\n\r\n"
                    context.writeAndFlush(handler.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    context.close(promise: nil)
                }
            }
    }
}

private final class CopyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let target: any Channel

    init(to target: any Channel) {
        self.target = target
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        target.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        target.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
