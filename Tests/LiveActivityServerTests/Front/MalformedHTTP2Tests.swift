import HTTP2TestServer
import LiveActivityServer
import Synchronization
import Testing

/// Frames that no client sends, over TLS: the connection ends or the stream is refused, and the next client is served.
@Suite struct MalformedHTTP2Tests {
    struct Malformed: Sendable, CustomStringConvertible {
        let description: String
        let bytes: [UInt8]

        init(_ description: String, _ bytes: [UInt8]) {
            self.description = description
            self.bytes = bytes
        }
    }

    private static let get = RawFrame.get("/healthz")

    private static func many(_ count: Int, _ frame: (Int) -> [UInt8]) -> [UInt8] { (0..<count).flatMap(frame) }
    private static func stream(_ index: Int) -> UInt32 { UInt32(2 * index + 1) }

    /// One large field in the dynamic table with references to it: small on the wire, large in memory.
    private static let bomb: [UInt8] = {
        let value = String(repeating: "b", count: 3000)
        let kept = [0x40, 0x01] + Array("x".utf8) + RawFrame.length(value.utf8.count) + Array(value.utf8)
        return get + kept + Array(repeating: 0xBE, count: 4000)
    }()

    /// 24 KB of uncompressed fields.
    private static let long = many(24) { RawFrame.field("long-\($0)", String(repeating: "l", count: 1000)) }

