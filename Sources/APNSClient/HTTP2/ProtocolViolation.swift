/// What a peer did that RFC 9113 forbids, or that is more than we put up with. It ends the connection.
enum ProtocolViolation: Error, Hashable, Sendable {
    /// RFC 9113 section 3.4: the first frame of a server is SETTINGS.
    case missingPreface
    /// RFC 9113 section 4.2: a frame larger than we announced, or of another size than its type has.
    case frameSize(type: UInt8)
    /// RFC 9113 section 6: a frame on stream 0 that belongs to a stream, or the reverse.
    case wrongStream(type: UInt8)
    /// RFC 9113 section 5.1: a frame on a stream that we never opened.
    case idleStream(type: UInt8)
    /// RFC 9113 section 6.1 and 6.2: padding as long as the frame.
    case padding
    /// RFC 9113 section 6.10: another frame between HEADERS and its last CONTINUATION, or CONTINUATION without HEADERS.
    case headerBlockInterrupted
    /// RFC 9113 section 4.3: a header block that cannot be decoded, which leaves the compression state undefined.
    case headerCompression
    /// RFC 9113 section 8.4: PUSH_PROMISE although we disabled push.
    case pushPromise
    /// RFC 9113 section 6.5.2: a value that the setting cannot have.
    case settingValue(id: UInt16)
    /// RFC 9113 section 6.9: an increment of 0.
    case windowIncrement
    /// RFC 9113 section 6.9.1: a window above 2^31 - 1, or more DATA than our window allowed.
    case flowControl
    /// RFC 9113 section 10.5: more header bytes or CONTINUATION frames than we take.
    case headersTooLarge
    /// RFC 9113 section 10.5: more frames that carry nothing than we take.
    case flood

    /// The code of the GOAWAY that answers it.
    var errorCode: ErrorCode {
        switch self {
        case .frameSize: .frameSizeError
        case .headerCompression: .compressionError
        case .flowControl: .flowControlError
        case .headersTooLarge, .flood: .enhanceYourCalm
        case .missingPreface, .wrongStream, .idleStream, .padding, .headerBlockInterrupted, .pushPromise,
            .settingValue, .windowIncrement:
            .protocolError
        }
    }
}

/// Why a connection ended.
enum ConnectionEnd: Hashable, Sendable {
    /// It was asked to end, and its last stream is closed.
    case drained
    /// The peer broke the protocol.
    case violation(ProtocolViolation)
    /// No answer came to a keep-alive PING.
    case keepAliveTimedOut
    /// The peer took none of the bytes that wait for it.
    case writeTimedOut
    /// The peer, or the network, closed it.
    case closedByPeer
    /// It failed before it could be used, or while it was; the text is for people and holds no secret.
    case failed(String)
    /// A proxy did not open the way to the peer.
    case proxy(APNSClient.ProxyError)
    /// Its open streams did not end within the time given for stopping.
    case stopped

    /// For people.
    var text: String {
        switch self {
        case .drained: "the connection was closed after its last stream"
        case .violation(let violation): "the peer broke HTTP/2 (\(violation)); the connection was closed"
        case .keepAliveTimedOut: "the peer did not answer a PING; the connection was closed"
        case .writeTimedOut: "the peer did not read what was sent; the connection was closed"
        case .closedByPeer: "the peer closed the connection"
        case .failed(let text): text
        case .proxy(let error): error.description
        case .stopped: "the connection was closed because the client stops"
        }
    }
}
