import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// An HTTP/2 client that shows every frame exactly as the simulator sent it.
struct FrameClient: Sendable {
    let channel: any Channel
    let frames: AsyncStream<HTTP2Frame>
    /// The error that ended the connection, if it did not end in order.
    let errors: AsyncStream<any Error>

    static func connect(port: Int, caPEM: String) async throws -> FrameClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(caPEM.utf8)))
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let (frames, input) = AsyncStream.makeStream(of: HTTP2Frame.self)
        let (errors, errorInput) = AsyncStream.makeStream(of: (any Error).self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    try pipeline.addHandler(ByteToMessageHandler(WarningDecoder(input)))
                    try pipeline.addHandler(NIOHTTP2Handler(mode: .client))
                    try pipeline.addHandler(FrameRecorder(input, errorInput))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return FrameClient(channel: channel, frames: frames, errors: errors)
    }

    /// Sends one push on a stream that the caller chooses.
    func push(_ stream: Int, path: String, _ fields: [(String, String)], body: [UInt8]) async throws {
        var headers = HPACKHeaders([
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", path),
        ])
        for (name, value) in fields { headers.add(name: name, value: value) }
        let id = HTTP2StreamID(stream)
        channel.write(
            HTTP2Frame(streamID: id, payload: .headers(.init(headers: headers))), promise: nil)
        try await channel.writeAndFlush(
            HTTP2Frame(
                streamID: id,
                payload: .data(.init(data: .byteBuffer(channel.allocator.buffer(bytes: body)), endStream: true))))
    }
}

/// Records GOAWAY frames that only warn and passes on everything else. After such a frame `NIOHTTP2Handler` opens no
/// stream, which RFC 9113 section 6.8 allows to a client that has not read it yet.
private struct WarningDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    private static let headBytes = 9
    private static let goAway: UInt8 = 7
    private let input: AsyncStream<HTTP2Frame>.Continuation

    init(_ input: AsyncStream<HTTP2Frame>.Continuation) {
        self.input = input
    }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let head = buffer.peekInteger(as: UInt32.self) else { return .needMoreData }
        guard let frame = buffer.readSlice(length: Self.headBytes + Int(head >> 8)) else { return .needMoreData }
        let last = frame.getInteger(at: frame.readerIndex + Self.headBytes, as: UInt32.self)
        if UInt8(truncatingIfNeeded: head) == Self.goAway, last == UInt32(Int32.max) {
            let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
            input.yield(HTTP2Frame(streamID: .rootStream, payload: payload))
        } else {
            context.fireChannelRead(wrapInboundOut(frame))
        }
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        try decode(context: context, buffer: &buffer)
    }
}

private final class FrameRecorder: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let input: AsyncStream<HTTP2Frame>.Continuation
    private let errors: AsyncStream<any Error>.Continuation

    init(_ input: AsyncStream<HTTP2Frame>.Continuation, _ errors: AsyncStream<any Error>.Continuation) {
        self.input = input
        self.errors = errors
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        input.yield(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        input.finish()
        errors.finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        errors.yield(error)
    }
}
