import APNSModel
import NIOCore

/// An HTTP/2 connection to APNs, client side (RFC 9113): pure, no I/O, no clock.
///
/// It is told what happened and what time it is; it appends what must be sent to `output` and what came of pushes to
/// `settlements`. Whoever drives it takes both after each call and looks at `phase`. Every push that `open` took is
/// settled exactly once, at the latest by `close`.
///
/// Three kinds of unexpected events: what the peer must not do ends the connection with a `ProtocolViolation`; what it
/// must not do on one stream resets that stream; what may cross on the wire (frames on streams that we closed) is
/// ignored, and counted by `FloodGauge`.
struct ConnectionMachine {
    enum Phase: Hashable {
        /// Our preface left; nothing else does until the peer's SETTINGS came. So a connection that turns out to be
        /// useless costs no push its certainty, and no stream is opened beyond the peer's limit.
        case awaitingSettings
        case open
        /// Open streams go on, none is opened.
        case draining
        case closed(ConnectionEnd)
    }

    /// What the peer said when it began to close.
    struct GoAway: Hashable {
        let lastStreamID: UInt32
        let code: ErrorCode
        let reason: APNSReason?
    }

    /// How much may be sent now.
    struct Allowance: Hashable {
        var streams: Int
        var bytes: Int
        /// Whether what limits it passes by itself: the provider token is not accepted yet, a pause, a window. `false`:
        /// it is the number of streams that may be open.
        var isHeld: Bool
    }

    struct OpenHeaderBlock {
        let streamID: UInt32
        let endStream: Bool
        var fragments: ByteBuffer
        var continuations = 0
    }

    let limits: ConnectionLimits
    var phase = Phase.awaitingSettings
    /// Bytes for the peer; taken and emptied by the driver.
    var output: ByteBuffer
    /// Outcomes; taken and emptied by the driver.
    var settlements: [Settlement] = []
    var goAway: GoAway?

    var input = ByteBuffer()
    var headerBlock: OpenHeaderBlock?
    var reader: AnswerReader
    var writer: HeaderBlockWriter
    var ring: StreamRing
    var gauge: FloodGauge

    // What the peer allows: RFC 9113 section 6.5.2 has the values before its SETTINGS came.
    var peerConcurrentStreams = Int.max
    var peerInitialWindow = ConnectionLimits.defaultWindow
    var sendWindow = ConnectionLimits.defaultWindow
    var receiveWindow = ConnectionLimits.connectionWindow
    /// Streams whose body waits for a window, oldest first.
    var blocked: [UInt32] = []

    /// Apple allows one stream until a push with a valid provider token was accepted.
    var tokenWasAccepted = false
    var pausedUntil: MonotonicTime?
    var consecutiveTimeouts = 0
    private var settingsBy: MonotonicTime
    var lastHeard: MonotonicTime
    var pingSentAt: MonotonicTime?
    var pingData: UInt64 = 0
    /// Since when an idle connection is asked whether it still stands. Until a byte comes nothing is risked on it.
    var provingSince: MonotonicTime?
    /// It answered that question, and has not been used since.
    var provedAt: MonotonicTime?
    /// No stream's deadline is before this instant.
    private var earliestDeadline = MonotonicTime(nanoseconds: .max)

    init(authority: String, limits: ConnectionLimits, now: MonotonicTime) {
        self.limits = limits
        let allocator = ByteBufferAllocator()
        output = allocator.buffer(capacity: 64 * 1_024)
        reader = AnswerReader(allocator: allocator)
        writer = HeaderBlockWriter(authority: authority)
        ring = StreamRing(maximumOpen: max(1, limits.concurrentStreams), firstID: limits.firstStreamID)
        gauge = FloodGauge(now: now)
        lastHeard = now
        settingsBy = now + limits.settingsTimeout
        output.writeStaticString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        output.writeSettings([
            (SettingID.headerTableSize, 0), (SettingID.enablePush, 0),
            (SettingID.initialWindowSize, UInt32(ConnectionLimits.defaultWindow)),
            (SettingID.maxHeaderListSize, UInt32(ConnectionLimits.headerListBytes)),
        ])
        output.writeWindowUpdate(0, increment: ConnectionLimits.connectionWindow - ConnectionLimits.defaultWindow)
    }

    /// The connection stands, which may be long after the machine was made: from here on the peer's time runs.
    mutating func begin(at now: MonotonicTime) {
        lastHeard = now
        settingsBy = now + limits.settingsTimeout
    }

