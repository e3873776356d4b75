import APNSModel
import NIOCore

/// Writes the header block of a push (RFC 7541), made for this one shape of request.
///
/// What repeats is sent once and referred to by index afterwards, so that a usual block is two constant runs of bytes
/// around `:path`, then the fields of this push alone as literals. `:path` holds the device's token: it is never
/// indexed, which also tells every intermediary not to keep it (RFC 7541 section 7.1.3). Huffman coding would save a
/// few bytes and cost more time than all the rest.
struct HeaderBlockWriter {
    private struct RunKey: Hashable {
        let topic: String
        let priority: PushPriority
    }

    /// More combinations than the table can hold fields for are not worth remembering.
    private static let maximumRuns = 128

    private let authority: String
    private var authorization = ""
    private var table = HeaderTable()
    /// The table starts anew at the next block, and the peer is told so there (RFC 7541 section 4.2).
    private var startsAnew = false
    private var peerLimit = HeaderTable.maximumSize

    // The fields after `:path` that repeat, as indices; valid until the next insertion into the table.
    private var runs: [RunKey: [UInt8]] = [:]
    private var lastTopic = ""
    private var lastPriority = PushPriority.high
    private var lastRun: [UInt8] = []

    init(authority: String) {
        self.authority = authority
    }

    /// Which provider token the next blocks carry. A change empties the table: a token that is not used any more would
    /// stay in it for nothing.
    mutating func use(_ token: String) {
        if !authorization.isEmpty { startAnew() }
        authorization = "bearer \(token)"
    }

    /// The peer's SETTINGS_HEADER_TABLE_SIZE. Too small a table turns every field into a literal.
    mutating func setPeerLimit(_ size: Int) {
        let limit = min(size, HeaderTable.maximumSize)
        guard limit != peerLimit else { return }
        peerLimit = limit
        startAnew()
    }

    private mutating func startAnew() {
        startsAnew = true
        table.reset(limit: peerLimit)
        forgetRuns()
    }

    private mutating func forgetRuns() {
        runs.removeAll(keepingCapacity: true)
        lastRun.removeAll(keepingCapacity: true)
        lastTopic = ""
    }

    mutating func write(_ request: PushRequest, into output: inout ByteBuffer) {
        if startsAnew {
            startsAnew = false
            output.writeHPACKInteger(0, prefix: 5, pattern: 0x20)
            if peerLimit > 0 { output.writeHPACKInteger(peerLimit, prefix: 5, pattern: 0x20) }
        }
        output.writeInteger(0x8387 as UInt16)  // :method POST, :scheme https: entries 3 and 7 of the static table
        writeShared(.authority, authority, into: &output)
        writePath(request.destination.hex, into: &output)
        writeRun(request, into: &output)
        output.writeHPACKLiteralName(.id)
        output.writeInteger(36 as UInt8)
        output.writePushID(request.id)
        if let seconds = request.expiration.headerValue { writeOwn(.expiration, String(seconds), into: &output) }
        if let collapseID = request.collapseID { writeOwn(.collapseID, collapseID.text, into: &output) }
    }

    private func writePath(_ hex: String, into output: inout ByteBuffer) {
        output.writeInteger(0x14 as UInt8)  // literal never indexed, with the name of entry 4 of the static table
        let prefix = "/3/device/" as StaticString
        output.writeHPACKInteger(prefix.utf8CodeUnitCount + hex.utf8.count, prefix: 7, pattern: 0)
        output.writeStaticString(prefix)
        output.writeString(hex)
    }

    private mutating func writeRun(_ request: PushRequest, into output: inout ByteBuffer) {
        let topic = request.topic.text
        if !lastRun.isEmpty, request.priority == lastPriority, topic == lastTopic {
            output.writeBytes(lastRun)
            return
        }
        let key = RunKey(topic: topic, priority: request.priority)
        if let run = runs[key] {
            (lastTopic, lastPriority, lastRun) = (topic, request.priority, run)
            output.writeBytes(run)
            return
        }
        let start = output.writerIndex
        var indexed = writeShared(.authorization, authorization, into: &output)
        indexed = writeShared(.topic, topic, into: &output) && indexed
        indexed = writeShared(.pushType, request.topic.pushType.rawValue, into: &output) && indexed
        indexed = writeShared(.priority, String(request.priority.rawValue), into: &output) && indexed
        guard indexed, runs.count < Self.maximumRuns,
            let run = output.getBytes(at: start, length: output.writerIndex - start)
        else { return }
        runs[key] = run
        (lastTopic, lastPriority, lastRun) = (topic, request.priority, run)
    }

    /// A field that other pushes have as well: by index, or with its first appearance into the table, or as a literal
    /// when the table is full. Whether it was written as an index.
    @discardableResult
    private mutating func writeShared(_ name: HeaderName, _ value: String, into output: inout ByteBuffer) -> Bool {
        if let index = table.index(of: name, value) {
            output.writeHPACKInteger(index, prefix: 7, pattern: 0x80)
            return true
        }
        if table.insert(name, value) {
            forgetRuns()
            output.writeHPACKInteger(name.staticIndex, prefix: 6, pattern: 0x40)
        } else {
            output.writeHPACKInteger(name.staticIndex, prefix: 4, pattern: 0)
        }
        if name.staticIndex == 0 { output.writeHPACKString(name.rawValue) }
        output.writeHPACKString(value)
        return false
    }

    private func writeOwn(_ name: HeaderName, _ value: String, into output: inout ByteBuffer) {
        output.writeHPACKLiteralName(name)
        output.writeHPACKString(value)
    }
}

extension ByteBuffer {
    /// RFC 7541 section 5.1.
    mutating func writeHPACKInteger(_ value: Int, prefix: Int, pattern: UInt8) {
        let most = 1 << prefix - 1
        guard value >= most else {
            writeInteger(pattern | UInt8(value))
            return
        }
        writeInteger(pattern | UInt8(most))
        var rest = value - most
        while rest >= 128 {
            writeInteger(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        writeInteger(UInt8(rest))
    }

    /// RFC 7541 section 5.2, without Huffman coding.
    mutating func writeHPACKString(_ text: String) {
        writeHPACKInteger(text.utf8.count, prefix: 7, pattern: 0)
        writeString(text)
    }

    /// A literal field without indexing, up to its value (RFC 7541 section 6.2.2).
    mutating func writeHPACKLiteralName(_ name: HeaderName) {
        writeInteger(0 as UInt8)
        writeHPACKString(name.rawValue)
    }

    mutating func writePushID(_ id: PushID) {
        writeWithUnsafeMutableBytes(minimumWritableBytes: 36) { target in
            var offset = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    target[offset] = UInt8(ascii: "-")
                    offset += 1
                }
                let word = digit < 16 ? id.high : id.low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit % 16 * 4)) & 15
                target[offset] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                offset += 1
            }
            return offset
        }
    }
}
