/// The value of `apns-priority`. For a Live Activity, 10 counts against a budget of the device, and 5 does not.
public enum PushPriority: Int, Sendable, Hashable, Codable {
    /// The device's power has precedence over delivery, and the device is not woken. Live Activities use 5 instead.
    case lowest = 1
    /// Delivery takes the device's power into account, possibly in bursts.
    case low = 5
    /// Delivery is immediate.
    case high = 10
}

/// The value of `apns-expiration`, in seconds since 1970.
public enum PushExpiration: Sendable, Hashable {
    /// The header is left out. APNs decides how long to store the push, up to 30 days.
    case unspecified
    /// APNs tries once and stores nothing. Never use it for a start, because an offline phone would lose it.
    case once
    /// APNs stores the push, and retries until this time.
    case at(UnixTime)

    /// The number in the header, or `nil` if the header is left out.
    public var headerValue: Int64? {
        switch self {
        case .unspecified: nil
        case .once: 0
        // 0 means `once`, so an instant before 1970 becomes 1.
        case .at(let time): max(1, time.seconds)
        }
    }
}

/// The value of `apns-collapse-id`, 1 to 64 bytes.
public struct CollapseID: Sendable, Hashable, CustomStringConvertible {
    /// The value of the header: visible ASCII without spaces.
    public let text: String

    /// Creates an id. Returns `nil` if the text is empty, has more than 64 bytes, or contains a byte that is not
    /// visible ASCII.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    /// The value of the header.
    public var description: String { text }
}

/// The value of `apns-id`: a UUID that APNs repeats, with 8-4-4-4-12 lowercase hexadecimal digits.
public struct PushID: Sendable, Hashable, CustomStringConvertible {
    /// The first 16 hexadecimal digits.
    public let high: UInt64
    /// The last 16 hexadecimal digits.
    public let low: UInt64

    /// Creates an id from exactly these 128 bits, such as those of a stored id. For a new id, use `init(random:_:)`.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates an id from two random words. Sets the version and variant bits of RFC 9562 section 5.4.
    public init(random high: UInt64, _ low: UInt64) {
        self.high = high & ~0xF000 | 0x4000
        self.low = low & ~(3 << 62) | 2 << 62
    }

    /// Creates an id from text. Returns `nil` if the text is not a UUID in its usual form.
    public init?(_ text: some StringProtocol) {
        // Contiguous bytes, because iteration over any kind of text costs many times as much.
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
            // The third hyphen follows the sixteenth digit, at offset 18.
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

    /// The id as in the header: `123e4567-e89b-42d3-a456-426614174000`.
    public var description: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