    var openStreams: Int { ring.openCount }

    /// The id of the next push's stream.
    var nextStreamID: UInt32 { ring.nextID }

    /// The most streams that may be open at this moment.
    var streamLimit: Int {
        min(limits.concurrentStreams, peerConcurrentStreams, tokenWasAccepted ? .max : 1)
    }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    // MARK: Sending

    /// No stream is opened while the connection's window is used up: a push that waits with us keeps its certainty.
    func allowance(at now: MonotonicTime) -> Allowance {
        guard phase == .open, sendWindow > 0, pausedUntil.map({ $0 <= now }) ?? true, isTrusted(at: now) else {
            return Allowance(streams: 0, bytes: 0, isHeld: true)
        }
        return Allowance(
            streams: max(0, streamLimit - ring.openCount), bytes: sendWindow, isHeld: !tokenWasAccepted)
    }

    private func isTrusted(at now: MonotonicTime) -> Bool {
        if provingSince != nil { return false }
        return pingSentAt.map { now - $0 < limits.pingPatience } ?? true
    }

    /// Whether it was idle for so long that it may have died unnoticed: a push would only find out by being lost.
    func isStale(at now: MonotonicTime) -> Bool {
        guard ring.openCount == 0, now - lastHeard >= limits.staleSilence else { return false }
        return provedAt.map { now - $0 >= limits.proofTimeout } ?? true
    }

    /// Asks the peer for a sign of life, before a push is trusted to the connection.
    mutating func prove(at now: MonotonicTime) {
        guard phase == .open, provingSince == nil else { return }
        provingSince = now
        if pingSentAt == nil { sendPing(now) }
    }

    /// The provider token of the pushes that follow.
    mutating func use(_ token: ProviderToken) {
        writer.use(token.text)
    }

    /// Opens a stream for each of these pushes, in their order; the caller has asked for an allowance.
    ///
    /// - Returns: How many streams were opened. For the pushes behind them none can be, and nothing was written.
    mutating func open(_ attempts: [Attempt]) -> Int {
        for index in attempts.indices {
            guard open(attempts[index]) else { return index }
        }
        return attempts.count
    }

    private mutating func open(_ attempt: Attempt) -> Bool {
        guard phase == .open, let place = ring.open(sendWindow: peerInitialWindow, attempt) else { return false }
        let id = ring[place].id
        gauge.streamOpened()
        provedAt = nil
        earliestDeadline = min(earliestDeadline, attempt.answerBy)
        // A payload has at most 5,120 bytes, every peer takes frames of 16,384 (RFC 9113 section 4.2).
        let size = attempt.payload.count
        let fits = size <= min(sendWindow, peerInitialWindow)
        writer.write(attempt, streamID: id, withBody: fits, to: &output)
        if fits {
            sendWindow -= size
            ring[place].sendWindow -= size
        } else {
            ring[place].unsent = size
            blocked.append(id)
            sendBlocked()
        }
        if ring.isExhausted { beginDraining() }
        return true
    }

    /// Sends what the windows allow of the bodies that wait.
    mutating func sendBlocked() {
        guard !blocked.isEmpty else { return }
        var still: [UInt32] = []
        for id in blocked {
            guard let place = ring.place(of: id), let attempt = ring[place].attempt, ring[place].unsent > 0 else {
                continue
            }
            let body = attempt.payload
            let size = min(ring[place].unsent, sendWindow, ring[place].sendWindow, FrameHeader.maximumPayload)
            if size > 0 {
                let offset = body.count - ring[place].unsent
                ring[place].unsent -= size
                ring[place].sendWindow -= size
                sendWindow -= size
                let flags = ring[place].unsent == 0 ? FrameFlag.endStream : 0
                output.writeFrameHeader(length: size, type: FrameType.data, flags: flags, streamID: id)
                output.writeBytes(body[offset..<offset + size])
            }
            if ring[place].unsent > 0 { still.append(id) }
        }
        blocked = still
    }

    /// Opens no stream until then.
    mutating func pause(until instant: MonotonicTime) {
        pausedUntil = instant
    }

    // MARK: Time

