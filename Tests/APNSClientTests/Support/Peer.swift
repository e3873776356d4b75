import NIOCore
import NIOHPACK

@testable import APNSClient
@testable import APNSModel

/// The peer of a `ConnectionMachine`, without a network: makes its own frames and reads the machine's.
struct Peer {
    struct Frame: Hashable, CustomStringConvertible {
        let type: UInt8
        let flags: UInt8
        let streamID: UInt32
        let payload: [UInt8]

        var description: String { "frame \(type) flags \(flags) stream \(streamID) of \(payload.count) bytes" }
    }

    var machine: ConnectionMachine
    var now = Make.time(0)
    var seen: [Frame] = []
    var settled: [Settlement] = []
    /// One token for all tests, because signing takes longer than most tests.
    private static let token = Result { try Make.key().makeToken(issuedAt: UnixTime(seconds: 1_763_700_000)) }
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var pending = ByteBuffer()

    init(limits: ConnectionLimits = ConnectionLimits(), settings: [(UInt16, UInt32)]? = [(3, 1_000)]) throws {
        machine = ConnectionMachine(authority: "127.0.0.1:2197", limits: limits, now: now)
        machine.use(try Self.token.get())
        let preface = machine.output.readString(length: 24)
        guard preface == "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" else { throw Make.Missing() }
        collect()
        if let settings { send(Self.settings(settings)) }
    }

    /// Returns a peer that has accepted a push, so that more than one stream may be open.
    static func accepting(
        limits: ConnectionLimits = ConnectionLimits(), settings: [(UInt16, UInt32)] = [(3, 1_000)]
    ) throws -> Peer {
        var peer = try Peer(limits: limits, settings: settings)
        peer.machine.tokenWasAccepted = true
        return peer
    }

    // MARK: Events

    @discardableResult
    mutating func open(_ push: Push) -> Bool {
        defer { collect() }
        return machine.open([Attempt(push)]) == 1
    }

    mutating func send(_ bytes: [UInt8]) {
        var buffer = ByteBuffer(bytes: bytes)
        machine.receive(&buffer, at: now)
        collect()
    }

    mutating func tick(_ seconds: Double) {
        now = now + .milliseconds(Int(seconds * 1_000))
        machine.tick(now)
        collect()
    }

    mutating func close(_ end: ConnectionEnd) {
        machine.close(end)
        collect()
    }

    mutating func answer(_ streamID: UInt32, status: Int, headers: [(String, String)] = [], body: String? = nil) {
        send(block([(":status", String(status))] + headers, streamID, endStream: body == nil))
        if let body { send(Self.frame(0, flags: 1, streamID, Array(body.utf8))) }
    }

    /// A HEADERS frame with these fields.
    mutating func block(
        _ headers: [(String, String)], _ streamID: UInt32, endStream: Bool, endHeaders: Bool = true
    ) -> [UInt8] {
        let fragment = encode(headers)
        return Self.frame(1, flags: (endStream ? 1 : 0) | (endHeaders ? 4 : 0), streamID, fragment)
    }

    mutating func encode(_ headers: [(String, String)]) -> [UInt8] {
        var buffer = ByteBuffer()
        try? encoder.encode(headers: HPACKHeaders(headers), to: &buffer)
        return Array(buffer.readableBytesView)
    }

    /// The fields of a HEADERS frame that the machine sent.
    mutating func fields(_ frame: Frame) throws -> [(String, String)] {
        var buffer = ByteBuffer(bytes: frame.payload)
        return try decoder.decodeHeaders(from: &buffer).map { ($0.name, $0.value) }
    }

    private mutating func collect() {
        settled.append(contentsOf: machine.settlements)
        machine.settlements.removeAll()
        pending.writeBuffer(&machine.output)
        while let header = FrameHeader.peek(pending), pending.readableBytes >= 9 + header.length {
            pending.moveReaderIndex(forwardBy: 9)
            seen.append(
                Frame(
                    type: header.type, flags: header.flags, streamID: header.streamID,
                    payload: pending.readBytes(length: header.length) ?? []))
        }
    }

    // MARK: Observations

    func frames(_ type: UInt8) -> [Frame] { seen.filter { $0.type == type } }

    /// Number of bytes of a frame that the machine did not send completely.
    var unfinishedOutput: Int { pending.readableBytes }

    var outcomes: [Settlement.Outcome] { settled.map(\.outcome) }

    var violation: ProtocolViolation? {
        if case .closed(.violation(let violation)) = machine.phase { violation } else { nil }
    }

    /// The error code of the last GOAWAY that the machine sent.
    var goAwayCode: ErrorCode? {
        frames(7).last.map { frame in ErrorCode(frame.payload[4...].reduce(0) { $0 << 8 | UInt32($1) }) }
    }

    var capacity: Int { machine.allowance(at: now).streams }

    // MARK: Frames

    static func frame(_ type: UInt8, flags: UInt8 = 0, _ streamID: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + number(streamID) + payload
    }

    static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    static func settings(_ values: [(UInt16, UInt32)]) -> [UInt8] {
        frame(4, 0, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + number($0.1) })
    }

    static func windowUpdate(_ streamID: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(8, streamID, number(increment))
    }

    static func reset(_ streamID: UInt32, _ code: UInt32) -> [UInt8] { frame(3, streamID, number(code)) }

    static func goAway(_ lastStreamID: UInt32, _ code: UInt32 = 0, debug: String = "") -> [UInt8] {
        frame(7, 0, number(lastStreamID) + number(code) + Array(debug.utf8))
    }
}

extension Attempt {
    /// Makes an attempt of a push that nobody waits for.
    init(_ push: Push) {
        self.init(PendingBatch(push, of: [push]) { _, _ in }, 0)
    }
}
