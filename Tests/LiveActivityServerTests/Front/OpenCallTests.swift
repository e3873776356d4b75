import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2
import Synchronization
import Testing

@testable import LiveActivityServer

/// Silent HTTP/2 connections, on an in-memory channel whose time the test moves.
@Suite struct OpenCallTests {
    private static let limits = LiveActivityServer.Limits.unhurried
    /// Longest silence of a connection without a call.
    private static let silence = ConnectionGuard.amount(limits.idleTimeout + limits.headTimeout)

    /// - Parameter opened: Called with each stream that the client opens.
    private static func connection(_ opened: @escaping @Sendable (any Channel) -> Void) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        let connection = ConnectionGuard(limits: limits, isEncrypted: false)
        try pipeline.addHandler(connection)
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
        ) { stream in
            opened(stream)
            return stream.eventLoop.makeCompletedFuture {
                let pipeline = stream.pipeline.syncOperations
                try pipeline.addHandlers([HTTP2FramePayloadToHTTPServerCodec(), RequestGuard(limits: limits)])
            }
        }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        connection.negotiated(isHTTP2: true)
        try channel.writeInbound(ByteBuffer(bytes: RawFrame.greeting))
        return channel
    }

    private static func get(_ stream: UInt32) -> ByteBuffer {
        ByteBuffer(bytes: RawFrame.bytes(type: 1, flags: 5, stream: stream, RawFrame.get("/v1/activities")))
    }

    @Test func `a connection is let go after its silence, and not while a call is open on it`() throws {
        let streams = Mutex<[any Channel]>([])
        let channel = try Self.connection { stream in streams.withLock { $0.append(stream) } }
        try channel.writeInbound(Self.get(1))
        let opened = streams.withLock(\.first)
        let stream = try #require(opened)
        for _ in 0..<5 {
            channel.embeddedEventLoop.advanceTime(by: Self.silence)
            #expect(channel.isActive)
        }
        stream.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        stream.writeOutbound(HTTPResponsePart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: Self.silence - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: Self.silence)
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    @Test func `a call that its client gave up keeps no connection`() throws {
        let channel = try Self.connection { _ in }
        try channel.writeInbound(Self.get(1))
        try channel.writeInbound(Self.get(3))
        for stream: UInt32 in [1, 3] {
            #expect(channel.isActive)
            try channel.writeInbound(ByteBuffer(bytes: RawFrame.bytes(type: 3, stream: stream, [0, 0, 0, 8])))
            channel.embeddedEventLoop.advanceTime(by: Self.silence)
            channel.embeddedEventLoop.advanceTime(by: Self.silence)
        }
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    @Test func `a connection on which nothing was asked is let go`() throws {
        let channel = try Self.connection { _ in }
        channel.embeddedEventLoop.advanceTime(by: Self.silence - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }
}

extension Channel {
    fileprivate func writeOutbound(_ part: HTTPResponsePart) {
        pipeline.syncOperations.writeAndFlush(NIOAny(part), promise: nil)
    }
}
