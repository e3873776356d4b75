import NIOCore
import NIOHTTP2

/// What a client of HTTP/2 hears first when the server stops: no more streams, and those that it opens until it has
/// read this are still answered (RFC 9113 section 6.8).
///
/// It goes past swift-nio-http2, which refuses every further stream from its own first GOAWAY on when none is open at
/// that moment: a request that was on its way would be lost. So its own follows when the client has read this one.
enum Farewell {
    private static let mark: [UInt8] = Array("farewell".utf8)

    /// GOAWAY with the greatest stream there can be and without an error; then a ping, whose answer tells that both
    /// were read.
    static let bytes: [UInt8] = frame(type: 7, [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]) + frame(type: 6, mark)

    /// A frame of the connection, with eight bytes.
    private static func frame(type: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [0, 0, 8, type, 0, 0, 0, 0, 0]
        return head + payload
    }

    /// Tells when the client has read it, and sees that the last word is sent: the library writes the GOAWAY that names
    /// the last stream while it reads, and closes before it flushes.
    final class Reader: ChannelDuplexHandler {
        typealias InboundIn = HTTP2Frame
        typealias InboundOut = HTTP2Frame
        typealias OutboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        private let expected = HTTP2PingData(withInteger: mark.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .ping(let data, ack: true) = unwrapInboundIn(data).payload, data == expected {
                ConnectionGuard.of(context.channel)?.farewellWasRead()
            }
            context.fireChannelRead(data)
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            context.flush()
            context.close(mode: mode, promise: promise)
        }
    }
}
