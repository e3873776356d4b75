import APNSModel

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

    /// The block that was made last.
    private(set) var block: [UInt8] = []

    private let pathPrefix = Array("/3/device/".utf8)
    /// A literal without indexing, and the length of its value.
    private let idName: [UInt8]

    // The fields before and after `:path` that repeat, as indices; valid until the next insertion into the table.
    private var lastHead: [UInt8] = []
    private var runs: [RunKey: [UInt8]] = [:]
    private var lastTopic = ""
    private var lastPriority = PushPriority.high
    private var lastRun: [UInt8] = []

    init(authority: String) {
        self.authority = authority
        var idName: [UInt8] = []
        idName.appendHPACKLiteralName(.id)
        idName.append(36)
        self.idName = idName
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
        lastHead.removeAll(keepingCapacity: true)
        lastTopic = ""
    }

    /// Makes the block of a push, in `block`.
    mutating func write(_ push: Attempt) {
        block.removeAll(keepingCapacity: true)
        if startsAnew {
            startsAnew = false
            block.appendHPACKInteger(0, prefix: 5, pattern: 0x20)
            if peerLimit > 0 { block.appendHPACKInteger(peerLimit, prefix: 5, pattern: 0x20) }
        }
        writeHead()
        writePath(push.hex)
        writeRun(push)
        block.append(contentsOf: idName)
        block.appendPushID(push.id)
        if let seconds = push.expiration.headerValue { writeOwn(.expiration, String(seconds)) }
        if let collapseID = push.collapseID { writeOwn(.collapseID, collapseID.text) }
    }

    private mutating func writeHead() {
        if !lastHead.isEmpty { return block.append(contentsOf: lastHead) }
        let start = block.count
        block.append(contentsOf: [0x83, 0x87])  // :method POST, :scheme https: entries 3 and 7 of the static table
        if writeShared(.authority, authority) { lastHead = Array(block[start...]) }
    }

    private mutating func writePath(_ hex: String) {
        block.append(0x14)  // literal never indexed, with the name of entry 4 of the static table
        block.appendHPACKInteger(pathPrefix.count + hex.utf8.count, prefix: 7, pattern: 0)
        block.append(contentsOf: pathPrefix)
        block.append(contentsOf: hex.utf8)
    }

    private mutating func writeRun(_ push: Attempt) {
        let (topic, priority) = (push.topicText, push.priority)
        if !lastRun.isEmpty, priority == lastPriority, topic == lastTopic {
            block.append(contentsOf: lastRun)
            return
        }
        let key = RunKey(topic: topic, priority: priority)
        if let run = runs[key] {
            (lastTopic, lastPriority, lastRun) = (topic, priority, run)
            block.append(contentsOf: run)
            return
        }
        let start = block.count
        var indexed = writeShared(.authorization, authorization)
        indexed = writeShared(.topic, topic) && indexed
        indexed = writeShared(.pushType, push.topic.pushType.rawValue) && indexed
        indexed = writeShared(.priority, String(priority.rawValue)) && indexed
        guard indexed, runs.count < Self.maximumRuns else { return }
        let run = Array(block[start...])
        runs[key] = run
        (lastTopic, lastPriority, lastRun) = (topic, priority, run)
    }

    /// A field that other pushes have as well: by index, or with its first appearance into the table, or as a literal
    /// when the table is full. Whether it was written as an index.
    private mutating func writeShared(_ name: HeaderName, _ value: String) -> Bool {
        if let index = table.index(of: name, value) {
            block.appendHPACKInteger(index, prefix: 7, pattern: 0x80)
            return true
        }
        if table.insert(name, value) {
            forgetRuns()
            block.appendHPACKInteger(name.staticIndex, prefix: 6, pattern: 0x40)
        } else {
            block.appendHPACKInteger(name.staticIndex, prefix: 4, pattern: 0)
        }
        if name.staticIndex == 0 { block.appendHPACKString(name.rawValue) }
        block.appendHPACKString(value)
        return false
    }

    private mutating func writeOwn(_ name: HeaderName, _ value: String) {
        block.appendHPACKLiteralName(name)
        block.appendHPACKString(value)
    }
}

extension [UInt8] {
    /// RFC 7541 section 5.1.
    mutating func appendHPACKInteger(_ value: Int, prefix: Int, pattern: UInt8) {
        let most = 1 << prefix - 1
        guard value >= most else {
            append(pattern | UInt8(value))
            return
        }
        append(pattern | UInt8(most))
        var rest = value - most
        while rest >= 128 {
            append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// RFC 7541 section 5.2, without Huffman coding.
    mutating func appendHPACKString(_ text: String) {
        appendHPACKInteger(text.utf8.count, prefix: 7, pattern: 0)
        append(contentsOf: text.utf8)
    }

    /// A literal field without indexing, up to its value (RFC 7541 section 6.2.2).
    mutating func appendHPACKLiteralName(_ name: HeaderName) {
        append(0)
        appendHPACKString(name.rawValue)
    }

    /// The 36 characters of an id; as `PushID.write`, for the one place that writes an id per push.
    mutating func appendPushID(_ id: PushID) {
        let start = count
        append(contentsOf: repeatElement(UInt8(ascii: "-"), count: 36))
        withUnsafeMutableBufferPointer { bytes in
            var offset = start
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 { offset += 1 }
                let word = digit < 16 ? id.high : id.low
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit % 16 * 4)) & 15
                bytes[offset] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                offset += 1
            }
        }
    }
}
