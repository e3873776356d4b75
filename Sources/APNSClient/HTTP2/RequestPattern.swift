import APNSModel
import NIOCore

/// The parts of a request that similar pushes share: everything except stream id, device token, push id and body.
///
/// A matching request is five runs of bytes, written at once: no field lookup, and one request for space. The pattern
/// is valid as long as the fields keep their indices.
struct RequestPattern {
    let topic: Topic
    let priority: PushPriority
    let expiration: PushExpiration
    /// Number of hexadecimal digits of the token.
    let hexCount: Int
    /// The header block before the token.
    let head: [UInt8]
    /// The header block between the token and the id.
    let middle: [UInt8]
    /// The header block after the id.
    let tail: [UInt8]

    private var blockCount: Int { head.count + hexCount + middle.count + PushID.textLength + tail.count }

    /// Writes the HEADERS frame of a push, and with `withBody` its body in one DATA frame.
    ///
    /// - Returns: `false` if the push does not match. Nothing is written then.
    func write(_ push: Attempt, streamID: UInt32, withBody: Bool, to output: inout ByteBuffer) -> Bool {
        guard push.priority == priority, push.collapseID == nil, push.expiration == expiration,
            push.pushType == topic.pushType,
            // With the type it determines the topic's text, and it is usually the same object.
            push.bundleID == topic.bundleID
        else { return false }
        var hex = push.hex
        return hex.withUTF8 { hex in
            guard hex.count == hexCount else { return false }
            push.payload.withUnsafeBytes { body in
                write(hex, push.id, streamID, withBody ? body : nil, to: &output)
            }
            return true
        }
    }

    private func write(
        _ hex: UnsafeBufferPointer<UInt8>, _ id: PushID, _ streamID: UInt32, _ body: UnsafeRawBufferPointer?,
        to output: inout ByteBuffer
    ) {
        let bodyCount = body.map { FrameHeader.size + $0.count } ?? 0
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + blockCount + bodyCount) { room in
            var cursor = Cursor(room)
            cursor.put(
                FrameHeader(
                    length: blockCount, type: FrameType.headers, flags: FrameFlag.endHeaders, streamID: streamID))
            head.withUnsafeBytes { cursor.put($0) }
            cursor.put(UnsafeRawBufferPointer(hex))
            middle.withUnsafeBytes { cursor.put($0) }
            id.write(to: cursor.take(PushID.textLength))
            tail.withUnsafeBytes { cursor.put($0) }
            if let body {
                cursor.put(
                    FrameHeader(
                        length: body.count, type: FrameType.data, flags: FrameFlag.endStream, streamID: streamID))
                cursor.put(body)
            }
            return cursor.offset
        }
    }

    /// The write position in a buffer that is large enough.
    private struct Cursor {
        private let room: UnsafeMutableRawBufferPointer
        private(set) var offset = 0

        init(_ room: UnsafeMutableRawBufferPointer) {
            self.room = room
        }

        mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
            defer { offset += count }
            return UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + count])
        }

        mutating func put(_ bytes: UnsafeRawBufferPointer) {
            take(bytes.count).copyMemory(from: bytes)
        }

        mutating func put(_ header: FrameHeader) {
            header.write(to: take(FrameHeader.size))
        }
    }
}

extension PushID {
    /// Length of an id in the header, in bytes.
    static let textLength = 36

    /// Writes the text of the id into a buffer of `textLength` bytes, eight digits at a time.
    func write(to room: UnsafeMutableRawBufferPointer) {
        func put(_ digits: UInt64, at offset: Int, shift: UInt64) {
            room.storeBytes(
                of: UInt32(truncatingIfNeeded: digits >> shift).bigEndian, toByteOffset: offset, as: UInt32.self)
        }
        let digits = (
            Self.digits(high >> 32), Self.digits(high & 0xFFFF_FFFF), Self.digits(low >> 32),
            Self.digits(low & 0xFFFF_FFFF)
        )
        room.storeBytes(of: digits.0.bigEndian, toByteOffset: 0, as: UInt64.self)
        put(digits.1, at: 9, shift: 32)
        put(digits.1, at: 14, shift: 0)
        put(digits.2, at: 19, shift: 32)
        put(digits.2, at: 24, shift: 0)
        room.storeBytes(of: digits.3.bigEndian, toByteOffset: 28, as: UInt64.self)
        for offset in [8, 13, 18, 23] { room[offset] = UInt8(ascii: "-") }
    }

    /// Returns the eight hexadecimal digits of 32 bits in ASCII, the first in the highest byte.
    private static func digits(_ word: UInt64) -> UInt64 {
        var spread = (word | word << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in the bytes of the digits a to f, whose ASCII codes lie 39 above a continuation of the digits 0 to 9.
        let letters = (spread + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return spread + 0x3030_3030_3030_3030 + letters * 39
    }
}
