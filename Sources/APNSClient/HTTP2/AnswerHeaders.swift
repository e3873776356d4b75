import APNSModel
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

/// Reads answers of one connection; remembers the last `date`, which is the same for a second long.
struct AnswerReader {
    /// Longer values of `apns-unique-id` are cut: they are shown to people.
    private static let maximumUniqueID = 64

    private var dateText = ""
    private var date: UnixTime?

    /// `nil` for a malformed answer: no `:status` of three digits, or two (RFC 9113 section 8.3.2).
    mutating func read(_ headers: HPACKHeaders) -> AnswerHeaders? {
        var status: Int?
        var answer = AnswerHeaders(status: 0)
        for (name, value, _) in headers {
            switch name {
            case ":status":
                guard status == nil, value.utf8.count == 3, let number = Int(value), (100...599).contains(number) else {
                    return nil
                }
                status = number
            case "apns-id": answer.id = PushID(fast: value)
            case "apns-unique-id": answer.uniqueID = String(value.prefix(Self.maximumUniqueID))
            case "date": answer.date = parsedDate(value)
            default: continue
            }
        }
        guard let status else { return nil }
        answer.status = status
        return answer
    }

    private mutating func parsedDate(_ text: String) -> UnixTime? {
        if text != dateText {
            dateText = text
            date = HTTPDate.parse(text)
        }
        return date
    }
}

extension PushID {
    /// As `PushID(_:)`, for the one place that reads an id per push.
    init?(fast text: String) {
        var words: (UInt64, UInt64) = (0, 0)
        var offset = 0
        for byte in text.utf8 {
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
}
