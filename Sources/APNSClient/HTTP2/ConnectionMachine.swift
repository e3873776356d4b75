import APNSModel
import NIOCore

/// The client side of an HTTP/2 connection to APNs (RFC 9113), as a state machine without I/O or clock.
///
/// The driver passes each event and the time. The machine appends bytes for the peer to `output` and outcomes of pushes
/// to `settlements`. After each call, the driver takes both and examines `phase`. Every push that `open` accepts is
/// settled exactly once, at the latest by `close`.
///
/// | unexpected event | reaction |
/// |---|---|
/// | violation on the connection | The connection ends with a `ProtocolViolation`. |
/// | violation on one stream | The machine resets that stream. |
/// | frame on a stream that the client has closed | The frame is ignored, because it may have crossed the reset. |
///
/// `FloodGauge` limits the number of ignored frames.
struct ConnectionMachine {
    enum Phase: Hashable {
        /// The preface is sent. Nothing else is sent until the peer's SETTINGS arrive.
        ///
        /// If the connection turns out to be useless, it therefore leaves no push with an unknown outcome. No stream is
        /// opened beyond the peer's limit.
        case awaitingSettings
        case open
        /// Open streams continue, but no new stream is opened.
        case draining
        case closed(ConnectionEnd)
    }

    /// The contents of the peer's GOAWAY.
    struct GoAway: Hashable {
        let lastStreamID: UInt32
        let code: ErrorCode
        let reason: APNSReason?
    }

    /// The amount that may be sent now.
    struct Allowance: Hashable {
        var streams: Int
        var bytes: Int
        /// `true` if the limit ends by itself: the provider token is not accepted yet, a pause, or a window. `false` if
        /// the limit is the number of open streams.
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
    /// Bytes for the peer. The driver takes and empties them.
    var output: ByteBuffer
    /// Outcomes of pushes. The driver takes and empties them.
    var settlements: [Settlement] = []
    var goAway: GoAway?

    var input = ByteBuffer()
    var headerBlock: OpenHeaderBlock?
    var reader: AnswerReader
    var writer: HeaderBlockWriter
    var ring: StreamRing
    var gauge: FloodGauge

    // The peer's limits, with the values that apply before its SETTINGS arrive (RFC 9113 section 6.5.2).
    var peerConcurrentStreams = Int.max
    var peerInitialWindow = ConnectionLimits.defaultWindow
    var sendWindow = ConnectionLimits.defaultWindow
    var receiveWindow = ConnectionLimits.connectionWindow
    /// Streams whose body waits for a window, oldest first.
    var blocked: [UInt32] = []

    /// `true` after APNs has accepted a push with a valid provider token. Until then Apple allows one stream.
    var tokenWasAccepted = false
    var pausedUntil: MonotonicTime?
    var consecutiveTimeouts = 0
    private var settingsBy: MonotonicTime
    var lastHeard: MonotonicTime
    var pingSentAt: MonotonicTime?
    var pingData: UInt64 = 0
    /// Time at which the proof of an idle connection began, or `nil`. Nothing is sent on the connection until a byte
    /// arrives.
    var provingSince: MonotonicTime?
    /// Time at which the connection answered that proof, or `nil` once it has been used since.
    var provedAt: MonotonicTime?
    /// Lower bound of all deadlines of open streams.
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

    /// Starts the peer's time limits. The connection may be established long after the machine was made.
    mutating func begin(at now: MonotonicTime) {
        lastHeard = now
        settingsBy = now + limits.settingsTimeout
    }

    var openStreams: Int { ring.openCount }

    /// The stream id of the next push.
    var nextStreamID: UInt32 { ring.nextID }

    /// Maximum number of open streams at this moment.
    var streamLimit: Int {
        min(limits.concurrentStreams, peerConcurrentStreams, tokenWasAccepted ? .max : 1)
    }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    // MARK: Sending

    /// Returns what may be sent now.
    ///
    /// No stream is opened while the connection's window is used up. A push that waits in the client cannot end with an
    /// unknown outcome.
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

