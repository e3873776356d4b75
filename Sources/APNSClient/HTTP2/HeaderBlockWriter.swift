import APNSModel
import NIOCore

/// Writes the header block of a push (RFC 7541). It supports only this shape of request.
///
/// Repeated fields are sent once and then referred to by index. A typical block is two constant runs of bytes around
/// `:path`, followed by this push's own fields as literals.
///
/// `:path` contains the device's token, so it is never indexed. This also tells intermediaries not to store it (RFC
/// 7541 section 7.1.3). Huffman coding would save a few bytes but cost more time than everything else.
struct HeaderBlockWriter {
    private struct RunKey: Hashable {
        let topic: Topic
        let priority: PushPriority
    }

    /// The first byte of `:path`: a literal that is never indexed, with the name of entry 4 of the static table.
    private static let pathField: UInt8 = 0x14
    /// Maximum number of cached runs. The table cannot hold the fields of more combinations.
    private static let maximumRuns = 128

    private let authority: String
    private var authorization = ""
    private var table = HeaderTable()
    /// `true` if the table is reset at the next block, which tells the peer (RFC 7541 section 4.2).
    private var startsAnew = false
    private var peerLimit = HeaderTable.maximumSize

    /// The most recent block.
    private(set) var block: [UInt8] = []

    private let pathPrefix = Array("/3/device/".utf8)
    /// The name of `apns-id` as a literal without indexing, and the length of its value.
    private let idName: [UInt8]

    // The repeated fields before and after `:path`, as indices. They are valid until the next insertion into the table.
    private var lastHead: [UInt8] = []
    private var runs: [RunKey: [UInt8]] = [:]
    private var lastTopic: Topic?
    private var lastPriority = PushPriority.high
    private var lastRun: [UInt8] = []
    /// The fields of the last push that the next one may share.
    private var pattern: RequestPattern?

    init(authority: String) {
        self.authority = authority
        var idName: [UInt8] = []
        idName.appendHPACKLiteralName(.id)
        idName.append(UInt8(PushID.textLength))
        self.idName = idName
    }

    /// Sets the provider token of later blocks. A change empties the table, because the old token would only occupy
    /// space.
    mutating func use(_ token: String) {
        if !authorization.isEmpty { startAnew() }
        authorization = "bearer \(token)"
    }

    /// Sets the peer's SETTINGS_HEADER_TABLE_SIZE. If the table is too small, every field becomes a literal.
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
        lastTopic = nil
        pattern = nil
    }

    /// Writes the HEADERS frame of a push. With `withBody`, also writes the body in one DATA frame that ends the
    /// stream.
    mutating func write(_ push: Attempt, streamID: UInt32, withBody: Bool, to output: inout ByteBuffer) {
        if let pattern, pattern.write(push, streamID: streamID, withBody: withBody, to: &output) { return }
        write(push)
        output.writeFrameHeader(
            length: block.count, type: FrameType.headers, flags: FrameFlag.endHeaders, streamID: streamID)
        output.writeBytes(block)
        if withBody {
            let body = push.payload
            output.writeFrameHeader(
                length: body.count, type: FrameType.data, flags: FrameFlag.endStream, streamID: streamID)
            output.writeBytes(body)
        }
        remember(push)
    }

    /// Keeps the last block as a pattern if all of its repeated fields are indices.
    private mutating func remember(_ push: Attempt) {
        guard !lastHead.isEmpty, !lastRun.isEmpty, push.collapseID == nil, let lastTopic, push.topic == lastTopic,
            push.priority == lastPriority
        else { return }
        let hexCount = push.hex.utf8.count
        var head = lastHead
        head.append(Self.pathField)
        head.appendHPACKInteger(pathPrefix.count + hexCount, prefix: 7, pattern: 0)
        head += pathPrefix
        pattern = RequestPattern(
            topic: lastTopic, priority: lastPriority, expiration: push.expiration, hexCount: hexCount, head: head,
            middle: lastRun + idName, tail: Self.ownFields(push))
    }

    /// Writes the header block of a push into `block`.
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
        block.append(contentsOf: repeatElement(0, count: PushID.textLength))
        block.withUnsafeMutableBytes { push.id.write(to: .init(rebasing: $0.suffix(PushID.textLength))) }
        block.append(contentsOf: Self.ownFields(push))
    }

    /// Returns the fields after the id.
    private static func ownFields(_ push: Attempt) -> [UInt8] {
        var fields: [UInt8] = []
        if let seconds = push.expiration.headerValue {
            fields.appendHPACKLiteralName(.expiration)
            fields.appendHPACKString(String(seconds))
        }
        if let collapseID = push.collapseID {
            fields.appendHPACKLiteralName(.collapseID)
            fields.appendHPACKString(collapseID.text)
        }
        return fields
    }

    private mutating func writeHead() {
        if !lastHead.isEmpty { return block.append(contentsOf: lastHead) }
        let start = block.count
        block.append(contentsOf: [0x83, 0x87])  // :method POST, :scheme https: entries 3 and 7 of the static table
        if writeShared(.authority, authority) { lastHead = Array(block[start...]) }
    }

    private mutating func writePath(_ hex: String) {
        block.append(Self.pathField)
        block.appendHPACKInteger(pathPrefix.count + hex.utf8.count, prefix: 7, pattern: 0)
        block.append(contentsOf: pathPrefix)
        block.append(contentsOf: hex.utf8)
    }

    private mutating func writeRun(_ push: Attempt) {
        let (topic, priority) = (push.topic, push.priority)
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
        indexed = writeShared(.topic, topic.text) && indexed
        indexed = writeShared(.pushType, topic.pushType.rawValue) && indexed
        indexed = writeShared(.priority, String(priority.rawValue)) && indexed
        guard indexed, runs.count < Self.maximumRuns else { return }
        let run = Array(block[start...])
        runs[key] = run
        (lastTopic, lastPriority, lastRun) = (topic, priority, run)
    }

    /// Writes a field that other pushes share: as an index, as an insertion into the table, or as a literal if the
    /// table is full.
    ///
    /// - Returns: `true` if the field was written as an index.
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
}

extension [UInt8] {
    /// Appends an integer (RFC 7541 section 5.1).
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

    /// Appends a string without Huffman coding (RFC 7541 section 5.2).
    mutating func appendHPACKString(_ text: String) {
        appendHPACKInteger(text.utf8.count, prefix: 7, pattern: 0)
        append(contentsOf: text.utf8)
    }

    /// Appends the name of a literal field without indexing. Its value must follow (RFC 7541 section 6.2.2).
    mutating func appendHPACKLiteralName(_ name: HeaderName) {
        append(0)
        appendHPACKString(name.rawValue)
    }
}