    /// Ends what is over: streams past their deadline, a PING without answer. Sends a PING into silence.
    mutating func tick(_ now: MonotonicTime) {
        guard !isClosed else { return }
        if phase == .awaitingSettings, now >= settingsBy {
            return close(.failed("no SETTINGS came from the peer: it may not speak HTTP/2"))
        }
        expireStreams(now)
        guard !isClosed else { return }
        let silence = now - lastHeard
        if let provingSince, now - provingSince >= min(limits.proofTimeout, limits.pingTimeout) {
            close(.keepAliveTimedOut)
        } else if let pingSentAt {
            if now - pingSentAt >= limits.pingTimeout { close(.keepAliveTimedOut) }
        } else if phase != .awaitingSettings,
            silence >= (ring.openCount > 0 ? limits.busySilence : limits.idleSilence)
        {
            sendPing(now)
        }
    }

    private mutating func expireStreams(_ now: MonotonicTime) {
        guard now >= earliestDeadline else { return }
        earliestDeadline = MonotonicTime(nanoseconds: .max)
        for place in ring.streams.indices where ring[place].phase != .free {
            guard ring[place].deadline <= now else {
                earliestDeadline = min(earliestDeadline, ring[place].deadline)
                continue
            }
            if ring[place].phase == .waiting { consecutiveTimeouts += 1 }
            settle(place, unanswered: "no answer came within the push's deadline")
            reset(place, .cancel)
        }
        // Silence that cost a push its answer is looked into at once, not only after the usual time.
        if consecutiveTimeouts > 0, pingSentAt == nil, now - lastHeard >= .seconds(1), !isClosed { sendPing(now) }
        if consecutiveTimeouts >= limits.consecutiveTimeouts { beginDraining() }
    }

    private mutating func sendPing(_ now: MonotonicTime) {
        pingSentAt = now
        pingData &+= 1
        output.writePing(pingData, ack: false)
    }

    // MARK: Ending

    /// Opens no stream any more, and closes after the last one.
    mutating func beginDraining() {
        switch phase {
        case .awaitingSettings: close(.drained)
        case .open:
            phase = .draining
            closeIfDrained()
        case .draining, .closed: break
        }
    }

    /// The connection is over: what is open has no answer, or only the status of one.
    mutating func close(_ end: ConnectionEnd) {
        guard !isClosed else { return }
        switch end {
        case .violation(let violation): output.writeGoAway(violation.errorCode)
        case .drained, .stopped, .keepAliveTimedOut: output.writeGoAway(.noError)
        case .closedByPeer, .failed, .proxy, .writeTimedOut: break
        }
        phase = .closed(end)
        for place in ring.streams.indices where ring[place].phase != .free {
            settle(place, unanswered: end.text)
            ring.close(place)
        }
        blocked.removeAll()
        headerBlock = nil
        input = ByteBuffer()
    }

    mutating func closeIfDrained() {
        if phase == .draining, ring.openCount == 0 { close(.drained) }
    }

    // MARK: Streams

    /// Settles a stream that ended before its answer was whole.
    ///
    /// The status of a refusal is an answer even without its body, but for those that mean a fault of the request, of
    /// the connection or of the key, and only the body says which: all that is known there is that nothing was done.
    mutating func settle(_ place: Int, unanswered detail: @autoclosure () -> String) {
        guard let partial = ring[place].partial else { return settle(place, .unknown(detail())) }
        switch partial.headers.status {
        case 400, 403: settle(place, .refused("APNs answered \(partial.headers.status), and its reason was cut off"))
        default: settleRefusal(place)
        }
    }

    /// Settles a refusal by as much of its body as there is.
    mutating func settleRefusal(_ place: Int) {
        guard let partial = ring[place].partial else { return }
        settle(place, .answered(partial.headers.answer(RefusalBody(partial.body))))
    }

    mutating func settle(_ place: Int, _ outcome: Settlement.Outcome) {
        guard let attempt = ring[place].attempt.take() else { return }
        ring[place].partial = nil
        if case .answered(let answer) = outcome {
            consecutiveTimeouts = 0
            // 403 speaks about the token, 5xx about nothing; every other answer was given to a token that is valid.
            if answer.status != 403, answer.status < 500 { tokenWasAccepted = true }
        }
        settlements.append(Settlement(attempt: attempt, streamID: ring[place].id, outcome: outcome))
    }

    /// Ends a stream from our side.
    mutating func reset(_ place: Int, _ code: ErrorCode) {
        output.writeReset(ring[place].id, code)
        free(place)
    }

    /// The stream is closed on both sides.
    mutating func free(_ place: Int) {
        if ring[place].unsent > 0 {
            let id = ring[place].id
            blocked.removeAll { $0 == id }
        }
        ring.close(place)
        closeIfDrained()
    }
}
