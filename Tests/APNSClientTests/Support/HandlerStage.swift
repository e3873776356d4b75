import APNSModel
import HTTP2TestServer
import Logging
import NIOCore
import NIOEmbedded
import NIOTLS
import Synchronization

@testable import APNSClient

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
    private let now = Mutex(Make.time(0))

    var time: TimeSource {
        TimeSource(
            wall: { UnixTime(seconds: 1_763_700_000) + (self.now.withLock { $0 } - Make.time(0)) },
            monotonic: { self.now.withLock { $0 } })
    }

    func advance(_ seconds: Double) {
        now.withLock { $0 = $0 + .milliseconds(Int(seconds * 1_000)) }
    }
}

/// A pool with one connection on a stage. It records its events as text.
final class StagedPool: ConnectionOwner {
    private struct State {
        var machine: PoolMachine
        var wakes = 0
        var events: [String] = []
    }

    private let clock: ManualClock
    private let state: Mutex<State>

    init(_ clock: ManualClock) {
        self.clock = clock
        let limits = PoolMachine.Limits(connections: 4, queue: .init(waiting: 1_000, lowPriorityTurn: 8))
        let backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        state = Mutex(State(machine: PoolMachine(limits, backoff: backoff)))
    }

    var events: [String] { state.withLock { $0.events } }
    /// The pushes that wait, in order.
    var waiting: [UInt64] {
        state.withLock { state in
            var queue = state.machine.queue
            var numbers: [UInt64] = []
            while let attempt = queue.removeNext() { numbers.append(attempt.id.low) }
            return numbers
        }
    }

    func enqueue(_ attempts: [Attempt]) {
        perform { $0.enqueue(attempts, now: self.clock.time.monotonic()) }
    }

    /// Returns `true` if the connection was to be woken since the last call.
    func takeWake() -> Bool {
        state.withLock { state in
            defer { state.wakes = 0 }
            return state.wakes > 0
        }
    }

    private func perform(_ event: (inout PoolMachine) -> PoolMachine.Actions) {
        let failed = state.withLock { state in
            let actions = event(&state.machine)
            if let dial = actions.dial { state.events.append("dial \(dial.id)") }
            if actions.wake != nil { state.wakes += 1 }
            return actions.fail
        }
        for (attempt, failure) in failed { attempt.complete(.failure(failure)) }
    }

    private func note(_ event: String) { state.withLock { $0.events.append(event) } }

    // MARK: ConnectionOwner

    func pull(
        _ connection: PoolMachine.ConnectionID, _ allowance: ConnectionMachine.Allowance, now: MonotonicTime,
        into batch: inout [Attempt]
    ) {
        perform { $0.pull(connection, allowance, now: now, into: &batch) }
    }

    func requeue(_ attempts: [Attempt]) {
        note("requeue \(attempts.count)")
        perform { $0.requeue(attempts, now: self.clock.time.monotonic()) }
    }

    func connectionHasRoom(_ connection: PoolMachine.ConnectionID) {
        state.withLock { $0.machine.hasRoom(connection) }
    }

    func connectionIsReady(_ connection: PoolMachine.ConnectionID) {
        state.withLock { $0.machine.ready(connection) }
    }

    func connectionRetires(_ connection: PoolMachine.ConnectionID, wasUseful: Bool) {
        note("retire")
        perform { $0.retire(connection, wasUseful: wasUseful, now: self.clock.time.monotonic(), dice: 0) }
    }

    func connectionEnded(_ connection: PoolMachine.ConnectionID, _ end: ConnectionEnd, wasUseful: Bool) {
        note("end \(end.text)")
        perform { $0.ended(connection, nil, wasUseful: wasUseful, now: self.clock.time.monotonic(), dice: 0) }
    }

    func connectionRenewedToken(_ connection: PoolMachine.ConnectionID, issuedAt: UnixTime) { note("token") }
    func connectionReports(_ connection: PoolMachine.ConnectionID, _ status: APNSClient.ConnectionStatus) {}
}

/// A `ConnectionHandler` on an in-memory channel without TLS, with a pool of its own and a peer that the test plays. It
/// uses no thread, no network and only the manual clock.
final class HandlerStage {
    let clock = ManualClock()
    let pool: StagedPool
    let outcomes = Outcomes()
    private let handler: ConnectionHandler
    private let channel = EmbeddedChannel()
    private var bytes = ByteBuffer()
    private(set) var seen: [Peer.Frame] = []
    private let afterFirst = AfterFirst()

