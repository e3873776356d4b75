import HTTPTypes
import Hummingbird
import LiveActivityProviders
import LoopbackServer
import NIOCore
import Testing

/// Small documents over HTTP: which are read, and which are refused.
struct DocumentAddressTests {
    private static func read(
        _ url: String, allowPrivate: Bool = true, timeout: Duration = .seconds(60)
    ) async throws -> Result<DocumentAddress.Document, DocumentAddress.Failure> {
        let connections = ProviderConnections()
        let address = try #require(
            DocumentAddress(url, allowPrivate: allowPrivate, maximumBytes: 1000, timeout: timeout, connections))
        let result: Result<DocumentAddress.Document, DocumentAddress.Failure>
        do throws(DocumentAddress.Failure) { result = .success(try await address.read()) } catch {
            result = .failure(error)
        }
        connections.close()
        return result
    }

    @Test func `a document is read with how long it is fresh`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok, "{}", [.cacheControl: "max-age=60"]) }) { url, asked in
            let document = try await Self.read(url + "/keys").get()
            #expect(document.bytes == Array("{}".utf8) && document.cacheControl == "max-age=60")
            #expect(asked().count == 1)
        }
    }

    @Test func `a redirect is not followed, and what is too large is not read`() async throws {
        try await withLoopbackServer({ request in
            request.path == "/large"
                ? httpAnswer(.ok, String(repeating: "x", count: 1001))
                : httpAnswer(.found, "", [.location: "/elsewhere"])
        }) { url, asked in
            let moved = try await Self.read(url + "/moved")
            #expect(moved == .failure(.init(description: "HTTP 302")))
            #expect(asked().count == 1)
            let large = try await Self.read(url + "/large")
            #expect(large == .failure(.init(description: "the answer has more than 1000 bytes")))
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a body that stalls ends with the deadline`() async throws {
        let (silence, rest) = AsyncStream.makeStream(of: Void.self)
        defer { rest.finish() }
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: "{"))
            for await _ in silence {}
            try await writer.finish(nil)
        }
        try await withLoopbackServer({ _ in Response(status: .ok, body: body) }) { url, asked in
            let stalled = try await Self.read(url, timeout: .seconds(3))
            #expect(stalled == .failure(.init(description: "no answer within 3.0 seconds")))
            #expect(asked().count == 1)
            rest.finish()
        }
    }

    @Test func `an address inside is refused before anything leaves, and so is a host that is not known`() async throws
    {
        for host in ["127.0.0.1", "10.0.0.1", "localhost", "[::1]", "169.254.169.254"] {
            let failure = DocumentAddress.Failure(
                description: "the address is private, and `allowPrivate` is not set")
            #expect(try await Self.read("https://\(host)/", allowPrivate: false) == .failure(failure))
        }
        let unknown = try await Self.read("https://islet.invalid/", allowPrivate: false)
        #expect(unknown == .failure(.init(description: "the host name cannot be resolved")))
    }

    @Test(arguments: ["", "hello", "ftp://a", "http://a", "https://", "https://me@a/", "https://a/#x"])
    func `a text that is no https URL is no address`(url: String) async throws {
        let connections = ProviderConnections()
        #expect(DocumentAddress(url, allowPrivate: false, maximumBytes: 1, connections) == nil)
        connections.close()
    }
}
