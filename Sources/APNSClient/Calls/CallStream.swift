import NIOCore
import NIOHTTP2
import NIOTLS

/// Performs one call on its stream: writes the request, collects the answer, and reports the outcome exactly once.
final class CallStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// Maximum size of an answer in bytes. A list of 10,000 channels has at most some hundred bytes for each.
    static let maximumBodyBytes = 4 << 20

    private let call: Call
    private let authority: String
    private let authorization: String
    private let outcome: EventLoopPromise<CallOutcome>
    private var answer: CallAnswer?
    private var isDone = false

    init(_ call: Call, authority: String, authorization: String, outcome: EventLoopPromise<CallOutcome>) {
        self.call = call
        self.authority = authority
        self.authorization = authorization
        self.outcome = outcome
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers = call.headers(authority: authority, authorization: authorization)
        let hasBody = !call.body.isEmpty
        context.write(wrapOutboundOut(.headers(.init(headers: headers, endStream: !hasBody))), promise: nil)
        if hasBody {
            let bytes = ByteBuffer(bytes: call.body)
            context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(bytes), endStream: true))), promise: nil)
        }
        context.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            if answer == nil {
                guard let read = CallAnswer(headers.headers) else {
                    return finish(.lost("the answer has no usable :status"), context)
                }
                // An interim answer is not an outcome (RFC 9113 section 8.1).
                if read.status >= 200 { answer = read }
            }
            if headers.endStream { end(context) }
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            guard (answer?.body.count ?? 0) + bytes.readableBytes <= Self.maximumBodyBytes else {
                return finish(.lost("the answer has more than \(Self.maximumBodyBytes) bytes"), context)
            }
            answer?.body.append(contentsOf: bytes.readableBytesView)
            if data.endStream { end(context) }
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let closed = error as? NIOHTTP2Errors.StreamClosed else { return finish(.lost("\(error)"), context) }
        switch closed.errorCode {
        case .refusedStream where answer == nil: finish(.refused("the peer did not process the call"), context)
        case .cancel where answer == nil: finish(.cancelled(Int(closed.streamID)), context)
        default: finish(.lost("the peer reset the stream"), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.lost("the connection was lost"), context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(.lost("the connection was lost"), context)
    }

    private func end(_ context: ChannelHandlerContext) {
        finish(answer.map(CallOutcome.answered) ?? .lost("the stream ended without an answer"), context)
    }

    private func finish(_ result: CallOutcome, _ context: ChannelHandlerContext) {
        guard !isDone else { return }
        isDone = true
        outcome.succeed(result)
        context.close(promise: nil)
    }
}

/// Waits for the end of the TLS handshake. A peer that does not speak HTTP/2 is an error.
final class HandshakeWatcher: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let promise: EventLoopPromise<Void>

    init(_ promise: EventLoopPromise<Void>) {
        self.promise = promise
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            if negotiated == "h2" { promise.succeed() } else { promise.fail(NotHTTP2()) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    struct NotHTTP2: Error, CustomStringConvertible {
        var description: String { "the host did not agree to ALPN h2" }
    }
}

/// The last handler of a connection's pipeline. It reports frames such as GOAWAY, and closes the connection after an
/// error.
final class CallConnectionWatcher: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let heard: (HTTP2Frame.FramePayload) -> Void

    init(heard: @escaping (HTTP2Frame.FramePayload) -> Void) {
        self.heard = heard
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { heard(unwrapInboundIn(data).payload) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamError || error is NIOHTTP2Errors.NoSuchStream { return }
        context.close(promise: nil)
    }
}
