import Foundation
import JSONText
import NIOHTTP1
import OutboundHTTP

/// A client of JSON APIs over HTTP: Islet's own API, as a phone calls it, and the simulator's control API.
struct JSONCaller: Sendable {
    let base: String
    /// Returns the API key. It is evaluated at each call, because a key may be made after the caller.
    let key: @Sendable () -> String?

    enum Method: String {
        case GET, PUT, POST, DELETE
    }

    private static let maximumAnswerBytes = 8 << 20

    private static let shared = OutboundClient()
    private let client: OutboundClient
    private let timeLimit: Duration

    init(
        _ base: String, by client: OutboundClient? = nil, within timeLimit: Duration = .seconds(10),
        key: @escaping @Sendable () -> String? = { nil }
    ) {
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
        self.key = key
        self.client = client ?? Self.shared
        self.timeLimit = timeLimit
    }

    private func answer(
        _ method: Method, _ path: String, _ headers: HTTPHeaders = [:], body: [UInt8]? = nil
    ) async throws -> OutboundAnswer {
        guard let url = OutboundURL(base + path) else { throw CommandError("\(base) is no URL of a server") }
        let request = OutboundRequest(
            HTTPMethod(rawValue: method.rawValue), url, headers, body: body, timeout: timeLimit,
            maximumAnswerBytes: Self.maximumAnswerBytes)
        let answer = try await client.call(request)
        guard !answer.isCut else { throw OutboundError.tooLong(Self.maximumAnswerBytes) }
        return answer
    }

    /// An answer with a status other than 2xx.
    struct Refusal: Error, CustomStringConvertible {
        let call: String
        let status: Int
        let code: String
        let detail: String

        var description: String {
            "\(call): "
                + ([String(status) + (code.isEmpty ? "" : " \(code)")] + (detail.isEmpty ? [] : [detail]))
                .joined(separator: ": ")
        }
    }

    @discardableResult
    func call(
        _ method: Method, _ path: String, _ body: JSONValue? = nil, idempotencyKey: String? = nil
    ) async throws -> JSONValue {
        var headers = HTTPHeaders()
        if let key = key() { headers.add(name: "authorization", value: "Bearer \(key)") }
        if let idempotencyKey { headers.add(name: "idempotency-key", value: idempotencyKey) }
        if body != nil { headers.add(name: "content-type", value: "application/json") }
        let answer = try await answer(method, path, headers, body: body?.bytes)
        guard (200..<300).contains(answer.status) else {
            // A proxy in front of a server may answer without JSON. In that case, only the status counts.
            let problem = (try? JSONValue(parsing: answer.body, limits: Self.limits))?.object ?? [:]
            throw Refusal(
                call: "\(method.rawValue) \(path)", status: answer.status,
                code: problem["code"]?.string ?? "", detail: problem["detail"]?.string ?? "")
        }
        guard !answer.body.isEmpty else { return .null }
        return try JSONValue(parsing: answer.body, limits: Self.limits)
    }

    /// Returns any answer: its status, its date in seconds since 1970, and its body.
    ///
    /// - Parameters:
    ///   - credential: Credential that replaces the key.
    ///   - headers: Further headers.
    func exchange(
        _ method: Method, _ path: String, _ body: [UInt8]?, credential: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> (status: Int, date: Int?, body: [UInt8]) {
        var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
        if let bearer = credential ?? key() { fields.add(name: "authorization", value: "Bearer \(bearer)") }
        if body != nil { fields.add(name: "content-type", value: "application/json") }
        let answer = try await answer(method, path, fields, body: body)
        return (answer.status, answer.headers.first(name: "date").flatMap(Self.seconds), answer.body)
    }

    /// Parses a date in the form that servers send (RFC 9110 section 5.6.7): `Sat, 21 Nov 2026 14:32:00 GMT`.
    private static func seconds(_ text: String) -> Int? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text).map { Int($0.timeIntervalSince1970) }
    }

    /// Returns the answer as text, for answers that are not JSON.
    func text(_ path: String) async throws -> String {
        String(decoding: try await answer(.GET, path).body, as: UTF8.self)
    }

    /// Returns any text as a path segment, percent-encoded (RFC 3986 section 2.1).
    static func segment(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
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

    private static let limits: JSONLimits = {
        var limits = JSONLimits.standard
        limits.bytes = maximumAnswerBytes
        limits.members = 1_000_000
        return limits
    }()
}
