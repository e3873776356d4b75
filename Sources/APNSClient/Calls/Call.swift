import APNSModel
import IsletBasics
import NIOHPACK

/// A request that is not a push to a device: a broadcast, or a call of channel management.
///
/// Calls are few, use other methods and have longer answers, and the limits of pushes do not apply to them. So they use
/// swift-nio-http2 on connections of their own, and the code for pushes stays small.
struct Call: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    var path: String
    /// The header fields, besides those that every call has.
    var fields: [Field] = []
    var body: [UInt8] = []
    /// The latest time at which the outcome is reported.
    var deadline: MonotonicTime
    /// The latest time at which the call may be sent, or `nil` for its deadline. Set if another host can be tried.
    var leaveBy: MonotonicTime?
    /// `true` if the call fails as soon as a connection cannot be made. Set if another host can be tried.
    var failsFast = false

    struct Field: Sendable, Hashable {
        let name: String
        let value: String

        init(_ name: String, _ value: some CustomStringConvertible) {
            self.name = name
            self.value = value.description
        }
    }

    /// `true` if the call is idempotent, so that it may be sent again after an unknown outcome.
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

/// The answer to a call.
struct CallAnswer: Sendable {
    var status: Int
    var requestID: PushID?
    var channelID: String?
    var date: UnixTime?
    var body: [UInt8] = []

    /// Reads an answer. Returns `nil` if it has no valid `:status`.
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

/// The outcome of a call on one stream.
enum CallOutcome: Sendable {
    case answered(CallAnswer)
    /// The peer did not process the call (RFC 9113 section 8.7), or the call was never sent.
    case refused(String)
    /// The call was sent, completely or in part, and no answer came.
    case lost(String)
    /// The stream with this id was canceled. The call is lost, unless a GOAWAY says that the peer did not process it.
    case cancelled(Int)
}
