/// A violation of RFC 9113 by the peer, or an excess of the client's limits. It ends the connection.
enum ProtocolViolation: Error, Hashable, Sendable {
    /// The server's first frame is not SETTINGS (RFC 9113 section 3.4).
    case missingPreface
    /// The frame is larger than the client allows, or its size is wrong for its type (RFC 9113 section 4.2).
    case frameSize(type: UInt8)
    /// A stream's frame came on stream 0, or a connection's frame came on a stream (RFC 9113 section 6).
    case wrongStream(type: UInt8)
    /// The frame is on a stream that the client never opened (RFC 9113 section 5.1).
    case idleStream(type: UInt8)
    /// The padding is as long as the frame (RFC 9113 sections 6.1 and 6.2).
    case padding
    /// Another frame came between HEADERS and its last CONTINUATION, or CONTINUATION without HEADERS (RFC 9113 section
    /// 6.10).
    case headerBlockInterrupted
    /// A header block could not be decoded, so the compression state is undefined (RFC 9113 section 4.3).
    case headerCompression
    /// PUSH_PROMISE came although the client disabled push (RFC 9113 section 8.4).
    case pushPromise
    /// The value is not valid for the setting (RFC 9113 section 6.5.2).
    case settingValue(id: UInt16)
    /// The increment of a window is 0 (RFC 9113 section 6.9).
    case windowIncrement
    /// A window exceeds 2^31 - 1, or DATA exceeds the client's window (RFC 9113 section 6.9.1).
    case flowControl
    /// Too many header bytes or CONTINUATION frames (RFC 9113 section 10.5).
    case headersTooLarge
    /// Too many frames that carry nothing useful (RFC 9113 section 10.5).
    case flood

    /// The code of the GOAWAY that reports the violation.
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

/// The reason why a connection ended.
enum ConnectionEnd: Hashable, Sendable {
    /// The connection was asked to end, and its last stream is closed.
    case drained
    /// The peer violated the protocol.
    case violation(ProtocolViolation)
    /// The peer did not answer a keep-alive PING.
    case keepAliveTimedOut
    /// The peer did not read the bytes that waited for it.
    case writeTimedOut
    /// The peer or the network closed the connection.
    case closedByPeer
    /// The connection failed before or during use. The text is for people and contains no secret.
    case failed(String)
    /// A proxy did not open a tunnel to the peer.
    case proxy(APNSClient.ProxyError)
    /// The open streams did not end within the time for stopping.
    case stopped

    /// A description for people.
    var text: String {
        switch self {
        case .drained: "the connection was closed after its last stream"
        case .violation(let violation): "the peer violated HTTP/2 (\(violation)); the connection was closed"
        case .keepAliveTimedOut: "the peer did not answer a PING; the connection was closed"
        case .writeTimedOut: "the peer did not read what was sent; the connection was closed"
        case .closedByPeer: "the peer closed the connection"
        case .failed(let text): text
        case .proxy(let error): error.description
        case .stopped: "the connection was closed because the client is stopping"
        }
    }
}
