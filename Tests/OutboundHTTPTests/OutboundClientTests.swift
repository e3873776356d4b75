import Dispatch
import HTTP2TestServer
import Hummingbird
import LiveActivityProviders
import LoopbackServer
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import OutboundHTTP

/// Real calls on loopback: the servers that they reach, and their ends.
@Suite(.timeLimit(.minutes(2))) struct OutboundClientTests {
    private static func request(
        _ url: String, timeout: Duration = .seconds(30), limit: Int = 1000
    ) throws -> OutboundRequest {
        OutboundRequest(
            .GET, try #require(OutboundURL(url)), timeout: timeout, maximumAnswerBytes: limit)
    }

    private static func outcome(
        _ request: OutboundRequest, _ client: OutboundClient
    ) async -> Result<Int, OutboundError> {
        do throws(OutboundError) { return .success(try await client.call(request).status) } catch {
            return .failure(error)
        }
    }

    private static func client(_ server: SecureServer) throws -> OutboundClient {
        OutboundClient(roots: .certificates(try NIOSSLCertificate.fromPEMBytes(server.authority.rootPEM)))
    }

    // MARK: - Identity of the server

    static let certificates: [(addresses: [[UInt8]], names: [String], host: String, isTaken: Bool)] = [
        ([TestAuthority.loopback], [], "localhost", false), ([], ["localhost"], "localhost", true),
        ([TestAuthority.loopback], ["other.example.com"], "localhost", false),
        ([TestAuthority.loopback], ["localhost"], "localhost", true),
        ([TestAuthority.loopback], [], "127.0.0.1", true), ([], ["localhost"], "127.0.0.1", false),
        ([[127, 0, 0, 2]], [], "127.0.0.1", false), ([], ["127.0.0.1"], "127.0.0.1", false),
    ]

    @Test(arguments: certificates) func `a certificate names the host of the URL, not the address that is at its end`(
        addresses: [[UInt8]], names: [String], host: String, isTaken: Bool
    ) async throws {
        try await SecureServer.run(addresses: addresses, names: names) { server in
            let outcome = await Self.outcome(
                try Self.request("https://\(host):\(server.port)/"), try Self.client(server))
            if isTaken {
                #expect(outcome == .success(200))
            } else {
                guard case .failure(.unreachable(let reason)) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(reason == "TLS: the certificate does not name \(host)")
            }
            #expect(server.requests == (isTaken ? 1 : 0))
        }
    }

    @Test func `a key set is not read from whoever has a certificate for the address`() async throws {
        for (names, isTaken) in [([String](), false), (["localhost"], true)] {
            try await SecureServer.run(addresses: [TestAuthority.loopback], names: names) { server in
                let connections = ProviderConnections(try Self.client(server))
                let document = try #require(
                    DocumentAddress(
                        "https://localhost:\(server.port)/keys", allowPrivate: true, maximumBytes: 100, connections))
                if isTaken {
                    let bytes = try await document.read().bytes
                    #expect(bytes == Array("{}".utf8))
                } else {
                    await #expect(throws: DocumentAddress.Failure.self) { try await document.read() }
                }
                #expect(server.requests == (isTaken ? 1 : 0))
            }
        }
    }

    @Test func `an authority that is not trusted is refused`() async throws {
        try await SecureServer.run(addresses: [], names: ["localhost"]) { server in
            let outcome = await Self.outcome(
                try Self.request("https://localhost:\(server.port)/"), OutboundClient())
            #expect(outcome == .failure(.unreachable("TLS: the certificate is not trusted")))
            #expect(server.requests == 0)
        }
    }

    @Test func `a client for probes of this machine takes any certificate`() async throws {
        for host in ["127.0.0.1", "localhost"] {
            try await SecureServer.run(addresses: [], names: ["islet.example.com"]) { server in
                let outcome = await Self.outcome(
                    try Self.request("https://\(host):\(server.port)/"), OutboundClient(verifiesCertificates: false))
                #expect(outcome == .success(200) && server.requests == 1)
            }
        }
    }

    @Test func `a port at which nothing listens refuses the connection`() async throws {
        // tcpmux (RFC 1078), which no machine serves.
        let outcome = await Self.outcome(try Self.request("http://127.0.0.1:1/"), OutboundClient())
        #expect(outcome == .failure(.refused))
        #expect(OutboundError.refused.description == "no connection: connection refused")
    }

    // MARK: - Destination of a call

    /// Gives the test's answers and counts the questions.
    private final class Names: Sendable {
        private let asked = Mutex<[String]>([])
        var questions: [String] { asked.withLock(\.self) }

        func lookUp(_ answers: @escaping @Sendable (Int) -> [String]) -> HostLookUp {
            HostLookUp { [self] host in
                let count = asked.withLock { asked in
                    asked.append(host)
                    return asked.count
                }
                return answers(count).compactMap { try? SocketAddress(ipAddress: $0, port: 0) }
            }
        }
    }

    @Test func `a call goes to the address that was checked, whatever the next answer of DNS is`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok) }) { address, asked in
            let names = Names()
            let client = OutboundClient(lookUp: names.lookUp { [$0 == 1 ? "127.0.0.1" : "127.0.0.9"] })
            let url = address.replacing("127.0.0.1", with: "shop.example.com")
            let outcome = await Self.outcome(try Self.request(url), client)
            #expect(outcome == .success(200))
            #expect(names.questions == ["shop.example.com"] && asked().count == 1)
        }
    }

    @Test func `a host with one private address among public ones is refused, and nothing is connected`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok) }) { address, asked in
            for answers in [["127.0.0.1"], ["192.0.2.1", "127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"]] {
                let names = Names()
                let client = OutboundClient(lookUp: names.lookUp { _ in answers })
                var request = try Self.request(address.replacing("127.0.0.1", with: "shop.example.com"))
                request.isPublicOnly = true
                let outcome = await Self.outcome(request, client)
                #expect(outcome == .failure(.privateAddress), "\(answers)")
            }
            #expect(asked().isEmpty)
        }
    }

    @Test func `a look-up that hangs is over with the call's time, and holds up no other host`() async throws {
        let gate = Gate()
        let hosts = 15
        defer { gate.open(hosts) }
        let client = OutboundClient(
            lookUp: HostLookUp { host in
                if host.hasPrefix("slow") { gate.wait() }
                return (try? [SocketAddress(ipAddress: "127.0.0.1", port: 0)]) ?? []
            }, connectTimeout: .seconds(60))
        try await withLoopbackServer({ _ in httpAnswer(.ok) }) { address, _ in
            let limit = Duration.milliseconds(50)
            // More calls than threads: the calls to a host share one look-up.
            for call in 0..<hosts * 2 {
                let url = "http://slow\(call % hosts).example.com:\(8000 + call)/"
                let slow = await Self.outcome(try Self.request(url, timeout: limit), client)
                #expect(slow == .failure(.late(limit)))
            }
            let other = await Self.outcome(
                try Self.request(address.replacing("127.0.0.1", with: "quick.example.com")), client)
            #expect(other == .success(200))
        }
    }

    /// Holds threads until it is opened for a number of them.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func wait() { semaphore.wait() }
        func open(_ count: Int) {
            for _ in 0..<count { semaphore.signal() }
        }
    }

    @Test func `calls of a host at several ports have its addresses, each with its own port`() async throws {
        let lookUp = HostLookUp { _ in
            ["192.0.2.1", "2001:db8::1"].compactMap { try? SocketAddress(ipAddress: $0, port: 0) }
        }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let found = [80, 8443].map { lookUp.addresses(of: "shop.example.com", port: $0, on: eventLoop) }
        for (port, addresses) in zip([80, 8443], found) {
            let expected = [
                try SocketAddress(ipAddress: "192.0.2.1", port: port),
                try SocketAddress(ipAddress: "2001:db8::1", port: port),
            ]
            #expect(try await addresses.get() == expected)
        }
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1", "shop.example.com"])
    func `a port beyond 65,535 leads nowhere`(host: String) async {
        let lookUp = HostLookUp { _ in (try? [SocketAddress(ipAddress: "192.0.2.1", port: 0)]) ?? [] }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        await #expect(throws: OutboundError.unknownHost) {
            try await lookUp.addresses(of: host, port: 65_536, on: eventLoop).get()
        }
    }

    // MARK: - End of a call

    @Test func `a connection carries the next call`() async throws {
        try await SecureServer.run(addresses: [], names: ["localhost"]) { server in
            let names = Names()
            let root = try NIOSSLCertificate.fromPEMBytes(server.authority.rootPEM)
            let client = OutboundClient(roots: .certificates(root), lookUp: names.lookUp { _ in ["127.0.0.1"] })
            for _ in 1...3 {
                let outcome = await Self.outcome(try Self.request("https://localhost:\(server.port)/"), client)
                #expect(outcome == .success(200))
            }
            #expect(names.questions.count == 1 && server.requests == 3)
        }
    }

    @Test func `as many calls as there are places run, and the others have theirs after them`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok, "{}") }) { address, asked in
            let client = OutboundClient()
            let calls = ConnectionBook.maximumCalls * 4
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<calls {
                    let request = try Self.request(address)
                    group.addTask { await Self.outcome(request, client) == .success(200) }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(taken == calls && asked().count == calls)
        }
    }

    @Test func `an answer is cut at its limit, and one that fits is whole`() async throws {
        try await withLoopbackServer({ _ in httpAnswer(.ok, String(repeating: "x", count: 1000)) }) { address, _ in
            let client = OutboundClient()
            let whole = try await client.call(try Self.request(address, limit: 1000))
            #expect(whole.body.count == 1000 && !whole.isCut)
            let cut = try await client.call(try Self.request(address, limit: 999))
            #expect(cut.body.count == 999 && cut.isCut)
        }
    }

    @Test func `a client that was stopped makes no call`() async throws {
        let client = OutboundClient()
        client.stop()
        let outcome = await Self.outcome(try Self.request("http://127.0.0.1:1/"), client)
        #expect(outcome == .failure(.stopped))
    }

    @Test(arguments: [
        ("https://a.example.com/x?y=z%20#f", "a.example.com", "/x?y=z%20", "a.example.com"),
        ("http://[::1]:8080", "::1", "/", "[::1]:8080"), ("HTTP://a:80/%2F", "a", "/%2F", "a"),
        ("https://a:80/", "a", "/", "a:80"),
    ])
    func `a URL is taken apart as it was written`(
        _ text: String, _ host: String, _ target: String, _ authority: String
    ) throws {
        let url = try #require(OutboundURL(text))
        #expect(url.host == host && url.target == target && url.authority == authority)
    }

    @Test(arguments: ["", "a", "ftp://a/", "https://", "https:///x", "//a"])
    func `what is no URL of a server is none`(_ text: String) {
        #expect(OutboundURL(text) == nil)
    }
}
