public import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Carries the client's calls to the server.
public protocol ClientTransport: Sendable {
    /// Sends one call and waits for its answer, at most some 20 seconds.
    ///
    /// - Throws: When there is no answer; the call is repeated later. An answer of any status is none.
    func send(_ request: ClientRequest) async throws -> ClientResponse
}

/// One call to the server.
///
/// Printing it shows neither the credential nor the body, which may hold tokens.
public struct ClientRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// `PUT` or `DELETE`.
    public let method: String
    /// From the server's root, percent-encoded, such as `/v1/devices/9C2F`.
    public let path: String
    /// JSON; `nil` for none.
    public let body: Data?
    /// What `Authorization` says after `Bearer`.
    public let credential: String

    package init(method: String, path: String, body: Data?, credential: String) {
        self.method = method
        self.path = path
        self.body = body
        self.credential = credential
    }

    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// No parts, so that `dump` shows no token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the server answered.
public struct ClientResponse: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header `Date`: tells how wrong the phone's clock is. `nil` when it is missing.
    public var date: Date?
    /// JSON.
    public var body: Data

    /// An answer.
    public init(status: Int, date: Date? = nil, body: Data = Data()) {
        self.status = status
        self.date = date
        self.body = body
    }
}

/// Carries calls with `URLSession`: HTTPS as the system does it, no cookies, no cache, no redirects kept.
public struct URLSessionTransport: ClientTransport {
    private let server: URL
    private let session: URLSession

    /// - Parameter server: The server's root, such as `https://push.example.com`.
    public init(server: URL) {
        self.server = server
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeout
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        #if !canImport(FoundationNetworking)
            configuration.waitsForConnectivity = false
        #endif
        session = URLSession(configuration: configuration)
    }

    /// A wake in the background lasts seconds: what takes longer is tried again.
    private static let timeout = 20.0

    /// Sends one call.
    public func send(_ request: ClientRequest) async throws -> ClientResponse {
        // The path is encoded already, which `appendingPathComponent` would do a second time.
        let root = server.absoluteString
        guard let url = URL(string: (root.hasSuffix("/") ? String(root.dropLast()) : root) + request.path) else {
            throw URLError(.badURL)
        }
        var call = URLRequest(url: url)
        call.httpMethod = request.method
        call.httpBody = request.body
        call.setValue("Bearer \(request.credential)", forHTTPHeaderField: "Authorization")
        if request.body != nil { call.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        let (body, response) = try await session.data(for: call)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return ClientResponse(
            status: response.statusCode, date: response.value(forHTTPHeaderField: "Date").flatMap(Self.date), body: body
        )
    }

    /// The form of RFC 9110 section 5.6.7 that servers send: `Sat, 21 Nov 2026 14:32:00 GMT`.
    private static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text)
    }
}
