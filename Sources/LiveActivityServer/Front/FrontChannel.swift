import APNSModel
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP2
import NIOSSL
import NIOTLS

/// The protocol of a connection: HTTP/1.1 without encryption or, with certificates, HTTP/2 or HTTP/1.1 over TLS.
///
/// HTTP/2's own limits are those of swift-nio-http2. A connection that exceeds them ends with ENHANCE_YOUR_CALM:
/// - 100 streams
/// - header lists of 16 KiB
/// - 5 continuation frames in a row
/// - 200 control frames and 200 resets within 30 s
struct FrontChannel: Sendable {
    enum Connection: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
    }

    let certificates: Certificates?
    private let http1: HTTP1Channel
    private let http2: HTTP2Channel
    private let limits: LiveActivityServer.Limits
    private let logger: Logger
    private let addresses: AddressRoom

    init(
        certificates: Certificates?, limits: LiveActivityServer.Limits, logger: Logger,
        responder: @escaping HTTPChannelHandler.Responder
    ) {
        self.certificates = certificates
        self.limits = limits
        self.logger = logger
        addresses = AddressRoom(limits)
        let requests = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestGuard(limits: limits)],
            idleTimeout: .nanoseconds(limits.idleTimeout.wholeNanoseconds),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))
        http1 = HTTP1Channel(responder: responder, configuration: requests)
        http2 = HTTP2Channel(
            responder: responder,
            configuration: .init(
                idleTimeout: limits.idleTimeout, gracefulCloseTimeout: limits.stopTimeout,
                streamConfiguration: requests))
    }

    func setUp(_ channel: any Channel) -> EventLoopFuture<EventLoopFuture<Connection>> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(AddressGuard(addresses))
            guard let certificates else {
                try pipeline.addHandler(ConnectionGuard(limits: limits, isEncrypted: false))
                return speakHTTP1(channel)
            }
            try pipeline.addHandler(NIOSSLServerHandler(context: certificates.context))
            try pipeline.addHandler(ConnectionGuard(limits: limits, isEncrypted: true))
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Connection> { result, channel in
                switch result {
                case .negotiated(Certificates.http2):
                    let connection = http2.setup(channel: channel, logger: logger).map(Connection.http2)
                    return connection.flatMapThrowing { connection in
                        let pipeline = channel.pipeline.syncOperations
                        // Added before the library's handler that closes the connection.
                        let frames = try pipeline.handler(type: NIOHTTP2Handler.self)
                        try pipeline.addHandler(Farewell.Reader(), position: .after(frames))
                        ConnectionGuard.of(channel)?.negotiated(isHTTP2: true)
                        return connection
                    }
                case .negotiated, .fallback:
                    ConnectionGuard.of(channel)?.negotiated(isHTTP2: false)
                    return speakHTTP1(channel)
                }
            }
            try pipeline.addHandler(negotiation)
            return negotiation.protocolNegotiationResult
        }
    }

    private func speakHTTP1(_ channel: any Channel) -> EventLoopFuture<Connection> {
        http1.setup(channel: channel, logger: logger).map { value in
            // swift-nio ends the process if this value is released before it was served or closed. A stopping server
            // may accept a connection that nobody serves any more, so the value is kept until the connection closes.
            channel.closeFuture.whenComplete { _ in withExtendedLifetime(value) {} }
            return Connection.http1(value)
        }
    }

    func handle(_ connection: EventLoopFuture<Connection>) async {
        do {
            switch try await connection.get() {
            case .http1(let value): await http1.handle(value: value, logger: logger)
            case .http2(let value): await http2.handle(value: value, logger: logger)
            }
        } catch {
            logger.debug("a connection was not set up", metadata: ["error": "\(error)"])
        }
    }
}
