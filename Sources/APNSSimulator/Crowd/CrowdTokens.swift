import IsletBasics

/// The tokens of one kind of a crowd's members.
///
/// A token is a fixed function of the crowd's name, the kind and the member's number, so a load generator can compute
/// it.
///
/// A token is 32 bytes, written as 64 hexadecimal digits in lower case: four big-endian words of 64 bits.
///
/// 1. The *mark*: `m(FNV-1a-64(name + "/" + kind))` of the UTF-8 text, where kind is `pushToStart`, `update` or
///    `device`. FNV-1a starts at `cbf29ce484222325` and multiplies by `100000001b3`.
/// 2. The member's number, from 0.
/// 3. `m(mark ^ m(number))`, so that a token with a mistyped digit belongs to no member.
/// 4. `m(third word ^ mark)`.
///
/// `m(x)` is one step of SplitMix64 from the state x: add `9e3779b97f4a7c15`; `x ^= x >> 30`, times `bf58476d1ce4e5b9`;
/// `x ^= x >> 27`, times `94d049bb133111eb`; `x ^= x >> 31`; all modulo 2^64.
public struct CrowdTokens: Sendable, Hashable {
    /// The purpose of a token.
    public enum Kind: String, Sendable, Hashable, CaseIterable, Codable {
        /// A token that starts a card.
        case pushToStart
        /// A token that changes and ends the member's card. All cards of a member have the same one.
        case update
        /// A token that receives ordinary notifications.
        case device
    }

    /// The name of the crowd.
    public let crowd: String
    /// The purpose of the tokens.
    public let kind: Kind
    let mark: UInt64

    /// Creates the tokens of a kind, whether or not a simulator has the crowd.
    public init(crowd: String, kind: Kind) {
        self.crowd = crowd
        self.kind = kind
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(crowd)/\(kind.rawValue)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        mark = Self.mixed(hash)
    }

    /// The first 16 digits, which all these tokens share. ``FaultRule/tokenPrefix`` takes them.
    public var prefix: String { Self.hex([mark]) }

    /// Returns a member's token as hexadecimal text.
    public func hex(of member: Int) -> String {
        let number = UInt64(truncatingIfNeeded: member)
        let (first, second) = Self.check(mark, number)
        return Self.hex([mark, number, first, second])
    }

    /// Returns the number of the member that has the token; `nil` if it is not one of these tokens.
    public func member(of hex: String) -> Int? {
        guard let (mark, member) = Self.parse(hex), mark == self.mark else { return nil }
        return member
    }

    /// Returns the mark and the member's number of a token that some crowd may have.
    static func parse(_ hex: String) -> (mark: UInt64, member: Int)? {
        guard hex.utf8.count == 64 else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for digit in hex.utf8 {
            guard let value = value(of: digit) else { return nil }
            words.0 = words.0 << 4 | words.1 >> 60
            words.1 = words.1 << 4 | words.2 >> 60
            words.2 = words.2 << 4 | words.3 >> 60
            words.3 = words.3 << 4 | value
        }
        guard (words.2, words.3) == check(words.0, words.1), let member = Int(exactly: words.1) else { return nil }
        return (words.0, member)
    }

    private static func value(of digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        default: nil
        }
    }

    private static func check(_ mark: UInt64, _ number: UInt64) -> (UInt64, UInt64) {
        let first = mixed(mark ^ mixed(number))
        return (first, mixed(first ^ mark))
    }

    private static func mixed(_ word: UInt64) -> UInt64 {
        var dice = SplitMix64(seed: word)
        return dice.next()
    }

    private static func hex(_ words: [UInt64]) -> String {
        String(unsafeUninitializedCapacity: words.count * 16) { text in
            for (place, word) in words.enumerated() {
                for digit in 0..<16 {
                    let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * digit)) & 15
                    text[place * 16 + digit] = value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                }
            }
            return words.count * 16
        }
    }
}
