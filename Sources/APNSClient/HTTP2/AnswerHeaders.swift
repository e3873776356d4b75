import APNSModel
import IsletBasics
import NIOCore
import NIOHPACK

/// The headers of an answer, as far as they are read.
struct AnswerHeaders: Hashable {
    var status: Int
    var id: PushID?
    var uniqueID: String?
    var date: UnixTime?

    /// The answer, once the body of a refusal is there.
    func answer(_ body: RefusalBody? = nil) -> PushAnswer {
        PushAnswer(
            status: status, reason: body?.reason, inactiveSince: body?.inactiveSince, id: id, uniqueID: uniqueID,
            date: date)
    }
}

/// Reads the answers of one connection.
///
/// Those of a kind are decoded once: see `KnownAnswer`. The last `date` is remembered, too, which is the same for a
/// second long.
struct AnswerReader {
    /// Longer values of `apns-unique-id` are cut: they are shown to people.
    private static let maximumUniqueID = 64

    private(set) var decoder: HPACKDecoder
    private var known: KnownAnswer?
    private var dateText = ""
    private var date: UnixTime?

    init(allocator: ByteBufferAllocator) {
        // Until the peer acknowledges our table size of 0 it may use the initial 4,096 (RFC 7541 section 4.2).
        decoder = HPACKDecoder(
            allocator: allocator, maxDynamicTableSize: HeaderTable.maximumSize,
            maxHeaderListSize: ConnectionLimits.headerListBytes)
    }

    /// Decodes a header block; `nil` for a malformed answer: no `:status` of three digits, or two (RFC 9113 section
    /// 8.3.2).
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

    /// What a block says that is of the kind before; `nil` for every other one.
    func known(_ block: UnsafeRawBufferPointer) -> AnswerHeaders? { known?.answer(for: block) }

    /// The answer, and which field its id is in.
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
