import APNSModel
import HTTP2TestServer
import Testing

@testable import APNSClient

/// Pushes through a proxy that is a separate process for the client: real TLS inside a real tunnel.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests: Sending {
    private func options(_ proxy: ConnectProxy, user: String? = nil, password: String = "") throws -> APNSClient.Options
    {
        var options = APNSClient.Options()
        options.maximumConnections = 1
        options.proxy = try APNSClient.Proxy(host: "127.0.0.1", port: proxy.port, user: user, password: password)
        options.reconnectDelay = .milliseconds(10)
        return options
    }

    private static let accepting: TestServer.Script = { _ in [.answer(200)] }

    @Test func `pushes go through the tunnel, and the proxy learns host and port alone`() async throws {
        try await TestServer.run(script: Self.accepting) { server in
            try await ConnectProxy.run(.tunnel()) { proxy in
                try await withClient(server, options: options(proxy)) { client in
                    for number in 1...2 {
                        let status = try await sendForStatus(client, number)
                        #expect(status == 200)
                    }
                }
                let head = try #require(proxy.heads.first)
                #expect(head == "CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\nhost: 127.0.0.1:\(server.port)\r\n\r\n")
                #expect(proxy.heads.count == 1 && server.connections == 1)
                #expect(proxy.tunneledBytes > 1_000)
            }
        }
    }

    @Test func `a proxy that wants a password gets it, and not in any description`() async throws {
        // RFC 7617 section 2: base64 of Aladdin:open sesame.
        let expected = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        try await TestServer.run(script: Self.accepting) { server in
            try await ConnectProxy.run(.tunnel(authorization: expected)) { proxy in
                let options = try options(proxy, user: "Aladdin", password: "open sesame")
                try await withClient(server, options: options) { client in
                    let status = try await sendForStatus(client, 1)
                    #expect(status == 200)
                }
                var dumped = ""
                dump(options, to: &dumped)
                let printed = "\(options) \(String(reflecting: options.proxy)) \(dumped)"
                #expect(!printed.contains("QWxh") && !printed.contains("sesame"))
            }
        }
    }

    static let refusals: [(ConnectProxy.Behavior, APNSClient.ProxyError)] = [
        (.tunnel(authorization: "Basic other"), .authenticationRequired),
        (.answer("HTTP/1.1 403 Forbidden\r\n\r\n"), .refused(status: 403)),
        (.answer("HTTP/1.0 502 Bad Gateway\r\ncontent-type: text/html\r\n\r\n<html>"), .refused(status: 502)),
        (.answer("SSH-2.0-OpenSSH_9.2\r\n\r\n"), .badAnswer), (.answer("HTTP/1.1 20 OK\r\n\r\n"), .badAnswer),
        (.answer(String(repeating: "x", count: 9_000)), .badAnswer), (.close, .closed), (.silence, .timedOut),
    ]

    @Test(arguments: refusals) func `what a proxy refuses is told as what it is`(
        behavior: ConnectProxy.Behavior, error: APNSClient.ProxyError
    ) async throws {
        try await TestServer.run(script: Self.accepting) { server in
            try await ConnectProxy.run(behavior) { proxy in
                var options = try options(proxy, user: "u", password: "p")
                if error == .timedOut { options.connectTimeout = .seconds(2) }
                try await withClient(server, options: options, grace: .zero) { client in
                    let failure = try await connectFailure(client)
                    #expect(failure?.code == .cannotConnect)
                    #expect(failure?.detail == error.description)
                    #expect(client.status.first?.lastEnd?.code == .proxy(error))
                }
                #expect(server.connections == 0)
            }
        }
    }

    @Test func `a proxy that is not there is named, not APNs`() async throws {
        try await BoundSocket.whileNobodyListens { port in
            try await TestServer.run(script: Self.accepting) { server in
                var options = APNSClient.Options()
                options.proxy = try APNSClient.Proxy("http://127.0.0.1:\(port)")
                try await withClient(server, options: options, grace: .zero) { client in
                    let failure = try await connectFailure(client)
                    let start = "no connection to the proxy: http://127.0.0.1:\(port)"
                    #expect(failure?.detail.hasPrefix(start) == true)
                    guard case .proxy(.unreachable)? = client.status.first?.lastEnd?.code else {
                        Issue.record("\(String(describing: client.status.first?.lastEnd)) is not about the proxy")
                        return
                    }
                }
            }
        }
    }

    @Test func `the certificate inside the tunnel is verified against APNs, whatever the proxy says`() async throws {
        let other = try TestAuthority()
        try await TestServer.run(script: Self.accepting) { server in
            try await ConnectProxy.run(.tunnel()) { proxy in
                // Another authority: the server at the end of the tunnel is not the trusted one.
                try await withClient(server, roots: other.rootPEM, options: options(proxy), grace: .zero) { client in
                    let failure = try await connectFailure(client)
                    #expect(failure?.detail.contains("is not trusted") == true)
                }
                // The right authority, with a name that the certificate does not have, although it has the proxy's
                // address.
                let route = APNSClient.Route(
                    bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(),
                    endpoint: try .init(host: "api.push.example.com", port: server.port),
                    trustRoots: .pem(server.authority.rootPEM))
                let client = try APNSClient(routes: [route], options: options(proxy))
                let failure = try await connectFailure(client)
                await client.end(within: .zero)
                #expect(failure?.code == .cannotConnect && failure?.detail.hasPrefix("TLS: ") == true)
                #expect(proxy.heads.last?.hasPrefix("CONNECT api.push.example.com:\(server.port) HTTP/1.1") == true)
            }
            #expect(server.requests.isEmpty)
        }
    }

    /// Behind a proxy the socket's address is the proxy's, so the certificate must name the endpoint's address.
    @Test func `an endpoint that is an address has a certificate for it, and not for the proxy's address`() async throws
    {
        let elsewhere: [UInt8] = [192, 0, 2, 7]
        for (address, isTaken) in [(elsewhere, true), (TestAuthority.loopback, false)] {
            try await TestServer.run(script: Self.accepting, address: address) { server in
                try await ConnectProxy.run(.tunnel()) { proxy in
                    let route = APNSClient.Route(
                        bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(),
                        endpoint: try .init(host: "192.0.2.7", port: server.port),
                        trustRoots: .pem(server.authority.rootPEM))
                    let client = try APNSClient(routes: [route], options: options(proxy))
                    if isTaken {
                        let status = try await sendForStatus(client, 1)
                        #expect(status == 200)
                    } else {
                        let failure = try await connectFailure(client)
                        #expect(failure?.detail.hasSuffix("does not name this host") == true)
                    }
                    await client.end(within: .zero)
                    #expect(server.requests.count == (isTaken ? 1 : 0))
                }
            }
        }
    }

    static let texts: [(String, String?)] = [
        ("http://proxy.example.com:3128", "http://proxy.example.com:3128"),
        ("http://[::1]:80/", "http://[::1]:80"), ("http://proxy.example.com", nil), ("https://proxy:1", nil),
        ("http://user:secret@proxy:1", nil), ("http://proxy:0", nil), ("http://proxy:1/path", nil), ("proxy:1", nil),
    ]

    @Test(arguments: texts) func `a proxy is written as a URL with a port and without credentials`(
        text: String, expected: String?
    ) {
        #expect((try? APNSClient.Proxy(text))?.description == expected)
        guard expected == nil else { return }
        let error = #expect(throws: APNSClientError.self) { try APNSClient.Proxy(text) }
        #expect(error?.code == .invalidProxy && error?.detail.contains("secret") == false)
    }

    @Test func `Apple's other port is 2197, on both hosts`() {
        #expect(
            APNSClient.Endpoint.apple(.production, usesAlternativePort: true).description
                == "https://api.push.apple.com:2197")
        #expect(
            APNSClient.Endpoint.apple(.sandbox, usesAlternativePort: true).description
                == "https://api.sandbox.push.apple.com:2197")
        #expect(APNSClient.Endpoint.apple(.production).description == "https://api.push.apple.com:443")
    }
}