    static let all: [Malformed] = [
        Malformed("another preface", Array("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
        Malformed("half a preface and noise", Array(RawFrame.preface.prefix(20)) + Array(repeating: 0xFF, count: 100)),
        Malformed("no settings first", RawFrame.preface + RawFrame.bytes(type: 1, flags: 5, stream: 1, get)),
        Malformed("data of no stream", RawFrame.greeting + RawFrame.bytes(type: 0, [1, 2, 3])),
        Malformed("a head of no stream", RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, get)),
        Malformed(
            "a head of the server's stream", RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, stream: 2, get)),
        Malformed("data of an idle stream", RawFrame.greeting + RawFrame.bytes(type: 0, stream: 7, [1])),
        Malformed("settings of a stream", RawFrame.greeting + RawFrame.bytes(type: 4, stream: 1)),
        Malformed("settings of five bytes", RawFrame.greeting + RawFrame.bytes(type: 4, [0, 3, 0, 0, 0])),
        Malformed(
            "a frame over the limit",
            RawFrame.greeting + RawFrame.bytes(type: 0, stream: 1, Array(repeating: 0, count: 20_000))),
        Malformed("a window of nothing", RawFrame.greeting + RawFrame.bytes(type: 8, [0, 0, 0, 0])),
        Malformed(
            "a window over its limit",
            RawFrame.greeting + many(2) { _ in RawFrame.bytes(type: 8, [0x7F, 0xFF, 0xFF, 0xFF]) }),
        Malformed(
            "a block that is no HPACK",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        Malformed("a header bomb", RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, stream: 1, bomb)),
        Malformed(
            "continuations without end",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 1, stream: 1, get)
                + many(2000) { _ in RawFrame.bytes(type: 9, stream: 1, RawFrame.field("a", "b")) }),
        Malformed(
            "another frame between continuations",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 1, stream: 1, get)
                + RawFrame.bytes(type: 6, Array(repeating: 0, count: 8))),
        Malformed(
            "a header block over the limit in two frames",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 1, stream: 1, get + long.prefix(16_000))
                + RawFrame.bytes(type: 9, flags: 4, stream: 1, Array(long.dropFirst(16_000)))),
        Malformed(
            "a header block over the limit whose end never comes",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 1, stream: 1, get + long.prefix(16_000))
                + RawFrame.bytes(type: 9, stream: 1, Array(long.dropFirst(16_000)))),
        Malformed(
            "a header whose end never comes", RawFrame.greeting + RawFrame.bytes(type: 1, flags: 1, stream: 1, get)),
        Malformed("a greeting and nothing else", RawFrame.greeting),
        Malformed(
            "a header list over the limit",
            RawFrame.greeting
                + RawFrame.bytes(type: 1, flags: 5, stream: 1, get + many(480) { RawFrame.field("f\($0)", "") })),
        Malformed("a flood of settings", RawFrame.greeting + many(20_000) { _ in RawFrame.bytes(type: 4) }),
        Malformed(
            "a flood of pings",
            RawFrame.greeting + many(20_000) { _ in RawFrame.bytes(type: 6, Array(repeating: 7, count: 8)) }),
        Malformed(
            "a storm of resets",
            RawFrame.greeting
                + many(2000) { index in
                    RawFrame.bytes(type: 1, flags: 5, stream: stream(index), get)
                        + RawFrame.bytes(type: 3, stream: stream(index), [0, 0, 0, 8])
                }),
        Malformed(
            "a flood of empty data",
            RawFrame.greeting + RawFrame.bytes(type: 1, flags: 4, stream: 1, get)
                + many(5000) { _ in RawFrame.bytes(type: 0, stream: 1) }),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: all)
    func `the connection ends, and the next client is served`(_ malformed: Malformed) async throws {
        var limits = LiveActivityServer.Limits.unhurried
        limits.headTimeout = .seconds(2)
        limits.idleTimeout = .seconds(2)
        limits.stopTimeout = .seconds(2)
        let short = limits
        let folder = try CertificateFolder()
        try folder.write(TestAuthority().makeIdentity())
        try await withListeningServer(limits: short, certificates: Certificates(folder.files)) { _, address in
            try await RawConnection.open(address, protocols: ["h2"]) { connection in
                await connection.send(malformed.bytes)
                let answer = await connection.read()
                #expect(answer.count < 500_000, "\(malformed): \(answer.count) bytes")
            }
            // Repeated, because a slow machine may need longer for its handshake than these limits.
            let isServed = Mutex(false)
            while !isServed.withLock(\.self), !Task.isCancelled {
                try? await RawConnection.open(address, protocols: ["h2"]) { connection in
                    await connection.send(
                        RawFrame.greeting + RawFrame.bytes(type: 1, flags: 5, stream: 1, Self.get))
                    let bytes = await connection.read { RawFrame.parse($0).contains { $0.type == 0 && $0.stream == 1 } }
                    let status = RawFrame.parse(bytes).first { $0.type == 1 }?.payload.first
                    isServed.withLock { $0 = status == 0x88 }
                }
            }
            let wasServed = isServed.withLock(\.self)
            #expect(wasServed, "\(malformed)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a hundred streams at a time, and a hundred and first is refused`() async throws {
        let folder = try CertificateFolder()
        try folder.write(TestAuthority().makeIdentity())
        try await withListeningServer(certificates: Certificates(folder.files)) { _, address in
            try await RawConnection.open(address, protocols: ["h2"]) { connection in
                // Heads without the end of their requests leave the streams open.
                await connection.send(
                    RawFrame.greeting
                        + Self.many(101) { RawFrame.bytes(type: 1, flags: 4, stream: Self.stream($0), Self.get) })
                let refused = Self.stream(100)
                let bytes = await connection.read { bytes in
                    RawFrame.parse(bytes).contains { ($0.type == 3 && $0.stream == refused) || $0.type == 7 }
                }
                let frames = RawFrame.parse(bytes)
                #expect(frames.contains { ($0.type == 3 && $0.stream == refused) || $0.type == 7 })
                // SETTINGS_MAX_CONCURRENT_STREAMS.
                let settings: [UInt8] = frames.first { $0.type == 4 }?.payload ?? []
                let offered = stride(from: 0, to: settings.count - 5, by: 6).map { Array(settings[$0..<($0 + 6)]) }
                #expect(offered.contains([0, 3, 0, 0, 0, 100]))
            }
        }
    }
}
