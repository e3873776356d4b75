import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS
import PeerIdentity

/// One call on a connection.
struct Exchange: Sendable {
    struct Outcome: Sendable {
        var answer: OutboundAnswer
        /// `true` if the connection can carry another call.
        var isReusable: Bool
    }

    var request: OutboundRequest
    var promise: EventLoopPromise<Outcome>
}

/// Makes connections to checked addresses, with TLS for the host that the URL names.
struct OutboundConnector: Sendable {
    let lookUp: HostLookUp
    /// Maximum time for lookup, TCP and TLS.
    let limit: Duration

    /// Makes a connection.
    ///
    /// - Parameter over: Future of the whole call. If it fails, the attempt stops at once.
    func connect(
        _ url: OutboundURL, isPublicOnly: Bool, security: PeerSecurity?, until over: EventLoopFuture<OutboundAnswer>
    ) -> EventLoopFuture<any Channel> {
        let eventLoop = over.eventLoop
        let limit = TimeAmount(limit)
        let ready = eventLoop.makePromise(of: Void.self)
        let outcome = eventLoop.makePromise(of: (any Channel).self)
        let timer = eventLoop.scheduleTask(in: limit) { outcome.fail(ChannelError.connectTimeout(limit)) }
        let connecting = ClientBootstrap(group: eventLoop)
            .resolver(
                CheckedResolver(url.host, port: url.port, isPublicOnly: isPublicOnly, lookUp, on: eventLoop)
            )
            .connectTimeout(limit)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try security?.addHandlers(to: pipeline)
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(ExchangeHandler(ready: ready, isSecure: security != nil))
                }
            }
            .connect(host: url.host, port: url.port)
        connecting.whenFailure { outcome.fail($0) }
        connecting.whenSuccess { channel in
            ready.futureResult.whenSuccess { outcome.succeed(channel) }
            outcome.futureResult.whenFailure { _ in channel.close(promise: nil) }
        }
        ready.futureResult.whenFailure { outcome.fail($0) }
        outcome.futureResult.whenComplete { _ in
            timer.cancel()
            ready.fail(CancellationError())
        }
        over.whenFailure { outcome.fail($0) }
        return outcome.futureResult.flatMapErrorThrowing { throw OutboundError.connecting($0, url) }
    }
}

/// Carries calls over an HTTP/1.1 connection, one after another.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = Exchange
    typealias OutboundOut = HTTPClientRequestPart

    private struct Running {
        let exchange: Exchange
        var head: HTTPResponseHead?
        var body: [UInt8] = []
    }

    private let ready: EventLoopPromise<Void>
    private let isSecure: Bool
    private var running: Running?
    private var idleEnd: Scheduled<Void>?

    /// Time for which an idle connection is kept.
    static let idleLimit = TimeAmount.seconds(60)

    /// Creates the handler.
    ///
    /// - Parameter ready: Succeeds when calls can be made, which is after the certificate was checked.
    init(ready: EventLoopPromise<Void>, isSecure: Bool) {
        self.ready = ready
        self.isSecure = isSecure
    }

    func channelActive(context: ChannelHandlerContext) {
        if !isSecure { ready.succeed() }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { ready.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        guard running == nil else {
            exchange.promise.fail(OutboundError.closed)
            promise?.fail(ChannelError.inappropriateOperationForState)
            return
        }
        idleEnd?.cancel()
        running = Running(exchange: exchange)
        context.write(wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        if let body = exchange.request.body, !body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        }
        context.write(wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data that arrives without a request must not be taken for the next answer.
        guard var running else { return context.close(promise: nil) }
        switch unwrapInboundIn(data) {
        case .head(let head): running.head = head
        case .body(let bytes):
            let room = running.exchange.request.maximumAnswerBytes - running.body.count
            running.body.append(contentsOf: bytes.readableBytesView.prefix(room))
            if bytes.readableBytes > room {
                finish(running, isCut: true)
                return context.close(promise: nil)
            }
        case .end:
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            idleEnd = context.eventLoop.scheduleTask(in: Self.idleLimit) { bound.value.close(promise: nil) }
            return finish(running, isCut: false)
        }
        self.running = running
    }

    private func finish(_ running: Running, isCut: Bool) {
        self.running = nil
        guard let head = running.head else { return running.exchange.promise.fail(OutboundError.malformed) }
        let answer = OutboundAnswer(
            status: Int(head.status.code), headers: head.headers, body: running.body, isCut: isCut)
        running.exchange.promise.succeed(.init(answer: answer, isReusable: head.isKeepAlive && !isCut))
    }

    private func fail(_ error: any Error) {
        ready.fail(error)
        running?.exchange.promise.fail(error)
        running = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        idleEnd?.cancel()
        fail(OutboundError.closed)
        context.fireChannelInactive()
    }
}
