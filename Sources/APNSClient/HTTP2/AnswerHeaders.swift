import APNSModel
import IsletBasics
import NIOCore
import NIOHPACK

/// The headers of an answer that the client reads.
struct AnswerHeaders: Hashable {
    var status: Int
    var id: PushID?
    var uniqueID: String?
    var date: UnixTime?

    /// Returns the answer. A refusal is complete only with its body.
    func answer(_ body: RefusalBody? = nil) -> PushAnswer {
        PushAnswer(
            status: status, reason: body?.reason, inactiveSince: body?.inactiveSince, id: id, uniqueID: uniqueID,
            date: date)
    }
}

/// Reads the answers of one connection.
///
/// Answers of the same kind are decoded once: see `KnownAnswer`. The reader also caches the last `date`, because the
/// value stays the same for a second.
struct AnswerReader {
    /// Maximum length of `apns-unique-id` in characters. Longer values are truncated, because people see them.
    private static let maximumUniqueID = 64

    private(set) var decoder: HPACKDecoder
    private var known: KnownAnswer?
    private var dateText = ""
    private var date: UnixTime?

    init(allocator: ByteBufferAllocator) {
        // The peer may use the initial 4,096 bytes until it acknowledges our table size of 0 (RFC 7541 section 4.2).
        decoder = HPACKDecoder(
            allocator: allocator, maxDynamicTableSize: HeaderTable.maximumSize,
            maxHeaderListSize: ConnectionLimits.headerListBytes)
    }

    /// Decodes a header block. Returns `nil` for a malformed answer: one without exactly one `:status` of three digits
    /// (RFC 9113 section 8.3.2).
    mutating func read(_ block: ByteBuffer) throws(ProtocolViolation) -> AnswerHeaders? {
        if let answer = block.withUnsafeReadableBytes({ known($0) }) { return answer }
        let headers: HPACKHeaders
        do {
            var rest = block
            headers = try decoder.decodeHeaders(from: &rest)
        } catch is NIOHPACKErrors.MaxHeaderListSizeViolation {
            throw .headersTooLarge
        } catch {
            throw .headerCompression
        }
        let (answer, idField) = interpret(headers)
        if let answer { known = KnownAnswer(block, answer, idField: idField) ?? known }
        return answer
    }

    /// Returns the answer of a block of the same kind as the one before, or `nil` for any other block.
    func known(_ block: UnsafeRawBufferPointer) -> AnswerHeaders? { known?.answer(for: block) }

    /// Returns the answer, and the index of the field that holds its id.
    private mutating func interpret(_ headers: HPACKHeaders) -> (AnswerHeaders?, idField: Int?) {
        var status: Int?
        var answer = AnswerHeaders(status: 0)
        var idField: Int?
        for (field, (name, value, _)) in headers.enumerated() {
            switch name {
            case ":status":
                guard status == nil, value.utf8.count == 3, let number = Int(value), (100...599).contains(number) else {
                    return (nil, nil)
                }
                status = number
            case "apns-id":
                answer.id = PushID(ascii: value.utf8)
                idField = field
            case "apns-unique-id": answer.uniqueID = String(value.prefix(Self.maximumUniqueID))
            case "date": answer.date = parsedDate(value)
            default: continue
            }
        }
        guard let status else { return (nil, nil) }
        answer.status = status
        return (answer, idField)
    }

    private mutating func parsedDate(_ text: String) -> UnixTime? {
        if text != dateText {
            dateText = text
            date = HTTPDate.parse(text).map { UnixTime(seconds: Int64($0)) }
        }
        return date
    }
}
