import HTTPTypes
import JSONText
import LiveActivityServer
import NIOCore
import NIOPosix

/// An HTTP/1.1 client that decides itself when it sends and when it reads: a chunked request, a chunked answer.
///
/// Its receive buffer is small, so that unread data soon waits in the server.
final class SocketClient: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    struct Refused: Error {
        let status: String
    }

    private let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let answer: Answer

    private init(
        _ channel: any Channel, _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.channel = channel
        self.outbound = outbound
        answer = Answer(inbound)
    }

    static func connect(
        to address: LiveActivityServer.Address, _ body: @Sendable (SocketClient) async throws -> Void
    ) async throws {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_rcvbuf), value: 4096)
            .connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Connection(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(
                            backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
                            isOutboundHalfClosureEnabled: true))
                }
            }
        try await connection.executeThenClose { inbound, outbound in
            try await body(SocketClient(connection.channel, inbound, outbound))
        }
    }

    /// Sends the head. The answer's head is read with its first line.
    func begin(_ path: String, key: String, untilTaken: Bool = false) async throws {
        let head = """
            POST \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(key)\r
            Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n
            """
        while true {
            try await outbound.write(ByteBuffer(string: head))
            guard untilTaken else { return }
            if try await answer.status().contains("200") { return }
            // The request was refused, so it is finished and made again.
            try await end()
            while try await answer.nextLine() != nil {}
            await answer.startOver()
        }
    }

    func send(_ text: String) async throws {
        try await outbound.write(
            ByteBuffer(string: String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n"))
    }

    func end() async throws {
        try await outbound.write(ByteBuffer(string: "0\r\n\r\n"))
    }

    /// Returns the next line of the answer; `nil` at its end.
    func nextLine() async throws -> LineReply? {
        try await answer.nextLine().map { LineReply(json: try? JSONValue(parsing: $0)) }
    }

    /// The answer as it is read: a head, then chunks.
    private actor Answer {
        private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var raw: [UInt8] = []
        private var head: String?
        private var text: [UInt8] = []
        private var isOver = false

        init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) {
            iterator = inbound.makeAsyncIterator()
        }

        func startOver() {
            (head, isOver, text) = (nil, false, [])
        }

        func status() async throws -> String {
            if let head { return String(head.prefix { $0 != "\r\n" }) }
            while true {
                let text = String(decoding: raw, as: UTF8.self)
                if let end = text.firstRange(of: "\r\n\r\n") {
                    head = String(text[..<end.lowerBound])
                    raw = Array(text[end.upperBound...].utf8)
                    return try await status()
                }
                guard try await readMore() else { throw Refused(status: "the connection ended") }
            }
        }

        func nextLine() async throws -> String? {
            _ = try await status()
            while true {
                if let end = text.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { text.removeSubrange(...end) }
                    return String(decoding: text[..<end], as: UTF8.self)
                }
                guard !isOver else { return nil }
                if try await !takeChunk() { return nil }
            }
        }

        /// Moves the next chunk, or a whole body of known length, to the text.
        private func takeChunk() async throws -> Bool {
            if let head, let range = head.lowercased().firstRange(of: "content-length: ") {
                let length = Int(head.lowercased()[range.upperBound...].prefix { $0.isNumber }) ?? 0
                while raw.count < length { guard try await readMore() else { return false } }
                text += raw.prefix(length) + [UInt8(ascii: "\n")]
                raw.removeFirst(length)
                isOver = true
                return true
            }
            while true {
                if let end = raw.firstIndex(of: UInt8(ascii: "\n")),
                    let size = Int(String(decoding: raw[..<end].dropLast(), as: UTF8.self), radix: 16),
                    raw.count >= end + 1 + size + 2
                {
                    isOver = size == 0
                    text += raw[(end + 1)..<(end + 1 + size)]
                    raw.removeSubrange(..<(end + 1 + size + 2))
                    return true
                }
                guard try await readMore() else { return false }
            }
        }

        private func readMore() async throws -> Bool {
            var next = iterator
            let bytes = try await next.next(isolation: self)
            iterator = next
            guard let bytes else { return false }
            raw += bytes.readableBytesView
            return true
        }
    }
}
