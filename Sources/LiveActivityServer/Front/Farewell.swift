import NIOCore
import NIOHTTP2

/// The first message to an HTTP/2 client when the server stops (RFC 9113 section 6.8).
///
/// It says that no more streams are accepted. Streams that the client opens before it has read the message are still
/// answered.
///
/// The message bypasses swift-nio-http2. If no stream is open, that library refuses every further stream from its own
/// first GOAWAY on, so a request on its way would be lost. The library's GOAWAY follows once the client has read this
/// one.
enum Farewell {
    private static let mark: [UInt8] = Array("farewell".utf8)

    /// A GOAWAY with the greatest possible stream and without an error, then a ping. The ping's answer shows that the
    /// client has read both.
    static let bytes: [UInt8] = frame(type: 7, [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]) + frame(type: 6, mark)

    /// Returns a frame of the connection with a payload of eight bytes.
    private static func frame(type: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [0, 0, 8, type, 0, 0, 0, 0, 0]
        return head + payload
    }

    /// A channel handler that reports when the client has read the farewell, and flushes before closing.
    ///
    /// The library writes the GOAWAY that names the last stream while it reads, and closes before it flushes.
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
