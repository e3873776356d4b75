public import Foundation
internal import LiveActivityAPI

#if canImport(FoundationNetworking)
    package import FoundationNetworking
#endif

/// Carries the client's calls to the server.
public protocol ClientTransport: Sendable {
    /// Sends one call and waits for its answer; after 30 seconds, the credential's closure included, the client waits
    /// no more and repeats the call later.
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
    /// What the header `Islet-Device-Credential` says: the credential that the server gave this phone for the person
    /// before, by which the next one shows that the phone was handed over. `nil`: there is no such header.
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

/// Carries calls with `URLSession`: HTTPS as the system does it, no cookies, no cache.
///
/// A redirect is not followed: the answer is the redirect itself, which confirms nothing.
public struct URLSessionTransport: ClientTransport {
    private let server: URL
    private let session: URLSession

    /// - Parameter server: The server's root, such as `https://push.example.com`.
    public init(server: URL) {
        self.server = server
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeout
        // The one above counts from the last byte, this one from the first.
        configuration.timeoutIntervalForResource = Self.timeout
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        #if !canImport(FoundationNetworking)
            configuration.waitsForConnectivity = false
        #endif
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    /// A wake in the background lasts seconds: what takes longer is tried again.
    private static let timeout = 20.0

    /// Sends one call and waits for its whole answer, at most 20 seconds.
    public func send(_ request: ClientRequest) async throws -> ClientResponse {
        let (body, response) = try await session.data(for: try Self.call(request, to: server))
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return ClientResponse(
            status: response.statusCode, date: response.value(forHTTPHeaderField: "Date").flatMap(Self.date), body: body
        )
    }

    package static func call(_ request: ClientRequest, to server: URL) throws -> URLRequest {
        // The path is encoded already, which `appendingPathComponent` would do a second time.
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

    /// The form of RFC 9110 section 5.6.7 that servers send: `Sat, 21 Nov 2026 14:32:00 GMT`.
    private static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text)
    }
}

/// A call that is sent elsewhere becomes a `GET` on its way, whose answer would count as the server's word; and what
/// the headers say is for the server alone.
private final class NoRedirects: NSObject, URLSessionTaskDelegate, Sendable {
    func urlSession(
        _: URLSession, task: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
