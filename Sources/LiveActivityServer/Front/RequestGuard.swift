import APNSModel
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Watches the requests of one connection of HTTP/1.1, or of one stream of HTTP/2: a body that does not come to its end
/// in time, an answer that nobody reads, a body that goes on although it was refused.
final class RequestGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: LiveActivityServer.Limits
    /// `nil` on a stream of HTTP/2.
    private var connection: ConnectionGuard?
    /// That of a stream's connection; `nil` on a connection of HTTP/1.1.
    private var frames: ConnectionGuard?
    /// The connection was told of this stream's call, and not of its end.
    private var isCalling = false
    private var bodyDeadline: Scheduled<Void>?
    private var readDeadline: Scheduled<Void>?
    /// The end of the newest request has not come.
    private var isReading = false
    /// Lines that are answered while they come: they may go on as long as something comes.
    private var isLines = false
    /// Requests whose answer is not finished.
    private var open = 0
    /// An answer was begun and not finished.
    private var isAnswering = false
    /// Requests whose head has come, and answers that are finished: several may be on their way (pipelining).
    private var requests = 0
    private var answers = 0
    /// The request whose answer is the last, by its number; `nil`: none is so far.
    private var last: Int?
    /// Nothing goes in or out any more.
    private var isOver = false
    /// Bytes of a body that came after its answer.
    private var unread = 0

    init(limits: LiveActivityServer.Limits) {
        self.limits = limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = ConnectionGuard.of(context.channel)
        frames = connection == nil ? context.channel.parent.flatMap(ConnectionGuard.of) : nil
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        bodyDeadline?.cancel()
        readDeadline?.cancel()
        connection = nil
        // A stream that was reset was not answered.
        endCall()
        frames = nil
    }

    private func beginCall() {
        guard let frames, !isCalling else { return }
        isCalling = true
        frames.callBegan()
    }

    /// An answer may go out without a request, to what was none.
    private func endCall() {
        guard isCalling else { return }
        isCalling = false
        frames?.callEnded()
    }

    // MARK: - What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            connection?.headCame()
            beginCall()
            open += 1
            requests += 1
            (isReading, isLines, unread) = (true, Self.isLines(head), 0)
            if head.headerFields[.connection]?.lowercased() == "close" { last = last ?? requests }
        case .body(let bytes):
            if open == 0 {
                unread += bytes.readableBytes
                guard unread <= limits.unreadBody else { return end(context) }
            }
        case .end:
            isReading = false
            bodyDeadline?.cancel()
            bodyDeadline = nil
            connection?.requestEnded()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading, !isLines, bodyDeadline == nil, !isOver {
            bodyDeadline = schedule(limits.bodyTimeout, context) { $0.bodyIsLate(context) }
        }
        context.fireChannelReadComplete()
    }

    /// Of calls that take lines alone: anywhere else the type is but a word of the client's.
    private static func isLines(_ head: HTTPRequest) -> Bool {
        guard let path = head.path?.prefix(while: { $0 != "?" }) else { return false }
        return path == "/v1/batch"
            || path.hasSuffix("/audience") && Responder.isLines(head.headerFields[.contentType] ?? "")
    }

    private func bodyIsLate(_ context: ChannelHandlerContext) {
        bodyDeadline = nil
        // Once an answer has begun, another cannot take its place.
        guard open == 1, !isAnswering else { return end(context) }
        isOver = true
        let problem = Problem(
            .requestTimeout, "the body did not come to its end within \(limits.bodyTimeout.wholeMilliseconds) ms",
            fix: "send it at once, or repeat the call")
        let bytes = Responder.document(problem, requestID: "late")
        var head = HTTPResponse(status: .requestTimeout)
        head.headerFields[.contentType] = "application/problem+json"
        head.headerFields[.contentLength] = "\(bytes.count)"
        if connection != nil { head.headerFields[.connection] = "close" }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(ByteBuffer(bytes: bytes))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }

    // MARK: - What goes

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            isAnswering = true
            if let connection {
                if connection.isStopping || head.headerFields[.connection]?.lowercased() == "close" {
                    last = answers + 1
                }
                if isLast { head.headerFields[.connection] = "close" }
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            isAnswering = false
            open -= 1
            // Lines that nobody answers any more are a body as any other.
            if open == 0 { isLines = false }
            connection?.answerEnded()
            endCall()
            let wasLast = isLast
            answers += 1
            guard connection != nil, wasLast else { return context.write(data, promise: promise) }
            context.writeAndFlush(data, promise: promise)
            // The client closes when it has read the answer; the end of a connection with bytes still unread could
            // take the answer along.
            isOver = true
            _ = schedule(limits.closeGrace, context) { $0.end(context) }
        }
    }

    /// The answer that is being written is the last of its connection.
    private var isLast: Bool { last.map { answers + 1 >= $0 } ?? false }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        readDeadline?.cancel()
        readDeadline = nil
        if !context.channel.isWritable {
            readDeadline = schedule(limits.writeTimeout, context) { $0.end(context) }
        }
        context.fireChannelWritabilityChanged()
    }

    private func end(_ context: ChannelHandlerContext) {
        isOver = true
        context.close(promise: nil)
    }

    private func schedule(
        _ duration: Duration, _ context: ChannelHandlerContext, _ expire: @escaping (RequestGuard) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: ConnectionGuard.amount(duration)) { [weak self] in
            // Removed with its channel, it has nothing to watch.
            if let self, context.channel.isActive { expire(self) }
        }
    }
}
