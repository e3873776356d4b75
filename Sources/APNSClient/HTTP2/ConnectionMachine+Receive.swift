import APNSModel
import NIOCore

extension ConnectionMachine {
    /// Processes bytes from the peer. Frames may be split at any byte.
    mutating func receive(_ bytes: inout ByteBuffer, at now: MonotonicTime) {
        guard !isClosed else { return }
        lastHeard = now
        if provingSince != nil { (provingSince, provedAt) = (nil, now) }
        do throws(ProtocolViolation) {
            if input.readableBytes == 0 {
                try readFrames(&bytes, now)
                if !isClosed, bytes.readableBytes > 0 {
                    input.clear()
                    input.writeBuffer(&bytes)
                }
            } else {
                var all = ByteBuffer()
                swap(&all, &input)
                all.writeBuffer(&bytes)
                try readFrames(&all, now)
                if !isClosed {
                    all.discardReadBytes()
                    input = all
                }
            }
        } catch {
            close(.violation(error))
        }
    }

    private mutating func readFrames(_ bytes: inout ByteBuffer, _ now: MonotonicTime) throws(ProtocolViolation) {
        while !isClosed {
            let taken = bytes.withUnsafeReadableBytes { takeKnownAnswers($0) }
            bytes.moveReaderIndex(forwardBy: taken)
            guard !isClosed, let header = FrameHeader.peek(bytes) else { return }
            guard header.length <= FrameHeader.maximumPayload else { throw .frameSize(type: header.type) }
            guard bytes.readableBytes >= FrameHeader.size + header.length else { return }
            bytes.moveReaderIndex(forwardBy: FrameHeader.size)
            guard let payload = bytes.readSlice(length: header.length) else { return }
            try handle(header, payload, now)
        }
    }

    /// Reads the most frequent frames in place, and stops before the first other frame, which `handle` reads.
    ///
    /// These frames are an answer of the same kind as the last one, to a waiting push, and the end of its stream.
    ///
    /// - Returns: Number of bytes that were read.
    private mutating func takeKnownAnswers(_ bytes: UnsafeRawBufferPointer) -> Int {
        var offset = 0
        while !isClosed, headerBlock == nil, bytes.count - offset >= FrameHeader.size {
            let header = FrameHeader(bytes, at: offset)
            let start = offset + FrameHeader.size
            guard header.length <= FrameHeader.maximumPayload, bytes.count - start >= header.length,
                let place = ring.place(of: header.streamID)
            else { break }
            let end = start + header.length
            switch (header.type, header.flags, ring[place].phase) {
            case (FrameType.headers, FrameFlag.endHeaders, .waiting),
                (FrameType.headers, FrameFlag.endHeaders | FrameFlag.endStream, .waiting):
                guard let answer = reader.known(UnsafeRawBufferPointer(rebasing: bytes[start..<end])),
                    answer.status == 200
                else { return offset }
                accept(place, answer, header.has(FrameFlag.endStream))
            case (FrameType.data, FrameFlag.endStream, .tail) where header.length == 0: free(place)
            default: return offset
            }
            offset = end
        }
        return offset
    }

    private mutating func handle(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        if phase == .awaitingSettings {
            guard header.type == FrameType.settings, !header.has(FrameFlag.ack) else { throw .missingPreface }
        }
        if headerBlock != nil, header.type != FrameType.continuation { throw .headerBlockInterrupted }
        switch header.type {
        case FrameType.headers: try receiveHeaders(header, payload, now)
        case FrameType.continuation: try receiveContinuation(header, payload, now)
        case FrameType.data: try receiveData(header, payload, now)
        case FrameType.rstStream: try receiveReset(header, payload, now)
        case FrameType.settings: try receiveSettings(header, payload, now)
        case FrameType.ping: try receivePing(header, payload, now)
        case FrameType.goAway: try receiveGoAway(header, payload, now)
        case FrameType.windowUpdate: try receiveWindowUpdate(header, payload, now)
        case FrameType.pushPromise: throw .pushPromise
        case FrameType.priority:
            guard header.streamID != 0 else { throw .wrongStream(type: header.type) }
            guard header.length == 5 else { throw .frameSize(type: header.type) }
            try gauge.charge(now: now)
        default: try gauge.charge(now: now)
        }
    }

    // MARK: Headers

    private mutating func receiveHeaders(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID != 0 else { throw .wrongStream(type: header.type) }
        guard !ring.isIdle(header.streamID) else { throw .idleStream(type: header.type) }
        var fragment = try withoutPadding(header, payload)
        if header.has(FrameFlag.priority) {
            guard fragment.readableBytes >= 5 else { throw .frameSize(type: header.type) }
            fragment.moveReaderIndex(forwardBy: 5)
        }
        let endStream = header.has(FrameFlag.endStream)
        if header.has(FrameFlag.endHeaders) {
            try receiveBlock(fragment, header.streamID, endStream, now)
        } else {
            headerBlock = OpenHeaderBlock(streamID: header.streamID, endStream: endStream, fragments: fragment)
        }
    }

