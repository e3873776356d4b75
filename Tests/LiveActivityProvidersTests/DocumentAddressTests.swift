import HTTPTypes
import Hummingbird
import LiveActivityProviders
import Logging
import NIOCore
import Synchronization
import Testing

/// A small document over HTTP: what is read, and what is not.
struct DocumentAddressTests {
    /// A server that answers always the same, and counts.
    private static func with(
        _ response: @escaping @Sendable (Request) -> Response,
        _ work: @escaping @Sendable (String, @Sendable () -> Int) async throws -> Void
    ) async throws {
        let calls = Counter()
        let (addresses, continuation) = AsyncStream.makeStream(of: String.self)
        let responder = CallbackResponder<BasicRequestContext> { request, _ in
            calls.add()
            return response(request)
        }
        let application = Application(
            responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield("http://127.0.0.1:\($0.localAddress?.port ?? 0)") },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                for await address in addresses {
                    try await work(address) { calls.count }
                    return
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private final class Counter: Sendable {
        private let value = Mutex(0)
        var count: Int { value.withLock(\.self) }
        func add() { value.withLock { $0 += 1 } }
    }

    private static func read(
        _ url: String, allowPrivate: Bool = true, timeout: Duration = .seconds(10)
    ) async throws -> Result<DocumentAddress.Document, DocumentAddress.Failure> {
        let connections = ProviderConnections()
        let address = try #require(
            DocumentAddress(url, allowPrivate: allowPrivate, maximumBytes: 1000, timeout: timeout, connections))
        let result: Result<DocumentAddress.Document, DocumentAddress.Failure>
        do throws(DocumentAddress.Failure) { result = .success(try await address.read()) } catch {
            result = .failure(error)
        }
        try await connections.close()
        return result
    }

    private static func answer(
        _ status: HTTPResponse.Status, _ body: String, _ headers: HTTPFields = [:]
    ) -> Response {
        Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
    }

    @Test func `a document is read with how long it is fresh`() async throws {
        try await Self.with({ _ in Self.answer(.ok, "{}", [.cacheControl: "max-age=60"]) }) { url, calls in
            let document = try await Self.read(url + "/keys").get()
            #expect(document.bytes == Array("{}".utf8) && document.cacheControl == "max-age=60")
            #expect(calls() == 1)
        }
    }

    @Test func `a redirect is not followed, and what is too large is not read`() async throws {
        try await Self.with({ request in
            request.uri.path == "/large"
                ? Self.answer(.ok, String(repeating: "x", count: 1001))
                : Self.answer(.found, "", [.location: "/elsewhere"])
        }) { url, calls in
            let moved = try await Self.read(url + "/moved")
            #expect(moved == .failure(.init(description: "HTTP 302")))
            #expect(calls() == 1)
            let large = try await Self.read(url + "/large")
            #expect(large == .failure(.init(description: "the answer has more than 1000 bytes")))
        }
    }

    @Test func `an address inside is refused before anything leaves, and so is a host that is not known`() async throws
    {
        for host in ["127.0.0.1", "10.0.0.1", "localhost", "[::1]", "169.254.169.254"] {
            let failure = DocumentAddress.Failure(
                description: "its address is private, and `allowPrivate` is not set")
            #expect(try await Self.read("https://\(host)/", allowPrivate: false) == .failure(failure))
        }
        let unknown = try await Self.read("https://islet.invalid/", allowPrivate: false)
        #expect(unknown == .failure(.init(description: "the name of its host is not known")))
    }

    @Test(arguments: ["", "hello", "ftp://a", "http://a", "https://", "https://me@a/", "https://a/#x"])
    func `a text that is no https URL is no address`(url: String) async throws {
        let connections = ProviderConnections()
        #expect(DocumentAddress(url, allowPrivate: false, maximumBytes: 1, connections) == nil)
        try await connections.close()
    }
}
