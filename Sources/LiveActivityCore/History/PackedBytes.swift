/// Writer of a compact binary format, for data that the store keeps in large amounts and never searches.
///
/// Numbers are variable-length integers in base 128, low groups first. Signed numbers use zigzag encoding. Texts follow
/// their length.
package struct PackedWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init(reserving capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func unsigned(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Writes a signed number in zigzag encoding, so that small negative numbers stay short.
    package mutating func signed(_ value: Int64) {
        unsigned(UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    package mutating func words(_ high: UInt64, _ low: UInt64) {
        for word in [high, low] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
    }

    package mutating func text(_ text: String) {
        unsigned(UInt64(text.utf8.count))
        bytes += text.utf8
    }

    package mutating func append(_ other: Self) {
        bytes += other.bytes
    }
}

/// Reader of the format of `PackedWriter`. Its methods return `nil` if the bytes are not in that format.
package struct PackedReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var isAtEnd: Bool { position == bytes.count }

    package mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func unsigned() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard let byte = byte() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }

    package mutating func signed() -> Int64? {
        unsigned().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
    }

    package mutating func word() -> UInt64? {
        var value: UInt64 = 0
        for _ in 0..<8 {
            guard let byte = byte() else { return nil }
            value = value << 8 | UInt64(byte)
        }
        return value
    }

    package mutating func text() -> String? {
        guard let length = unsigned(), length <= UInt64(bytes.count - position) else { return nil }
        defer { position += Int(length) }
        return String(decoding: bytes[position..<position + Int(length)], as: UTF8.self)
    }
}