    private mutating func receiveContinuation(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard var block = headerBlock, block.streamID == header.streamID else { throw .headerBlockInterrupted }
        headerBlock = nil
        block.continuations += 1
        guard block.continuations <= ConnectionLimits.continuations,
            block.fragments.readableBytes + payload.readableBytes <= ConnectionLimits.headerListBytes
        else { throw .headersTooLarge }
        block.fragments.writeImmutableBuffer(payload)
        if header.has(FrameFlag.endHeaders) {
            try receiveBlock(block.fragments, block.streamID, block.endStream, now)
        } else {
            headerBlock = block
        }
    }

    private mutating func receiveBlock(
        _ block: ByteBuffer, _ streamID: UInt32, _ endStream: Bool, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        // A block is decoded even if its stream is closed, because it may change the compression state (RFC 9113
        // section 4.3).
        let answer = try reader.read(block)
        guard let place = ring.place(of: streamID) else { return try gauge.charge(now: now) }
        switch ring[place].phase {
        case .free: break
        case .waiting: try receiveAnswer(place, answer, endStream, now)
        case .refusal:
            // Trailers end the stream (RFC 9113 section 8.1).
            settleRefusal(place)
            if endStream { free(place) } else { reset(place, .protocolError) }
        case .tail:
            if endStream { free(place) } else { try gauge.charge(now: now) }
        }
    }

    private mutating func receiveAnswer(
        _ place: Int, _ answer: AnswerHeaders?, _ endStream: Bool, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard let answer else { return malformed(place, "its :status is missing or invalid") }
        if answer.status < 200 {
            // An interim answer cannot end a stream (RFC 9113 section 8.1).
            if endStream { malformed(place, "an interim answer ended the stream") } else { try gauge.charge(now: now) }
        } else if endStream || answer.status == 200 {
            accept(place, answer, endStream)
        } else {
            ring[place].partial = PushStream.Partial(answer)
            ring[place].phase = .refusal
        }
    }

    /// Settles a push by an answer without a body, or with status 200.
    ///
    /// Such an answer has no body that matters. Its headers are the outcome, whatever happens to the stream afterwards.
    private mutating func accept(_ place: Int, _ answer: AnswerHeaders, _ endStream: Bool) {
        settle(place, .answered(answer.answer()))
        if ring[place].unsent > 0 {
            reset(place, .cancel)
        } else if endStream {
            free(place)
        } else {
            ring[place].phase = .tail
        }
    }

    /// Settles a push whose answer is malformed, which is a stream error (RFC 9113 section 8.1.1).
    private mutating func malformed(_ place: Int, _ detail: String) {
        settle(place, .unknown("the answer violates HTTP/2: \(detail)"))
        reset(place, .protocolError)
    }

    // MARK: Bodies

    private mutating func receiveData(
        _ header: FrameHeader, _ payload: ByteBuffer, _ now: MonotonicTime
    ) throws(ProtocolViolation) {
        guard header.streamID != 0 else { throw .wrongStream(type: header.type) }
        guard !ring.isIdle(header.streamID) else { throw .idleStream(type: header.type) }
        // The whole frame counts, with its padding, even on a closed stream (RFC 9113 section 6.9.1).
        receiveWindow -= header.length
        guard receiveWindow >= 0 else { throw .flowControl }
        if receiveWindow < ConnectionLimits.connectionWindow / 2 {
            output.writeWindowUpdate(0, increment: ConnectionLimits.connectionWindow - receiveWindow)
            receiveWindow = ConnectionLimits.connectionWindow
        }
        let data = try withoutPadding(header, payload)
        let endStream = header.has(FrameFlag.endStream)
        guard let place = ring.place(of: header.streamID) else { return try gauge.charge(now: now) }
        if data.readableBytes == 0, !endStream { try gauge.charge(now: now) }
        switch ring[place].phase {
        case .free: break
        case .waiting: malformed(place, "a body came before the headers")
        case .refusal: receiveRefusal(place, data, endStream)
        case .tail:
            ring[place].tailBytes += header.length
            if endStream {
                free(place)
            } else if ring[place].tailBytes > RefusalBody.maximumBytes {
                reset(place, .cancel)
            }
        }
    }

    private mutating func receiveRefusal(_ place: Int, _ data: ByteBuffer, _ endStream: Bool) {
        guard let partial = ring[place].partial else { return }
        let tooLarge = partial.body.count + data.readableBytes > RefusalBody.maximumBytes
        if tooLarge { partial.body.removeAll() } else { partial.body.append(contentsOf: data.readableBytesView) }
        guard endStream || tooLarge else { return }
        settleRefusal(place)
        if endStream, ring[place].unsent == 0 { free(place) } else { reset(place, .cancel) }
    }

    private func withoutPadding(
        _ header: FrameHeader, _ payload: ByteBuffer
    ) throws(ProtocolViolation) -> ByteBuffer {
        guard header.has(FrameFlag.padded) else { return payload }
        var payload = payload
        guard let padding = payload.readInteger(as: UInt8.self) else { throw .frameSize(type: header.type) }
        guard let content = payload.readSlice(length: payload.readableBytes - Int(padding)) else { throw .padding }
        return content
    }
}
