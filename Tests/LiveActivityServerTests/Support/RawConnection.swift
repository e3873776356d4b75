import LiveActivityServer
import NIOCore
import NIOPosix
import NIOSSL

/// A connection that sends bytes unchanged and shows the answer, for input that no client would send.
struct RawConnection: Sendable {
    private typealias Wrapped = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let received: Received

    /// - Parameter protocols: The protocols of TLS; `nil` for a connection without TLS.
    static func open(
        _ address: LiveActivityServer.Address, protocols: [String]? = nil,
        tls change: @escaping @Sendable (inout TLSConfiguration) -> Void = { _ in },
        _ body: @Sendable (RawConnection) async throws -> Void
    ) async throws {
        let context = try protocols.map { protocols in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateVerification = .none
            configuration.applicationProtocols = protocols
            change(&configuration)
            return try NIOSSLContext(configuration: configuration)
        }
        let wrapped = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: context, serverHostname: nil))
                    }
                    return try Wrapped(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(isOutboundHalfClosureEnabled: context == nil))
                }
            }
        try await wrapped.executeThenClose { inbound, outbound in
            try await body(
                RawConnection(channel: wrapped.channel, outbound: outbound, received: Received(inbound)))
        }
    }

    /// Sends bytes. It is not an error if the other side no longer accepts them.
    func send(_ bytes: [UInt8]) async { try? await outbound.write(ByteBuffer(bytes: bytes)) }
    func send(_ text: String) async { await send(Array(text.utf8)) }
    func finish() { outbound.finish() }

    /// Reads until the condition is met or the other side ends.
    func read(until isEnough: @Sendable ([UInt8]) -> Bool = { _ in false }) async -> [UInt8] {
        await received.read(until: isEnough)
    }

    /// Reads HTTP/2 frames until the condition is met or the other side ends.
    func frames(until isEnough: @escaping @Sendable ([RawFrame.Parsed]) -> Bool) async -> [RawFrame.Parsed] {
        RawFrame.parse(await read { isEnough(RawFrame.parse($0)) })
    }

    func text(until words: String? = nil) async -> String {
        let bytes = await read { bytes in words.map { String(decoding: bytes, as: UTF8.self).contains($0) } ?? false }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until the words are there, and returns everything heard so far. The text remains readable.
    func heard(until words: String? = nil) async -> String {
        let bytes = await received.read(keepsAll: true) { bytes in
            words.map { String(decoding: bytes, as: UTF8.self).contains($0) } ?? false
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends the text repeatedly, as slowly as a malicious client.
    func drip(_ text: String, every interval: TimeAmount) {
        let channel = channel
        channel.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { task in
            guard channel.isActive else { return task.cancel() }
            channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        }
    }

    private actor Received {
        private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var bytes: [UInt8] = []

        init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) {
            iterator = inbound.makeAsyncIterator()
        }

        func read(keepsAll: Bool = false, until isEnough: @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
            var next = iterator
            while !isEnough(bytes), let more = try? await next.next(isolation: self) {
                bytes += more.readableBytesView
            }
            iterator = next
            defer { if !keepsAll { bytes = [] } }
            return bytes
        }
    }
}

/// Frames of HTTP/2 (RFC 9113), written and read byte by byte.
enum RawFrame {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The preface and empty settings.
    static let greeting = preface + bytes(type: 4)

    static func bytes(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        var bytes = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
        bytes += [UInt8(stream >> 24 & 0x7F), UInt8(stream >> 16 & 0xFF), UInt8(stream >> 8 & 0xFF)]
        return bytes + [UInt8(stream & 0xFF)] + payload
    }

    /// Returns a GET of this path as a header block without compression.
    static func get(_ path: String) -> [UInt8] {
        [0x82, 0x87, 0x04, UInt8(path.utf8.count)] + path.utf8 + [0x01, 1] + "x".utf8
    }

    /// Returns the head of a PUT with a key, whose body follows.
    static func put(_ path: String, key: String) -> [UInt8] {
        let method: [UInt8] = [0x87, 0x02, 3] + "PUT".utf8
        let target: [UInt8] = [0x04, UInt8(path.utf8.count)] + path.utf8 + [0x01, 1] + "x".utf8
        return method + target + field("authorization", "Bearer \(key)")
    }

    /// Returns a field that is not kept in the dynamic table.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0x00, UInt8(name.utf8.count)] + name.utf8 + length(value.utf8.count) + value.utf8
    }

    /// Returns the length of a string (RFC 7541 section 5.1, a prefix of seven bits).
    static func length(_ value: Int) -> [UInt8] {
        guard value >= 127 else { return [UInt8(value)] }
        var (bytes, rest) = ([UInt8(127)], value - 127)
        while rest >= 128 {
            bytes.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }

    struct Parsed: Equatable {
        let type: UInt8
        var flags: UInt8 = 0
        let stream: UInt32
        let payload: [UInt8]

        /// Returns `true` for the last frame of this stream's answer.
        func isEnd(of stream: UInt32) -> Bool { self.stream == stream && type <= 1 && flags & 1 == 1 }
        /// `true` for a PING that waits for its answer.
        var isPing: Bool { type == 6 && flags & 1 == 0 }
        var acknowledged: [UInt8] { RawFrame.bytes(type: 6, flags: 1, payload) }
        /// The last stream that a GOAWAY answers. Its error follows.
        var lastStream: UInt32 { payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
        var error: UInt32 { payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    static func parse(_ bytes: [UInt8]) -> [Parsed] {
        var (frames, rest): ([Parsed], ArraySlice<UInt8>) = ([], bytes[...])
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard rest.count >= 9 + length else { break }
            let stream = head[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            frames.append(
                Parsed(
                    type: head[3], flags: head[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}
