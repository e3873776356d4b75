public import Foundation
internal import LiveActivityAPI

#if canImport(FoundationNetworking)
    package import FoundationNetworking
#endif

/// A transport that carries the client's calls to the server.
public protocol ClientTransport: Sendable {
    /// Sends one call and returns its answer.
    ///
    /// After 30 seconds, including the time of the credential's closure, the client stops waiting and repeats the call
    /// later. It does not repeat a `GET` without an answer: `join` then throws an error.
    ///
    /// - Throws: An error if there is no answer. An answer of any status is an answer, not an error.
    func send(_ request: ClientRequest) async throws -> ClientResponse
}

/// A call to the server.
///
/// Printing it shows neither the credential nor the body, which may contain tokens.
public struct ClientRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The HTTP method: `GET`, `PUT` or `DELETE`.
    public let method: String
    /// The path from the server's root, percent-encoded, such as `/v1/devices/9C2F`. A query follows it if there is
    /// one.
    public let path: String
    /// The JSON body, or `nil` for none.
    public let body: Data?
    /// The credential that follows `Bearer` in the header `Authorization`.
    public let credential: String
    /// The value of the header `Islet-Device-Credential`, or `nil` for no such header.
    ///
    /// It is the credential that the server gave this phone for the previous person. With it the next person proves
    /// that the phone was handed over.
    public let proof: String?

    package init(method: String, path: String, body: Data?, credential: String, proof: String? = nil) {
        self.method = method
        self.path = path
        self.body = body
        self.credential = credential
        self.proof = proof
    }

    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// An empty mirror, so that `dump` shows no token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The server's answer to a call.
public struct ClientResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header `Date`, or `nil` if it is missing. It shows how wrong the phone's clock is.
    public var date: Date?
    /// The JSON body.
    public var body: Data

    /// Creates an answer.
    public init(status: Int, date: Date? = nil, body: Data = Data()) {
        self.status = status
        self.date = date
        self.body = body
    }
}

/// A transport that uses `URLSession`: HTTPS by the system's rules, no cookies, no cache.
///
/// It follows no redirect. The answer is then the redirect itself, which confirms nothing.
public struct URLSessionTransport: ClientTransport {
    private let server: URL
    private let session: URLSession

    /// Creates a transport to a server.
    ///
    /// - Parameter server: The server's root, such as `https://push.example.com`.
    public init(server: URL) {
        self.server = server
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeout
        // The request's timeout restarts with each byte; this one covers the whole call.
        configuration.timeoutIntervalForResource = Self.timeout
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        #if !canImport(FoundationNetworking)
            configuration.waitsForConnectivity = false
        #endif
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    /// Timeout in seconds. A launch in the background lasts only seconds, so a slower call is repeated later.
    private static let timeout = 20.0

    /// Sends one call and returns its whole answer, within at most 20 seconds.
    public func send(_ request: ClientRequest) async throws -> ClientResponse {
        let (body, response) = try await session.data(for: try Self.call(request, to: server))
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return ClientResponse(
            status: response.statusCode, date: response.value(forHTTPHeaderField: "Date").flatMap(Self.date), body: body
        )
    }

    package static func call(_ request: ClientRequest, to server: URL) throws -> URLRequest {
        // The path is already encoded, and `appendingPathComponent` would encode it again.
        let root = server.absoluteString
        guard let url = URL(string: (root.hasSuffix("/") ? String(root.dropLast()) : root) + request.path) else {
            throw URLError(.badURL)
        }
        var call = URLRequest(url: url)
        call.httpMethod = request.method
        call.httpBody = request.body
        call.setValue("Bearer \(request.credential)", forHTTPHeaderField: "Authorization")
        if let proof = request.proof { call.setValue(proof, forHTTPHeaderField: PhoneHeader.deviceCredential) }
        if request.body != nil { call.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        return call
    }

    /// Parses a date in the form of RFC 9110 section 5.6.7 that servers send: `Sat, 21 Nov 2026 14:32:00 GMT`.
    private static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text)
    }
}

/// A delegate that refuses redirects. A redirected call becomes a `GET` whose answer would count as the server's, and
/// the headers are for the server alone.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _: URLSession, task: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
