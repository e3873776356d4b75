import APNSModel
import NIOCore

/// A channel handler for the bytes of one connection. It ends slow handshakes and heads, and handles shutdown.
///
/// During shutdown it keeps idle connections for a moment, and requests that arrive are answered with `Connection:
/// close`. Otherwise a client that is just sending would not know whether its request was accepted.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case handshake
        /// Nothing of a request has arrived.
        case idle
        case head
        /// The head of a request has arrived, its end has not.
        case request
        /// HTTP/2. ``RequestGuard`` watches requests stream by stream.
        case frames
    }

    private let limits: LiveActivityServer.Limits
    private var phase: Phase
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// Number of requests whose answer is not finished, on all streams of the connection.
    private var open = 0
    /// `true` if the server is stopping, so that no further request should arrive on this connection.
    private(set) var isStopping = false
    /// Time of the last bytes on an HTTP/2 connection, in either direction.
    private var lastBytesAt = NIODeadline.uptimeNanoseconds(0)
    private var silence: Scheduled<Void>?
    /// `true` if this HTTP/2 connection accepts no further streams.
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
        // Most heads arrive in one piece, so that the phase has already changed here.
        if case .head = phase, deadline == nil { schedule(limits.headTimeout) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .frames = phase { lastBytesAt = context.eventLoop.now }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isStopping = true
        // Closes the connection at the latest after this time, whatever happens.
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.amount(limits.stopTimeout)) { [weak self] in
            self?.context?.close(promise: nil)
        }
        switch phase {
        case .frames: sayFarewell()
        case .idle where open == 0: schedule(limits.stopGrace)
        case .handshake, .idle, .head, .request: break
        }
    }

    // MARK: - Calls of other handlers

    func negotiated(isHTTP2: Bool) {
        phase = isHTTP2 ? .frames : .idle
        deadline?.cancel()
        deadline = nil
        if isHTTP2, let context { watchSilence(from: context.eventLoop.now) }
        guard isStopping else { return }
        if isHTTP2 { sayFarewell() } else { schedule(limits.stopGrace) }
    }

    /// Handles a client's confirmation of the farewell: open streams are finished, and no other is accepted.
    func farewellWasRead() {
        guard case .frames = phase, isStopping, !isQuiescing else { return }
        isQuiescing = true
        deadline?.cancel()
        deadline = nil
        context?.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    /// Sends the farewell. A client that does not confirm it has had the time to read it after `stopGrace`.
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

    /// Counts a call whose head has arrived on an HTTP/2 stream.
    func callBegan() { open += 1 }

    /// Counts down a call that was answered, or whose stream is over.
    func callEnded() { open -= 1 }

    // MARK: - Deadlines

    /// Closes an HTTP/2 connection on which nothing was sent or received for longer than `idleTimeout` plus
    /// `headTimeout`.
    ///
    /// HTTP/2's own idle handling is not enough. The library sends GOAWAY to an idle client and then waits for the
    /// answer to a ping. A header that is begun and never continued is not a stream yet.
    ///
    /// A connection with an open call is not idle, however long the answer takes, because the call has limits of its
    /// own.
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
