import APNSModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A header block that was decoded before, so that an equal block needs no decoding.
///
/// Answers of one kind differ only in their `apns-id`, so the block is stored in two pieces around that value. A block
/// is stored only if it does not depend on the dynamic table and does not change it. Such a block has only entries of
/// the static table and literals without indexing (RFC 7541 sections 6.1, 6.2.2, 6.2.3). Its meaning is the same
/// whatever arrived in between.
///
/// The decoder reads all other blocks, and every value that is not clearly an id.
struct KnownAnswer {
    /// The last entry of the static table (RFC 7541 appendix A).
    private static let lastStaticIndex = 61

    /// The bytes before the length of the id's value, or all bytes of a block without an id.
    private let head: [UInt8]
    /// The bytes after the id's value, or `nil` for a block without an id.
    private let tail: [UInt8]?
    private let answer: AnswerHeaders

    /// Creates a known answer, or returns `nil` if the block depends on the dynamic table.
    ///
    /// - Parameters:
    ///   - block: A block that was decoded without an error.
    ///   - answer: The decoded answer.
    ///   - idField: The index of the field `apns-id`, or `nil` if there is none.
    init?(_ block: ByteBuffer, _ answer: AnswerHeaders, idField: Int?) {
        guard let value = Self.value(ofField: idField, in: block) else { return nil }
        let bytes = block.readableBytesView
        head = Array(bytes[..<value.lowerBound])
        tail = idField == nil ? nil : Array(bytes[value.upperBound...])
        self.answer = answer
    }

    /// Returns the answer of a block that equals this one except for the id, or `nil`.
    func answer(for block: UnsafeRawBufferPointer) -> AnswerHeaders? {
        guard let tail else { return block.equals(head) ? answer : nil }
        let end = block.count - tail.count
        guard end - head.count > 1,
            UnsafeRawBufferPointer(rebasing: block[..<head.count]).equals(head),
            UnsafeRawBufferPointer(rebasing: block[end...]).equals(tail),
            let id = PushID(encoded: UnsafeRawBufferPointer(rebasing: block[head.count..<end]))
        else { return nil }
        var answer = answer
        answer.id = id
        return answer
    }

    /// Returns the range of a field's value with its length, or the end of the block if no field is wanted.
    ///
    /// Returns `nil` if the block depends on the dynamic table or changes it.
    private static func value(ofField wanted: Int?, in block: ByteBuffer) -> Range<Int>? {
        var block = block
        var field = 0
        var found: Range<Int>?
        while let first = block.getInteger(at: block.readerIndex, as: UInt8.self) {
            let isLiteral = first & 0xE0 == 0
            guard isLiteral || first & 0x80 != 0,
                let index = block.readHPACKInteger(prefix: isLiteral ? 4 : 7), index <= lastStaticIndex
            else { return nil }
            if isLiteral {
                if index == 0 { guard block.skipHPACKString() else { return nil } }
                let start = block.readerIndex
                guard block.skipHPACKString() else { return nil }
                if field == wanted { found = start..<block.readerIndex }
            }
            field += 1
        }
        return wanted == nil ? block.readerIndex..<block.readerIndex : found
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func equals(_ bytes: [UInt8]) -> Bool {
        guard count == bytes.count, let baseAddress else { return isEmpty && bytes.isEmpty }
        return bytes.withUnsafeBytes { $0.baseAddress.map { memcmp(baseAddress, $0, count) == 0 } ?? true }
    }
}

extension ByteBuffer {
    /// Reads an integer (RFC 7541 section 5.1) of at most three continuation bytes, which is enough for these header
    /// blocks.
    fileprivate mutating func readHPACKInteger(prefix: Int) -> Int? {
        guard let first = readInteger(as: UInt8.self) else { return nil }
        let most = 1 << prefix - 1
        var value = Int(first) & most
        guard value == most else { return value }
        for shift in stride(from: 0, through: 14, by: 7) {
            guard let next = readInteger(as: UInt8.self) else { return nil }
            value += Int(next & 127) << shift
            if next & 128 == 0 { return value }
        }
        return nil
    }

