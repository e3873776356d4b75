import APNSModel
import NIOCore

/// Handles the frames that carry no answer.
extension ConnectionMachine {
    mutating func receiveReset(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID != 0 else { throw .wrongStream(type: header.type) }
        guard !ring.isIdle(header.streamID) else { throw .idleStream(type: header.type) }
        guard header.length == 4, let value = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw .frameSize(type: header.type)
        }
        guard let place = ring.place(of: header.streamID) else { return try gauge.charge(now: now) }
        let code = ErrorCode(value)
        if code == .refusedStream, ring[place].partial == nil {
            settle(place, .refused("the peer refused the stream (REFUSED_STREAM)"))
        } else {
            settle(place, unanswered: "the peer reset the stream (\(code))")
        }
        free(place)
    }

    mutating func receiveSettings(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID == 0 else { throw .wrongStream(type: header.type) }
        try gauge.charge(now: now)
        if header.has(FrameFlag.ack) {
            guard header.length == 0 else { throw .frameSize(type: header.type) }
            return
        }
        guard header.length.isMultiple(of: 6) else { throw .frameSize(type: header.type) }
        // Each entry is charged, not only the frame: one frame has room for 2,730 entries.
        for _ in 0..<header.length / 6 { try gauge.charge(now: now) }
        var payload = payload
        var windowSize = peerInitialWindow
        var concurrentStreams = phase == .awaitingSettings ? Int.max : peerConcurrentStreams
        while let id = payload.readInteger(as: UInt16.self), let value = payload.readInteger(as: UInt32.self) {
            switch id {
            case SettingID.headerTableSize: writer.setPeerLimit(Int(value))
            case SettingID.enablePush: guard value == 0 else { throw .settingValue(id: id) }
            case SettingID.maxConcurrentStreams: concurrentStreams = Int(value)
            case SettingID.initialWindowSize:
                guard value <= ConnectionLimits.maximumWindow else { throw .flowControl }
                windowSize = Int(value)
            case SettingID.maxFrameSize:
                // The client sends no frame as large as 16,384 bytes, so a larger limit changes nothing.
                guard (FrameHeader.maximumPayload...0xFF_FFFF).contains(Int(value)) else { throw .settingValue(id: id) }
            default: continue
            }
        }
        peerConcurrentStreams = concurrentStreams
        try setInitialWindow(windowSize)
        output.writeSettingsAck()
        if phase == .awaitingSettings { phase = .open }
        sendBlocked()
    }

    /// Applies a new initial window to every open stream. A window may become negative (RFC 9113 section 6.9.2).
    private mutating func setInitialWindow(_ size: Int) throws(ProtocolViolation) {
        let change = size - peerInitialWindow
        peerInitialWindow = size
        guard change != 0 else { return }
        for place in ring.streams.indices where ring[place].phase != .free {
            ring[place].sendWindow += change
            guard ring[place].sendWindow <= ConnectionLimits.maximumWindow else { throw .flowControl }
        }
    }

    mutating func receivePing(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID == 0 else { throw .wrongStream(type: header.type) }
        guard header.length == 8, let data = payload.getInteger(at: payload.readerIndex, as: UInt64.self) else {
            throw .frameSize(type: header.type)
        }
        if header.has(FrameFlag.ack), pingSentAt != nil, data == pingData {
            pingSentAt = nil
            return
        }
        try gauge.charge(now: now)
        if !header.has(FrameFlag.ack) { output.writePing(data, ack: true) }
    }

    mutating func receiveGoAway(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID == 0 else { throw .wrongStream(type: header.type) }
        var payload = payload
        guard let last = payload.readInteger(as: UInt32.self), let code = payload.readInteger(as: UInt32.self) else {
            throw .frameSize(type: header.type)
        }
        try gauge.charge(now: now)
        let debug = payload.readableBytesView.prefix(ConnectionLimits.goAwayDebugBytes)
        // A later GOAWAY may only lower the bound (RFC 9113 section 6.8). If it raises the bound, the earlier one
        // stays.
        let lastStreamID = min(last & 0x7FFF_FFFF, goAway?.lastStreamID ?? .max)
        let notice = GoAway(
            lastStreamID: lastStreamID, code: ErrorCode(code), reason: RefusalBody(debug).reason ?? goAway?.reason)
        goAway = notice
        phase = .draining
        for place in ring.streams.indices where ring[place].phase != .free && ring[place].id > lastStreamID {
            if ring[place].partial == nil {
                settle(place, .refused("the peer closes the connection and did not process the push (GOAWAY)"))
            } else {
                settle(place, unanswered: "the peer closes the connection")
            }
            free(place)
        }
        closeIfDrained()
    }

    mutating func receiveWindowUpdate(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.length == 4, let value = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
            throw .frameSize(type: header.type)
        }
        let increment = Int(value & 0x7FFF_FFFF)
        try gauge.charge(now: now)
        if header.streamID == 0 {
            guard increment > 0 else { throw .windowIncrement }
            sendWindow += increment
            guard sendWindow <= ConnectionLimits.maximumWindow else { throw .flowControl }
        } else {
            guard !ring.isIdle(header.streamID) else { throw .idleStream(type: header.type) }
            guard let place = ring.place(of: header.streamID) else { return }
            ring[place].sendWindow += increment
            // RFC 9113 sections 6.9 and 6.9.1: on a stream, both are stream errors.
            if increment == 0 || ring[place].sendWindow > ConnectionLimits.maximumWindow {
                settle(place, unanswered: "the peer violated the stream's flow control")
                reset(place, increment == 0 ? .protocolError : .flowControlError)
                return
            }
        }
        let before = output.writerIndex
        sendBlocked()
        // The frame let a body continue, so it is not charged: a peer may open its windows in pieces of any size.
        if output.writerIndex > before { gauge.refund() }
    }
}