    /// Makes a connected stage whose first push, number 0, is open.
    init(limits: ConnectionLimits = ConnectionLimits()) throws {
        pool = StagedPool(clock)
        let context = ConnectionContext(
            endpoint: try .init(host: "127.0.0.1", port: 1),
            security: try TransportSecurity(.pem(TestAuthority().rootPEM), host: "127.0.0.1"),
            signer: ProviderTokenSigner(try Make.key()), time: clock.time, limits: limits, proxy: nil,
            connectTimeout: .seconds(10), writeTimeout: .seconds(10),
            logger: Logger(label: "stage", factory: { _ in SwiftLogNoOpLogHandler() }), dice: { 0 }, dateReceived: nil)
        handler = ConnectionHandler(id: 1, context, owner: pool)
        try channel.pipeline.syncOperations.addHandler(handler)
        let afterFirst = afterFirst
        pool.enqueue(attempts(try [Make.push(0)]) { _ in afterFirst.action.withLock { $0 }?() })
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.pipeline.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
        try send(Peer.settings([(3, 1_000)]))
    }

    private final class AfterFirst: Sendable {
        let action = Mutex<(@Sendable () -> Void)?>(nil)
    }

    /// Sets an action for the outcome of the first push.
    func whenFirstIsAnswered(_ action: @escaping @Sendable () -> Void) {
        afterFirst.action.withLock { $0 = action }
    }

    /// Returns a stage whose first push was accepted.
    static func accepting(limits: ConnectionLimits = ConnectionLimits()) throws -> HandlerStage {
        let stage = try HandlerStage(limits: limits)
        try stage.answer(limits.firstStreamID)
        return stage
    }

    func attempts(_ pushes: [Push], then: (@Sendable (Int) -> Void)? = nil) -> [Attempt] {
        let outcomes = outcomes
        let numbers = pushes.map { Int($0.request.id.low) }
        guard let first = pushes.first else { return [] }
        let batch = PendingBatch(first, of: pushes) { index, result in
            outcomes.record(numbers[index], result)
            then?(numbers[index])
        }
        return pushes.indices.map { Attempt(batch, $0) }
    }

    /// - Parameter then: Called with the number of each push when its outcome is known.
    func submit(_ pushes: [Push], then: (@Sendable (Int) -> Void)? = nil) throws {
        pool.enqueue(attempts(pushes, then: then))
        try run()
    }

    /// Wakes the handler if that was due and reads what it wrote.
    private func run() throws {
        while pool.takeWake() { handler.wake() }
        while var written = try channel.readOutbound(as: ByteBuffer.self) { bytes.writeBuffer(&written) }
        if bytes.readableBytesView.starts(with: "PRI".utf8) { bytes.moveReaderIndex(forwardBy: 24) }
        while let header = FrameHeader.peek(bytes), bytes.readableBytes >= FrameHeader.size + header.length {
            bytes.moveReaderIndex(forwardBy: FrameHeader.size)
            seen.append(
                Peer.Frame(
                    type: header.type, flags: header.flags, streamID: header.streamID,
                    payload: bytes.readBytes(length: header.length) ?? []))
        }
    }

    // MARK: The peer

    func send(_ bytes: [UInt8]) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        try run()
    }

    /// Answers with 200, or with another status and a reason.
    func answer(_ streamID: UInt32, status: Int = 200, reason: String? = nil) throws {
        // A literal without indexing, with the name of entry 8 of the static table.
        let block = [0x08, 0x03] + Array(String(status).utf8)
        guard let reason else { return try send(Peer.frame(1, flags: 5, streamID, block)) }
        let body = Array(#"{"reason":"\#(reason)"}"#.utf8)
        try send(Peer.frame(1, flags: 4, streamID, block) + Peer.frame(0, flags: 1, streamID, body))
    }

    /// The streams that were opened.
    var streams: [UInt32] { seen.filter { $0.type == FrameType.headers }.map(\.streamID) }

    /// The bytes of the last header block, as text.
    var lastBlock: String {
        seen.last { $0.type == FrameType.headers }.map { String(decoding: $0.payload, as: UTF8.self) } ?? ""
    }

    // MARK: Time

    /// Moves the clock on and runs the connection's timer once.
    func wait(_ seconds: Double) throws {
        clock.advance(seconds)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(50))
        try run()
    }

    func drain() throws {
        handler.drain()
        try run()
    }
}
