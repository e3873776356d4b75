import AsyncHTTPClient
public import JSONText
import NIOCore
import NIOHTTP1

/// Islet's HTTP API as a backend calls it: one key, JSON bodies, JSON answers.
public struct IsletAPI: Sendable {
    private let islet: String
    private let key: String
    private static let timeLimit = TimeAmount.seconds(10)
    private static let maximumAnswerBytes = 1 << 20

    /// - Parameters:
    ///   - islet: The server's address, such as `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = islet
        self.key = key
    }

    /// The methods that the API has.
    public enum Method: String, Sendable {
        case GET, PUT, PATCH, POST, DELETE
    }

    /// The server's answer.
    public struct Answer: Sendable {
        /// The HTTP status. It is 200 if the server accepted the call.
        public let status: Int
        /// The server's view of the activity, or a problem document (RFC 9457) if it refused the call.
        public let body: JSONValue

        /// `true` if the server accepted the call.
        public var isTaken: Bool { (200..<300).contains(status) }

        /// The stable code of a refusal, or `nil` if the call was accepted. Decide by this.
        public var problem: String? { isTaken ? nil : body.object?["code"]?.string }

        /// The explanation of a refusal for people, or `nil` if the call was accepted.
        public var detail: String? { isTaken ? nil : body.object?["detail"]?.string }

        /// Creates an answer.
        public init(status: Int, body: JSONValue) {
            self.status = status
            self.body = body
        }

        /// One line about the result.
        public var summary: String {
            let members = body.object ?? [:]
            guard isTaken else {
                return "\(status) \(members["code"] ?? .null) \(members["detail"] ?? .null)"
            }
            return "revision \(members["revision"] ?? .null), phones \(members["phones"] ?? .null)"
        }
    }

    /// Makes one call.
    ///
    /// - Parameters:
    ///   - path: The path from the slash, with its query. Encode ids in it with `segment`.
    ///   - body: The JSON body, or `nil` for none.
    /// - Returns: The answer, whatever its status.
    /// - Throws: An error if no answer came within 10 s, or if the answer is not JSON or exceeds 1 MiB. The change may
    ///   have happened or not, and the call may be repeated.
    public func call(_ method: Method, _ path: String, _ body: JSONValue? = nil) async throws -> Answer {
        var request = HTTPClientRequest(url: islet + path)
        request.method = .init(rawValue: method.rawValue)
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.bytes))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: Self.timeLimit)
        let buffer = try await response.body.collect(upTo: Self.maximumAnswerBytes)
        let answer = buffer.readableBytes > 0 ? try JSONValue(parsing: buffer.readableBytesView) : .null
        return Answer(status: Int(response.status.code), body: answer)
    }

    /// Returns an id as a segment of a path, percent-encoded (RFC 3986 section 2.1).
    public static func segment(_ id: String) -> String {
        var encoded = ""
        for byte in id.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                encoded.append(Character(UnicodeScalar(byte)))
            default:
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
