import APNSModel
import IsletBasics
import NIOHPACK

/// A request that is no push to a device: a broadcast, or a call of channel management.
///
/// They are few, have other methods and longer answers, and none of the limits that pushes are optimised for. So they
/// run on swift-nio-http2, over connections of their own, and the path of pushes stays as narrow as it is.
struct Call: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    var path: String
    /// All but those that every call has.
    var fields: [Field] = []
    var body: [UInt8] = []
    /// Its outcome is told by this instant at the latest.
    var deadline: MonotonicTime
    /// It fails if it has not left by then, since there is another way; `nil`: it may leave until its deadline.
    var leaveBy: MonotonicTime?
    /// Whether it fails as soon as a connection cannot be made, since there is another way.
    var failsFast = false

    struct Field: Sendable, Hashable {
        let name: String
        let value: String

        init(_ name: String, _ value: some CustomStringConvertible) {
            self.name = name
            self.value = value.description
        }
    }

    /// Whether doing it twice is the same as doing it once, so that it may be sent again after an unknown fate.
    var mayRepeat: Bool { method == .get }

    func headers(authority: String, authorization: String) -> HPACKHeaders {
        var headers: HPACKHeaders = [
            ":method": method.rawValue, ":scheme": "https", ":authority": authority, ":path": path,
            "authorization": authorization,
        ]
        for field in fields { headers.add(name: field.name, value: field.value) }
        if !body.isEmpty { headers.add(name: "content-type", value: "application/json") }
        return headers
    }
}

/// What came back for a call.
struct CallAnswer: Sendable {
    var status: Int
    var requestID: PushID?
    var channelID: String?
    var date: UnixTime?
    var body: [UInt8] = []

    /// `nil` when it has no usable `:status`.
    init?(_ headers: HPACKHeaders) {
        guard let text = headers.first(name: ":status"), let status = Int(text), (100...599).contains(status) else {
            return nil
        }
        self.status = status
        // One page of Apple's samples has `apns-id` in its place.
        let id = headers.first(name: "apns-request-id") ?? headers.first(name: "apns-id")
        requestID = id.flatMap { PushID($0) }
        channelID = headers.first(name: "apns-channel-id")
        date = headers.first(name: "date").flatMap(HTTPDate.parse).map { UnixTime(seconds: Int64($0)) }
    }
}

/// What came of a call on one stream.
enum CallOutcome: Sendable {
    case answered(CallAnswer)
    /// The peer did not process it (RFC 9113 section 8.7), or it never left.
    case refused(String)
    /// It left, wholly or in part, and no answer came.
    case lost(String)
    /// The stream of this number was cancelled: lost, unless a GOAWAY says that the peer never looked at it.
    case cancelled(Int)
}
