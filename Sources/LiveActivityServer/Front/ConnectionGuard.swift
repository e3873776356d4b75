import APNSModel
import NIOCore

/// Watches the bytes of one connection: a handshake or a head that does not come to its end in time, and a server that
/// stops.
///
/// A server that stops keeps idle connections for a moment and answers what comes with `Connection: close`: a client
/// that was just sending would otherwise not know whether its request was taken.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case handshake
        /// Nothing of a request has come.
        case idle
        case head
        /// Its head is there, its end not.
        case request
        /// Frames: what concerns requests is watched stream by stream.
        case frames
    }

    private let limits: LiveActivityServer.Limits
    private var phase: Phase
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// Requests whose answer is not finished; of HTTP/2 those of all streams.
    private var open = 0
    /// The server stops: no further request is to come on this connection.
    private(set) var isStopping = false
    /// When something went over a connection of HTTP/2 last, in either direction.
    private var lastBytesAt = NIODeadline.uptimeNanoseconds(0)
    private var silence: Scheduled<Void>?
    /// A connection of HTTP/2 takes no further streams.
    private var isQuiescing = false

    init(limits: LiveActivityServer.Limits, isEncrypted: Bool) {
        self.limits = limits
        phase = isEncrypted ? .handshake : .idle
    }

    static func of(_ channel: any Channel) -> ConnectionGuard? {
        try? channel.pipeline.syncOperations.handler(type: ConnectionGuard.self)
    }

    // MARK: - Events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if case .handshake = phase { schedule(limits.headTimeout) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        silence?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        silence?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .frames = phase { lastBytesAt = context.eventLoop.now }
        if case .idle = phase {
            phase = .head
            deadline?.cancel()
            deadline = nil
        }
        context.fireChannelRead(data)
        // Most heads come whole: then it is over already.
        if case .head = phase, deadline == nil { schedule(limits.headTimeout) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .frames = phase { lastBytesAt = context.eventLoop.now }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isStopping = true
        // Whatever becomes of it: by then the connection is over.
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.amount(limits.stopTimeout)) { [weak self] in
            self?.context?.close(promise: nil)
        }
        switch phase {
        case .frames: sayFarewell()
        case .idle where open == 0: schedule(limits.stopGrace)
        case .handshake, .idle, .head, .request: break
        }
    }

    // MARK: - What others tell

    func negotiated(isHTTP2: Bool) {
        phase = isHTTP2 ? .frames : .idle
        deadline?.cancel()
        deadline = nil
        if isHTTP2, let context { watchSilence(from: context.eventLoop.now) }
        guard isStopping else { return }
        if isHTTP2 { sayFarewell() } else { schedule(limits.stopGrace) }
    }

    /// Now its streams are finished, and no other is begun.
    func farewellWasRead() {
        guard case .frames = phase, isStopping, !isQuiescing else { return }
        isQuiescing = true
        deadline?.cancel()
        deadline = nil
        context?.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    /// A client that does not say that it read the farewell had time to.
    private func sayFarewell() {
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Farewell.bytes)), promise: nil)
        schedule(limits.stopGrace)
    }

    func headCame() {
        deadline?.cancel()
        deadline = nil
        open += 1
        phase = .request
    }

    func requestEnded() { phase = .idle }

    func answerEnded() { open -= 1 }

    /// The head of a call came on a stream of HTTP/2.
    func callBegan() { open += 1 }

    /// It was answered, or its stream is over.
    func callEnded() { open -= 1 }

    // MARK: - Deadlines

    /// A client of HTTP/2 that is idle is told to go away by its library, which then waits for the answer to a ping;
    /// and a header that is begun and goes on in no further frame is no stream to anybody. So who says nothing for
    /// longer than both may take, and is told nothing either, is let go.
    ///
    /// A connection with an open call is not idle, however long its answer takes: the call has limits of its own.
    private func watchSilence(from last: NIODeadline) {
        guard let context else { return }
        lastBytesAt = last
        let limit = Self.amount(limits.idleTimeout + limits.headTimeout)
        silence = context.eventLoop.assumeIsolated().scheduleTask(deadline: last + limit) { [weak self] in
            guard let self, let context = self.context else { return }
            if open > 0 {
                watchSilence(from: context.eventLoop.now)
            } else if lastBytesAt + limit <= context.eventLoop.now {
                context.close(promise: nil)
            } else {
                watchSilence(from: lastBytesAt)
            }
        }
    }

    private func schedule(_ duration: Duration) {
        guard let context else { return }
        deadline?.cancel()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.amount(duration)) { [weak self] in
            self?.expire()
        }
    }

    private func expire() {
        deadline = nil
        guard let context else { return }
        switch phase {
        case .head where open == 0:
            let answer = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(promise: nil)
        case .handshake, .head: context.close(promise: nil)
        case .idle where open == 0: context.close(promise: nil)
        case .frames: farewellWasRead()
        case .idle, .request: break
        }
    }

    static func amount(_ duration: Duration) -> TimeAmount { .nanoseconds(duration.wholeNanoseconds) }
}
