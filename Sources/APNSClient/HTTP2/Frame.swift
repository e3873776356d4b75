import NIOCore

/// The frame types of RFC 9113 section 6. Other types are ignored (RFC 9113 section 5.5).
enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let rstStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
}

/// The flags of RFC 9113 section 6.
enum FrameFlag {
    static let endStream: UInt8 = 0x1
    static let ack: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}

/// The settings of RFC 9113 section 6.5.2. Other settings are ignored.
enum SettingID {
    static let headerTableSize: UInt16 = 1
    static let enablePush: UInt16 = 2
    static let maxConcurrentStreams: UInt16 = 3
    static let initialWindowSize: UInt16 = 4
    static let maxFrameSize: UInt16 = 5
    static let maxHeaderListSize: UInt16 = 6
}

/// An error code of RFC 9113 section 7.
struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    static let noError = Self(0)
    static let protocolError = Self(1)
    static let internalError = Self(2)
    static let flowControlError = Self(3)
    static let frameSizeError = Self(6)
    static let refusedStream = Self(7)
    static let cancel = Self(8)
    static let compressionError = Self(9)
    static let enhanceYourCalm = Self(11)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    let value: UInt32

    init(_ value: UInt32) {
        self.value = value
    }

    var description: String { value < Self.names.count ? Self.names[Int(value)] : "error \(value)" }
}

/// The 9 bytes before every frame (RFC 9113 section 4.1).
struct FrameHeader: Hashable {
    static let size = 9
    /// Maximum size of a payload in bytes: the size that every endpoint accepts, and the largest that the client
    /// announces (RFC 9113 section 4.2).
    static let maximumPayload = 16_384

    var length: Int
    var type: UInt8
    var flags: UInt8
    var streamID: UInt32

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// Returns the header at the reader index, or `nil` while fewer than 9 bytes are available.
    static func peek(_ bytes: borrowing ByteBuffer) -> Self? {
        guard bytes.readableBytes >= size else { return nil }
        return bytes.withUnsafeReadableBytes { Self($0, at: 0) }
    }
}

extension FrameHeader {
    /// Reads the header whose 9 bytes begin at `offset`.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        let first = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        self.init(
            length: Int(first >> 40), type: UInt8(truncatingIfNeeded: first >> 32),
            flags: UInt8(truncatingIfNeeded: first >> 24),
            // The highest bit is reserved and ignored.
            streamID: (UInt32(truncatingIfNeeded: first) << 8 | UInt32(bytes[offset + 8])) & 0x7FFF_FFFF)
    }

    /// Writes the header into a buffer of at least `size` bytes.
    func write(to room: UnsafeMutableRawBufferPointer) {
        let first = UInt64(length) << 40 | UInt64(type) << 32 | UInt64(flags) << 24 | UInt64(streamID >> 8)
        room.storeBytes(of: first.bigEndian, as: UInt64.self)
        room[8] = UInt8(truncatingIfNeeded: streamID)
    }
}

extension ByteBuffer {
    mutating func writeFrameHeader(length: Int, type: UInt8, flags: UInt8, streamID: UInt32) {
        // Two writes, because each one costs a check.
        writeInteger(UInt64(length) << 40 | UInt64(type) << 32 | UInt64(flags) << 24 | UInt64(streamID >> 8))
        writeInteger(UInt8(truncatingIfNeeded: streamID))
    }

    mutating func writeSettings(_ settings: [(id: UInt16, value: UInt32)]) {
        writeFrameHeader(length: settings.count * 6, type: FrameType.settings, flags: 0, streamID: 0)
        for (id, value) in settings {
            writeInteger(id)
            writeInteger(value)
        }
    }

    mutating func writeSettingsAck() {
        writeFrameHeader(length: 0, type: FrameType.settings, flags: FrameFlag.ack, streamID: 0)
    }

    mutating func writePing(_ data: UInt64, ack: Bool) {
        writeFrameHeader(length: 8, type: FrameType.ping, flags: ack ? FrameFlag.ack : 0, streamID: 0)
        writeInteger(data)
    }

    mutating func writeReset(_ streamID: UInt32, _ code: ErrorCode) {
        writeFrameHeader(length: 4, type: FrameType.rstStream, flags: 0, streamID: streamID)
        writeInteger(code.value)
    }

    mutating func writeWindowUpdate(_ streamID: UInt32, increment: Int) {
        writeFrameHeader(length: 4, type: FrameType.windowUpdate, flags: 0, streamID: streamID)
        writeInteger(UInt32(increment))
    }

    /// Writes a GOAWAY frame. Its last stream id is always 0, because the server may not open streams.
    mutating func writeGoAway(_ code: ErrorCode) {
        writeFrameHeader(length: 8, type: FrameType.goAway, flags: 0, streamID: 0)
        writeInteger(UInt32(0))
        writeInteger(code.value)
    }
}
