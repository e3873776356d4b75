import APNSModel
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A channel handler for the requests of one HTTP/1.1 connection, or of one HTTP/2 stream.
///
/// It ends three cases: a body that takes too long, an answer that nobody reads, and a refused body that goes on.
final class RequestGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: LiveActivityServer.Limits
    /// The guard of an HTTP/1.1 connection. `nil` on an HTTP/2 stream.
    private var connection: ConnectionGuard?
    /// The guard of the HTTP/2 connection of this stream. `nil` on an HTTP/1.1 connection.
    private var frames: ConnectionGuard?
    /// `true` if `frames` has counted the begin of this stream's call, but not its end.
    private var isCalling = false
    private var bodyDeadline: Scheduled<Void>?
    private var readDeadline: Scheduled<Void>?
    /// `true` if the end of the newest request has not arrived.
    private var isReading = false
    /// `true` if lines are answered while they arrive. Such a body has no deadline of its own.
    private var isLines = false
    /// Number of requests whose answer is not finished.
    private var open = 0
    /// `true` if an answer was begun and not finished.
    private var isAnswering = false
    /// Numbers of heads that have arrived, and of finished answers. They differ by more than one with pipelining.
    private var requests = 0
    private var answers = 0
    /// Number of the request whose answer is the last on this connection. `nil` if there is none yet.
    private var last: Int?
    /// `true` if nothing is read or written any more.
    private var isOver = false
    /// Bytes of a body that arrived after its answer.
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
        // A stream that was reset has no answer.
        endCall()
        frames = nil
    }

    private func beginCall() {
        guard let frames, !isCalling else { return }
        isCalling = true
        frames.callBegan()
    }

    /// Ends the call, if one has begun. Bytes that are not a request may have an answer too.
    private func endCall() {
        guard isCalling else { return }
        isCalling = false
        frames?.callEnded()
    }

    // MARK: - Inbound

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

    /// Returns `true` for a body of lines, if its call accepts lines. For other calls the content type proves nothing,
    /// because the client chooses it.
    private static func isLines(_ head: HTTPRequest) -> Bool {
        guard let path = head.path?.prefix(while: { $0 != "?" }) else { return false }
        return path == "/v1/batch"
            || path.hasSuffix("/audience") && Responder.isLines(head.headerFields[.contentType] ?? "")
    }

    private func bodyIsLate(_ context: ChannelHandlerContext) {
        bodyDeadline = nil
        // An answer that has begun cannot be replaced.
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

    // MARK: - Outbound

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
            // Lines that nobody answers any more are treated like any other body.
            if open == 0 { isLines = false }
            connection?.answerEnded()
            endCall()
            let wasLast = isLast
            answers += 1
            guard connection != nil, wasLast else { return context.write(data, promise: promise) }
            context.writeAndFlush(data, promise: promise)
            // The client closes when it has read the answer. Closing with unread bytes could destroy the answer on its
            // way.
            isOver = true
            _ = schedule(limits.closeGrace, context) { $0.end(context) }
        }
    }

    /// `true` if the answer that is being written is the last on its connection.
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
            // A guard that was removed with its channel has nothing to watch.
            if let self, context.channel.isActive { expire(self) }
        }
    }
}
