/// The value of `apns-priority`. Of a Live Activity, 10 counts against a budget of the device, 5 does not.
public enum PushPriority: Int, Sendable, Hashable, Codable {
    /// The device's power goes before everything else: it is not woken. Not for Live Activities, which go at 5 instead.
    case lowest = 1
    /// Delivered with regard to the device's power, possibly in bursts.
    case low = 5
    /// Delivered at once.
    case high = 10
}

/// The value of `apns-expiration`, in seconds since 1970.
public enum PushExpiration: Sendable, Hashable {
    /// The header is left out: APNs stores the push as long as it sees fit, up to 30 days.
    case unspecified
    /// One attempt, nothing stored. Never for a start: an offline phone would lose it.
    case once
    /// Stored and retried until then.
    case at(UnixTime)

    /// The header's number; `nil` when there is none.
    public var headerValue: Int64? {
        switch self {
        case .unspecified: nil
        case .once: 0
        // 0 has the other meaning, so an instant before 1970 becomes the earliest that has not.
        case .at(let time): max(1, time.seconds)
        }
    }
}

/// The value of `apns-collapse-id`: 1 to 64 bytes.
public struct CollapseID: Sendable, Hashable, CustomStringConvertible {
    /// The header's value: visible ASCII without spaces.
    public let text: String

    /// `nil` when the text is empty, over 64 bytes, or holds a byte that a header cannot carry.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// The header's value.
    public var description: String { text }
}

/// The value of `apns-id`: a UUID that APNs echoes, 8-4-4-4-12 lower-case hexadecimal digits.
public struct PushID: Sendable, Hashable, CustomStringConvertible {
    /// The first 16 hexadecimal digits.
    public let high: UInt64
    /// The last 16 hexadecimal digits.
    public let low: UInt64

    /// Exactly these 128 bits, as a store kept them; a new id is `init(random:_:)`.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An id from two random words, with the version and variant bits of RFC 9562 section 5.4 set.
    public init(random high: UInt64, _ low: UInt64) {
        self.high = high & ~0xF000 | 0x4000
        self.low = low & ~(3 << 62) | 2 << 62
    }

    /// `nil` when the text is not a UUID in its usual form.
    public init?(_ text: some StringProtocol) {
        // Bytes in one piece: to walk through any kind of text costs many times as much.
        var text = String(text)
        guard let words = text.withUTF8(Self.words) else { return nil }
        self.init(high: words.high, low: words.low)
    }

    private static func words(_ bytes: UnsafeBufferPointer<UInt8>) -> (high: UInt64, low: UInt64)? {
        guard bytes.count == 36 else { return nil }
        var words = (high: UInt64(0), low: UInt64(0))
        for (offset, byte) in bytes.enumerated() {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "-") where offset == 8 || offset == 13 || offset == 18 || offset == 23: continue
            case _ where offset == 8 || offset == 13 || offset == 18 || offset == 23: return nil
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            // The third of the hyphens stands behind the sixteenth digit.
            if offset < 19 {
                words.high = words.high << 4 | UInt64(digit)
            } else {
                words.low = words.low << 4 | UInt64(digit)
            }
        }
        return words
    }

    /// Appends the 36 ASCII bytes of the id.
    public func write(to bytes: inout [UInt8]) {
        for (index, word) in [high, low].enumerated() {
            for digit in 0..<16 {
                if index == 0 ? (digit == 8 || digit == 12) : (digit == 0 || digit == 4) {
                    bytes.append(UInt8(ascii: "-"))
                }
                let value = UInt8(truncatingIfNeeded: word >> (60 - UInt64(digit) * 4)) & 15
                bytes.append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
            }
        }
    }

    /// The id as the header has it: `123e4567-e89b-42d3-a456-426614174000`.
    public var description: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
