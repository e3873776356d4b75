import NIOCore

/// Opens a tunnel through a proxy, then leaves the pipeline (RFC 9110 section 9.3.6).
///
/// The handler precedes TLS and withholds `channelActive` until the tunnel is open. For later handlers, the channel
/// begins there.
final class ProxyHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Maximum size of the answer's head in bytes.
    static let maximumHeadBytes = 8_192

    private let proxy: APNSClient.Proxy
    private let destination: APNSClient.Endpoint
    private let limit: TimeAmount
    private var head = ByteBuffer()
    private var timer: Scheduled<Void>?
    private var isDone = false

    init(_ proxy: APNSClient.Proxy, to destination: APNSClient.Endpoint, limit: TimeAmount) {
        self.proxy = proxy
        self.destination = destination
        self.limit = limit
    }

    func channelActive(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: limit) {
            let (handler, context) = bound.value
            handler.fail(.timedOut, context)
        }
        var request = "CONNECT \(destination.hostAndPort) HTTP/1.1\r\nhost: \(destination.hostAndPort)\r\n"
        if let authorization = proxy.authorization { request += "proxy-authorization: \(authorization)\r\n" }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request + "\r\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        head.writeBuffer(&bytes)
        let view = head.readableBytesView
        guard let end = view.firstRange(of: "\r\n\r\n".utf8) else {
            if view.count > Self.maximumHeadBytes { fail(.badAnswer, context) }
            return
        }
        guard let status = Self.status(view[..<end.lowerBound]) else { return fail(.badAnswer, context) }
        switch status {
        case 200..<300:
            open(context, rest: head.getSlice(at: end.upperBound, length: head.writerIndex - end.upperBound))
        case 407: fail(.authenticationRequired, context)
        default: fail(.refused(status: status), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.closed, context)
        context.fireChannelInactive()
    }

    /// Returns the status of a line such as `HTTP/1.1 200 Connection established`, or `nil`.
    static func status(_ head: ByteBufferView) -> Int? {
        let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), parts[1].utf8.count == 3, let status = Int(parts[1]),
            (100...599).contains(status)
        else { return nil }
        return status
    }

    private func open(_ context: ChannelHandlerContext, rest: ByteBuffer?) {
        isDone = true
        timer?.cancel()
        context.fireChannelActive()
        if let rest, rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func fail(_ error: APNSClient.ProxyError, _ context: ChannelHandlerContext) {
        guard !isDone else { return }
        isDone = true
        timer?.cancel()
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}
