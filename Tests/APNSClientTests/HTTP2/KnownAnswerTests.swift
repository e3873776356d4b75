import APNSModel
import IsletBasics
import NIOCore
import NIOHPACK
import Testing

@testable import APNSClient

/// An answer that is recognized by its bytes has the same meaning as the decoder's result.
@Suite struct KnownAnswerTests {
    private func encoded(
        _ headers: [(String, String)], indexing: HPACKIndexing = .nonIndexable,
        with encoder: inout HPACKEncoder
    ) throws -> ByteBuffer {
        var list = HPACKHeaders()
        for (name, value) in headers { list.add(name: name, value: value, indexing: indexing) }
        var buffer = ByteBuffer()
        try encoder.encode(headers: list, to: &buffer)
        return buffer
    }

    private func encoder(huffman: Bool) -> HPACKEncoder {
        HPACKEncoder(allocator: ByteBufferAllocator(), useHuffmanEncoding: huffman)
    }

    /// Answers of a few kinds in random order must be read as they were written.
    @Test(arguments: 0..<100)
    func `every answer is read as it was written, known or not`(seed: UInt64) throws {
        var dice = SplitMix64(seed: seed)
        var reader = AnswerReader(allocator: ByteBufferAllocator())
        var encoder = encoder(huffman: Bool.random(using: &dice))
        for number in 0..<60 {
            let status = [200, 200, 200, 400, 410].randomElement(using: &dice) ?? 200
            var headers = [(":status", String(status))]
            var expected = AnswerHeaders(status: status)
            func addID(_ text: String) {
                headers.append(("apns-id", text))
                expected.id = PushID(text)
            }
            if Int.random(in: 0..<8, using: &dice) > 0 {
                let id = PushID(high: .random(in: 0 ... .max, using: &dice), low: .random(in: 0 ... .max, using: &dice))
                let isPlain = Int.random(in: 0..<10, using: &dice) > 0
                addID(!isPlain ? "no id \(number)" : number % 2 == 0 ? id.description : id.description.uppercased())
            }
            if Bool.random(using: &dice) {
                let date = "Sun, 06 Nov 1994 08:49:3\(number / 8) GMT"
                headers.append(("date", date))
                expected.date = HTTPDate.parse(date).map { UnixTime(seconds: Int64($0)) }
            }
            if Int.random(in: 0..<10, using: &dice) == 0 { addID("\(number)") }
            if Int.random(in: 0..<10, using: &dice) == 0 {
                headers.append(("apns-unique-id", "u\(number)"))
                expected.uniqueID = "u\(number)"
            }
            // Answers that enter the table of the peer's encoder return as indices that move.
            let indexing = [HPACKIndexing.nonIndexable, .nonIndexable, .neverIndexed, .indexable]
            let block = try encoded(
                headers, indexing: indexing.randomElement(using: &dice) ?? .indexable, with: &encoder)
            #expect(try reader.read(block) == expected, "seed \(seed), answer \(number): \(headers)")
        }
    }

    @Test(arguments: [true, false])
    func `an answer is known whatever its id, and the id is its own`(huffman: Bool) throws {
        var encoder = encoder(huffman: huffman)
        let headers = [(":status", "200"), ("apns-id", "00000000-0000-0000-0000-000000000000"), ("server", "x")]
        let block = try encoded(headers, with: &encoder)
        let known = try #require(KnownAnswer(block, AnswerHeaders(status: 200), idField: 1))
        for text in [
            "01234567-89ab-cdef-0123-456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDEF",
            "ffffffff-ffff-ffff-ffff-ffffffffffff", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        ] {
            let other = try encoded([(":status", "200"), ("apns-id", text), ("server", "x")], with: &encoder)
            #expect(known.answer(for: other)?.id == PushID(text), "\(text)")
        }
    }

    @Test(arguments: [
        [(":status", "200"), ("apns-id", "01234567-89ab-cdef-0123-456789abcdex"), ("server", "x")],
        [(":status", "200"), ("apns-id", "01234567-89ab-cdef-0123-456789abcde"), ("server", "x")],
        [(":status", "200"), ("apns-id", "01234567-89ab-cdef-0123-456789abcdef0"), ("server", "x")],
        [(":status", "200"), ("apns-id", "0123456789ab-cdef-0123-456789abcdef-"), ("server", "x")],
        [(":status", "200"), ("apns-id", "01234567-89ab-cdef-0123-456789abcdef"), ("server", "y")],
        [(":status", "204"), ("apns-id", "01234567-89ab-cdef-0123-456789abcdef"), ("server", "x")],
        [(":status", "200"), ("apns-id", ""), ("server", "x")],
        [(":status", "200"), ("server", "x")],
    ])
    func `another answer is left to the decoder`(headers: [(String, String)]) throws {
        for huffman in [true, false] {
            var encoder = encoder(huffman: huffman)
            let id = "00000000-0000-0000-0000-000000000000"
            let block = try encoded([(":status", "200"), ("apns-id", id), ("server", "x")], with: &encoder)
            let known = try #require(KnownAnswer(block, AnswerHeaders(status: 200), idField: 1))
            #expect(known.answer(for: try encoded(headers, with: &encoder)) == nil)
        }
    }

    @Test(
        arguments: [
            // In order: enters the table; is in the table; changes the table's size; uses a name that is in the table.
            [0x88, 0x40, 0x01, 0x61, 0x01, 0x62], [0x88, 0xBE], [0x20, 0x88], [0x88, 0x0F, 0x2F, 0x01, 0x62],
        ] as [[UInt8]])
    func `a block that has to do with the dynamic table is not kept`(bytes: [UInt8]) {
        #expect(KnownAnswer(ByteBuffer(bytes: bytes), AnswerHeaders(status: 200), idField: nil) == nil)
    }

    @Test(arguments: [0x00, 0x3F, 0x7E])
    func `Huffman's padding must be ones`(padding: UInt8) throws {
        // 31 digits of 5 bits, one of 6 and four hyphens of 6 are 185 bits, so 7 bits of padding follow.
        var encoder = encoder(huffman: true)
        let id = "00000000-0000-0000-0000-000000000003"
        var block = try encoded([(":status", "200"), ("apns-id", id)], with: &encoder)
        let known = try #require(KnownAnswer(block, AnswerHeaders(status: 200), idField: 1))
        #expect(known.answer(for: block)?.id == PushID(id))
        let end = block.writerIndex - 1
        let byte = try #require(block.getInteger(at: end, as: UInt8.self))
        #expect(byte & 0x7F == 0x7F)
        block.setInteger(byte & 0x80 | padding, at: end)
        #expect(known.answer(for: block) == nil)
    }
}

extension KnownAnswer {
    fileprivate func answer(for block: ByteBuffer) -> AnswerHeaders? {
        block.withUnsafeReadableBytes { answer(for: $0) }
    }
}