    /// Returns `true` if the connection was idle for so long that it may have died unnoticed. Only the loss of a push
    /// would show that.
    func isStale(at now: MonotonicTime) -> Bool {
        guard ring.openCount == 0, now - lastHeard >= limits.staleSilence else { return false }
        return provedAt.map { now - $0 >= limits.proofTimeout } ?? true
    }

    /// Sends a PING that the peer must answer before the connection gets a push.
    mutating func prove(at now: MonotonicTime) {
        guard phase == .open, provingSince == nil else { return }
        provingSince = now
        if pingSentAt == nil { sendPing(now) }
    }

    /// Sets the provider token of later pushes.
    mutating func use(_ token: ProviderToken) {
        writer.use(token.text)
    }

    /// Opens a stream for each of these pushes, in their order. The caller has asked for an allowance.
    ///
    /// - Returns: Number of opened streams. For the remaining pushes, no stream can be opened and nothing was written.
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
        // A payload has at most 5,120 bytes, and every peer accepts frames of 16,384 bytes (RFC 9113 section 4.2).
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

    /// Sends as much of the waiting bodies as the windows allow.
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

    /// Opens no stream before this instant.
    mutating func pause(until instant: MonotonicTime) {
        pausedUntil = instant
    }

    // MARK: Time

    /// Applies the time limits: ends streams past their deadline and connections without an answer to PING. Sends a
    /// PING after silence.
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
        // A push has lost its answer in this silence, so the PING is sent now and not after the usual time.
        if consecutiveTimeouts > 0, pingSentAt == nil, now - lastHeard >= .seconds(1), !isClosed { sendPing(now) }
        if consecutiveTimeouts >= limits.consecutiveTimeouts { beginDraining() }
    }

    private mutating func sendPing(_ now: MonotonicTime) {
        pingSentAt = now
        pingData &+= 1
        output.writePing(pingData, ack: false)
    }

    // MARK: Ending

    /// Opens no more streams, and closes after the last open one.
    mutating func beginDraining() {
        switch phase {
        case .awaitingSettings: close(.drained)
        case .open:
            phase = .draining
            closeIfDrained()
        case .draining, .closed: break
        }
    }

    /// Ends the connection. Open pushes have no answer, or only the status of one.
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

    /// Settles a stream that ended before its answer was complete.
    ///
    /// The status of a refusal is an answer even without its body, except for 400 and 403. These may mean a fault of
    /// the request, the connection or the key, and only the body says which. Such a push is settled as not processed.
    mutating func settle(_ place: Int, unanswered detail: @autoclosure () -> String) {
        guard let partial = ring[place].partial else { return settle(place, .unknown(detail())) }
        switch partial.headers.status {
        case 400, 403: settle(place, .refused("APNs answered \(partial.headers.status) with a truncated reason"))
        default: settleRefusal(place)
        }
    }

    /// Settles a refusal with as much of its body as arrived.
    mutating func settleRefusal(_ place: Int) {
        guard let partial = ring[place].partial else { return }
        settle(place, .answered(partial.headers.answer(RefusalBody(partial.body))))
    }

    mutating func settle(_ place: Int, _ outcome: Settlement.Outcome) {
        guard let attempt = ring[place].attempt.take() else { return }
        ring[place].partial = nil
        if case .answered(let answer) = outcome {
            consecutiveTimeouts = 0
            // 403 is about the token, and 5xx says nothing about it. Every other answer means that the token is valid.
            if answer.status != 403, answer.status < 500 { tokenWasAccepted = true }
        }
        settlements.append(Settlement(attempt: attempt, streamID: ring[place].id, outcome: outcome))
    }

    /// Resets a stream.
    mutating func reset(_ place: Int, _ code: ErrorCode) {
        output.writeReset(ring[place].id, code)
        free(place)
    }

    /// Removes a stream that is closed on both sides.
    mutating func free(_ place: Int) {
        if ring[place].unsent > 0 {
            let id = ring[place].id
            blocked.removeAll { $0 == id }
        }
        ring.close(place)
        closeIfDrained()
    }
}