    /// Skips a string (RFC 7541 section 5.2). Returns `false` if it is incomplete.
    fileprivate mutating func skipHPACKString() -> Bool {
        guard let length = readHPACKInteger(prefix: 7), length <= readableBytes else { return false }
        moveReaderIndex(forwardBy: length)
        return true
    }
}

extension PushID {
    /// Reads an id from an HPACK string with its length, plain or Huffman-coded (RFC 7541 section 5.2). Returns `nil`
    /// for any other string.
    fileprivate init?(encoded bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first, first & 127 < 127, Int(first & 127) == bytes.count - 1 else { return nil }
        let value = UnsafeRawBufferPointer(rebasing: bytes[1...])
        if first & 128 == 0 { self.init(ascii: value) } else { self.init(huffman: value) }
    }

    /// Reads an id from the 36 characters of a UUID.
    init?(ascii bytes: some Collection<UInt8>) {
        var words: (UInt64, UInt64) = (0, 0)
        var offset = 0
        for byte in bytes {
            defer { offset += 1 }
            if offset == 8 || offset == 13 || offset == 18 || offset == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            if offset < 18 { words.0 = words.0 << 4 | UInt64(digit) } else { words.1 = words.1 << 4 | UInt64(digit) }
        }
        guard offset == 36 else { return nil }
        self.init(high: words.0, low: words.1)
    }

    private init?(huffman bytes: some Collection<UInt8>) {
        let symbols = HuffmanDigits.symbols
        var rest = bytes.makeIterator()
        // The next bits are the lowest of the window. Ones follow the end, as padding (RFC 7541 section 5.2).
        var (window, bits, beyond): (UInt64, Int, Int) = (0, 0, 0)
        var words: (UInt64, UInt64) = (0, 0)
        for offset in 0..<36 {
            if bits < 7 {
                let next = rest.next()
                if next == nil { beyond += 8 }
                window = window << 8 | UInt64(next ?? 0xFF)
                bits += 8
            }
            let symbol = symbols[Int(truncatingIfNeeded: window >> UInt64(bits - 7)) & 127]
            bits -= Int(symbol >> 5)
            let digit = symbol & 31
            let isHyphen = offset == 8 || offset == 13 || offset == 18 || offset == 23
            guard symbol != 0, isHyphen == (digit == HuffmanDigits.hyphen) else { return nil }
            if isHyphen { continue }
            if offset < 18 { words.0 = words.0 << 4 | UInt64(digit) } else { words.1 = words.1 << 4 | UInt64(digit) }
        }
        let padding = bits - beyond
        guard rest.next() == nil, (0..<8).contains(padding),
            window & (1 << UInt64(bits) - 1) == 1 << UInt64(bits) - 1
        else { return nil }
        self.init(high: words.0, low: words.1)
    }
}

/// The symbols of an id in the Huffman code (RFC 7541 appendix B). Each has at most 7 bits.
private enum HuffmanDigits {
    static let hyphen: UInt8 = 16

    private static let codes: [(code: Int, length: Int, digit: UInt8)] = [
        (0x0, 5, 0), (0x1, 5, 1), (0x2, 5, 2), (0x19, 6, 3), (0x1A, 6, 4), (0x1B, 6, 5), (0x1C, 6, 6), (0x1D, 6, 7),
        (0x1E, 6, 8), (0x1F, 6, 9), (0x16, 6, hyphen),
        (0x3, 5, 10), (0x23, 6, 11), (0x4, 5, 12), (0x24, 6, 13), (0x5, 5, 14), (0x25, 6, 15),
        (0x21, 6, 10), (0x5D, 7, 11), (0x5E, 7, 12), (0x5F, 7, 13), (0x60, 7, 14), (0x61, 7, 15),
    ]

    /// Symbols by the next 7 bits: length in the upper 3 bits, digit in the lower 5. 0 is not a symbol of an id.
    static let symbols: [UInt8] = {
        var symbols = [UInt8](repeating: 0, count: 128)
        for (code, length, digit) in codes {
            let first = code << (7 - length)
            for index in first..<first + 1 << (7 - length) { symbols[index] = UInt8(length) << 5 | digit }
        }
        return symbols
    }()
}
