import APNSClient
import APNSModel
import HTTP2TestServer
import JSONText
import NIOHTTP2
import Testing

/// Broadcasts and channel management against a server that answers by script, whatever Apple would answer.
@Suite(.timeLimit(.minutes(5))) struct CallTests {
    private func client(
        _ server: TestServer, fallback: TestServer? = nil, options: APNSClient.Options = APNSClient.Options()
    ) throws -> APNSClient {
        try client(port: server.port, roots: server.authority.rootPEM, fallback: fallback, options: options)
    }

    func client(
        port: Int, roots: [UInt8], fallback: TestServer? = nil, options: APNSClient.Options = APNSClient.Options()
    ) throws -> APNSClient {
        var options = options
        options.reconnectDelay = .milliseconds(10)
        let endpoint = try APNSClient.Endpoint("https://127.0.0.1:\(port)")
        let other = try fallback.map { try APNSClient.Endpoint("https://127.0.0.1:\($0.port)") }
        let route = APNSClient.Route(
            bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(), endpoint: endpoint,
            trustRoots: .pem(roots),
            broadcast: .init(send: endpoint, sendFallback: other, management: endpoint))
        return try APNSClient(routes: [route], options: options)
    }

    private func with<Value>(
        _ server: TestServer, fallback: TestServer? = nil, _ body: (APNSClient) async throws -> Value
    ) async throws -> Value {
        let client = try client(server, fallback: fallback)
        do {
            let value = try await body(client)
            await client.end(within: .seconds(5))
            return value
        } catch {
            await client.end(within: .zero)
            throw error
        }
    }

    func request(_ policy: MessageStoragePolicy = .none) throws -> BroadcastRequest {
        let channel = BroadcastChannel(
            id: try #require(ChannelID("dHN0LXNyY2gtY2hubA==")), bundleID: try Make.bundleID(), environment: .sandbox,
            policy: policy)
        let payload = try BroadcastPayload.update(
            timestamp: UnixTime(seconds: 1_763_700_000), contentState: EncodedObject(["score": 1]))
        return try BroadcastRequest(payload, to: channel, id: PushID(high: 1, low: 2))
    }

    func error(_ body: () async throws(BroadcastError) -> Void) async -> BroadcastError? {
        do throws(BroadcastError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    /// Returns why no connection can be made. On a busy machine the first attempts may take longer than the first
    /// calls.
    private func connectError(_ body: () async throws(BroadcastError) -> Void) async -> BroadcastError? {
        var found: BroadcastError?
        for _ in 0..<60 where found?.code != .cannotConnect { found = await error(body) }
        return found
    }

    func channels(_ client: APNSClient) throws -> APNSClient.Channels {
        client.channels(of: try Make.bundleID(), in: .sandbox)
    }

    // MARK: Requests

    @Test func `a broadcast has exactly Apple's path and headers`() async throws {
        let id = "00000000-0000-0001-0000-000000000002"
        try await TestServer.run(script: { _ in [.answer(200, [("apns-request-id", id)])] }) { server in
            let answered = try await with(server) { try await $0.broadcast(request()) }
            #expect(answered?.description == id)
            var headers = try #require(server.requests.first).headers
            #expect(headers.removeValue(forKey: "authorization")?.hasPrefix("bearer ") == true)
            #expect(
                headers == [
                    ":method": "POST", ":scheme": "https", ":authority": "127.0.0.1:\(server.port)",
                    ":path": "/4/broadcasts/apps/com.example.pizza", "apns-channel-id": "dHN0LXNyY2gtY2hubA==",
                    "apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "10",
                    "apns-request-id": id, "content-type": "application/json",
                ])
            #expect(try server.requests.first?.body == request().payload.bytes)
        }
    }

    @Test func `channel management has Apple's methods, paths and statuses`() async throws {
        let script: TestServer.Script = { request in
            switch (request.headers[":method"], request.headers[":path"]) {
            case ("POST", "/1/apps/com.example.pizza/channels"): [.answer(201, [("apns-channel-id", "abcd")])]
            case ("GET", "/1/apps/com.example.pizza/channels"):
                [.answer(200, body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)]
            case ("GET", "/1/apps/com.example.pizza/all-channels"): [.answer(200, body: #"{"channels":["abcd"]}"#)]
            case ("DELETE", "/1/apps/com.example.pizza/channels"): [.answer(204)]
            default: [.answer(404, body: #"{"reason":"BadPath"}"#)]
            }
        }
        try await TestServer.run(script: script) { server in
            try await with(server) { client in
                let channels = try channels(client)
                let channel = try await channels.create(storing: .mostRecent)
                #expect(channel.id.text == "abcd" && channel.policy == .mostRecent)
                #expect(try await channels.read(channel.id) == channel)
                #expect(try await channels.list() == [channel.id])
                try await channels.delete(channel.id)
            }
            let requests = server.requests
            #expect(requests.map { $0.headers["apns-channel-id"] } == [nil, "abcd", nil, "abcd"])
            #expect(requests.allSatisfy { $0.headers["apns-request-id"].map { PushID($0) != nil } == true })
            #expect(requests.allSatisfy { $0.headers["apns-topic"] == nil && $0.connection == 1 })
            let body = try JSONValue(parsing: requests[0].body)
            #expect(body == ["message-storage-policy": 1, "push-type": "LiveActivity"])
        }
    }

    // MARK: Answers

    static let refusals: [(Int, String, BroadcastError.Code)] =
        BroadcastReason.Known.allCases
        .filter { ![.expiredProviderToken, .shutdown, .unrelatedKeyIdInToken].contains($0) }
        .map { ($0.status, $0.rawValue, .refused(status: $0.status, reason: .known($0))) }
        + [(418, "Teapot", .refused(status: 418, reason: .unknown("Teapot")))]

    @Test(arguments: refusals) func `each of Apple's reasons comes as a typed error with the id of the request`(
        status: Int, reason: String, code: BroadcastError.Code
    ) async throws {
        let one = try request()
        let id = PushID(high: 3, low: 4)
        let script: TestServer.Script = { _ in
            [.answer(status, [("apns-request-id", id.description)], body: #"{"reason":"\#(reason)"}"#)]
        }
        try await TestServer.run(script: script) { server in
            try await with(server) { client in
                let error = await error { () async throws(BroadcastError) in try await client.broadcast(one) }
                #expect(error?.code == code && error?.requestID == id)
            }
        }
    }

    static let strange: [(Int, [(String, String)], String?)] = [
        (200, [("apns-channel-id", "abcd")], nil), (201, [], nil), (201, [("apns-channel-id", "no!")], nil),
    ]

    @Test(arguments: strange) func `an answer that Apple does not describe is no success`(
        status: Int, fields: [(String, String)], body: String?
    ) async throws {
        try await TestServer.run(script: { _ in [.answer(status, fields, body: body)] }) { server in
            try await with(server) { client in
                let channels = try channels(client)
                let error = await error { () async throws(BroadcastError) in
                    _ = try await channels.create(storing: .none)
                }
                #expect(error?.code == .unexpectedAnswer(status: status) && error?.mayHaveHappened == true)
            }
        }
    }

    @Test func `ten thousand channels are listed, and a list of something else is an error`() async throws {
        let ids = (0..<10_000).map { number in
            let text = String(number, radix: 16)
            return String(repeating: "A", count: 198 - text.count) + text + "=="
        }
        let body = #"{"channels":["# + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]}"
        let script: TestServer.Script = { request in
            switch request.number {
            case 1: [.answer(200, body: body)]
            case 2: [.answer(200, body: #"{"channels":["no id!"]}"#)]
            case 3: [.answer(200, body: "[]")]
            default: [.answer(200)]
            }
        }
        try await TestServer.run(script: script) { server in
            try await with(server) { client in
                let channels = try channels(client)
                #expect(try await channels.list().map(\.text) == ids)
                for _ in 0..<2 {
                    let error = await error { () async throws(BroadcastError) in _ = try await channels.list() }
                    #expect(error?.code == .unexpectedAnswer(status: 200))
                }
                #expect(try await channels.list().isEmpty)
            }
        }
    }

    // MARK: Faults

    @Test func `what the peer did not process leaves again, what it may have does not`() async throws {
        let one = try request()
        let script: TestServer.Script = { request in
            switch request.number {
            case 1: [.reset(.refusedStream)]
            case 2: [.goAway(0, reason: "Shutdown"), .close]
            case 3: [.answer(503, body: #"{"reason":"Shutdown"}"#)]
            case 4: [.answer(200)]
            default: [.close]
            }
        }
        try await TestServer.run(script: script) { server in
            try await with(server) { client in
                _ = try await client.broadcast(request())
                #expect(server.requests.count == 4)
                let error = await error { () async throws(BroadcastError) in try await client.broadcast(one) }
                #expect(error?.code == .unknownFate)
                #expect(server.requests.count == 5)
            }
        }
    }

    @Test func `a call that only reads is asked once more when its answer is lost`() async throws {
        let script: TestServer.Script = { $0.number == 1 ? [.cut] : [.answer(200, body: #"{"channels":[]}"#)] }
        try await TestServer.run(script: script) { server in
            let ids = try await with(server) { try await channels($0).list() }
            #expect(ids.isEmpty)
            #expect(server.requests.count == 2)
        }
    }

    @Test func `an expired provider token is signed anew, once`() async throws {
        let one = try request()
        let expired = #"{"reason":"ExpiredProviderToken"}"#
        try await TestServer.run(script: { $0.number == 1 ? [.answer(403, body: expired)] : [.answer(200)] }) {
            server in
            try await with(server) { _ = try await $0.broadcast(request()) }
            #expect(server.requests.map(\.connection) == [1, 2])
        }
        try await TestServer.run(script: { _ in [.answer(403, body: expired)] }) { server in
            try await with(server) { client in
                let error = await error { () async throws(BroadcastError) in try await client.broadcast(one) }
                #expect(error?.reason == .expiredProviderToken)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test func `one call is open until the token was accepted, then many`() async throws {
        let one = try request()
        let script: TestServer.Script = { request in
            // Only the first call is answered at once. None of the others is answered before all of them have arrived.
            request.number == 1 ? [.answer(200)] : request.number == 12 ? [.close] : []
        }
        try await TestServer.run(script: script) { server in
            try await with(server) { client in
                _ = try await client.broadcast(request())
                let lost = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<11 {
                        group.addTask {
                            await error { () async throws(BroadcastError) in
                                try await client.broadcast(one)
                            } != nil
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(lost == 11)
            }
            #expect(server.mostOpenStreams >= 11)
        }
    }

    @Test func `silence ends as an unknown fate in time, and the next call has a connection of its own`() async throws {
        let one = try request()
        try await TestServer.run(script: { $0.number == 2 ? [] : [.answer(200)] }) { server in
            try await with(server) { client in
                _ = try await client.broadcast(one)
                let error = await error { () async throws(BroadcastError) in
                    try await client.broadcast(one, within: .seconds(2))
                }
                #expect(error?.code == .unknownFate)
                await server.closedConnections(1)
                _ = try await client.broadcast(request())
            }
            #expect(server.requests.map(\.connection) == [1, 1, 2])
        }
    }

    // MARK: Destinations

    @Test func `a host that does not know the path is left for the other one, and not asked again`() async throws {
        let first: TestServer.Script = { _ in [.answer(404, body: #"{"reason":"BadPath"}"#)] }
        try await TestServer.run(script: first) { server in
            let authority = server.authority
            try await TestServer.run(authority: authority, script: { _ in [.answer(200)] }) { fallback in
                try await with(server, fallback: fallback) { client in
                    _ = try await client.broadcast(request())
                    _ = try await client.broadcast(request())
                }
                #expect(server.requests.count == 1 && fallback.requests.count == 2)
            }
        }
    }

    @Test func `a host that cannot be reached is left for the other one`() async throws {
        try await TestServer.run(script: { _ in [.answer(200)] }) { fallback in
            try await BoundSocket.whileNobodyListens { port in
                let client = try client(port: port, roots: fallback.authority.rootPEM, fallback: fallback)
                _ = try await client.broadcast(request())
                await client.end()
                #expect(fallback.requests.count == 1)
            }
        }
    }

    @Test func `without a key, a peer or a client that runs, the error says which`() async throws {
        try await BoundSocket.whileNobodyListens { port in
            let client = try client(port: port, roots: TestAuthority().rootPEM)
            let stranger = client.channels(of: try Make.bundleID("com.example.other"), in: .sandbox)
            let unknown = await error { () async throws(BroadcastError) in _ = try await stranger.list() }
            #expect(unknown?.code == .notConfigured)
            let channels = try channels(client)
            let unreachable = await connectError { () async throws(BroadcastError) in
                _ = try await channels.list(within: .seconds(1))
            }
            #expect(unreachable?.code == .cannotConnect)
            await client.end(within: .zero)
            let stopped = await error { () async throws(BroadcastError) in _ = try await channels.list() }
            #expect(stopped?.code == .stopping)
        }
    }

    @Test func `broadcasts go through the proxy too`() async throws {
        let one = try request()
        try await TestServer.run(script: { _ in [.answer(200)] }) { server in
            try await ConnectProxy.run(.tunnel()) { proxy in
                var options = APNSClient.Options()
                options.proxy = try APNSClient.Proxy(host: "127.0.0.1", port: proxy.port)
                let client = try client(server, options: options)
                _ = try await client.broadcast(request())
                await client.end()
                #expect(proxy.heads.count == 1)
            }
            try await ConnectProxy.run(.answer("HTTP/1.1 403 Forbidden\r\n\r\n")) { proxy in
                var options = APNSClient.Options()
                options.proxy = try APNSClient.Proxy(host: "127.0.0.1", port: proxy.port)
                let client = try client(server, options: options)
                let refusal = await connectError { () async throws(BroadcastError) in
                    try await client.broadcast(one, within: .seconds(1))
                }
                #expect(refusal?.code == .cannotConnect)
                #expect(refusal?.detail.contains("the proxy refused") == true)
                await client.end(within: .zero)
            }
        }
    }

    @Test func `Apple's own endpoints are those of its pages`() {
        let sandbox = APNSClient.BroadcastEndpoints.apple(.sandbox)
        let production = APNSClient.BroadcastEndpoints.apple(.production)
        #expect(sandbox.management.description == "https://api-manage-broadcast.sandbox.push.apple.com:2195")
        #expect(production.management.description == "https://api-manage-broadcast.push.apple.com:2196")
        #expect(sandbox.send.description == "https://api.sandbox.push.apple.com:443")
        #expect(production.send.description == "https://api.push.apple.com:443")
        #expect(sandbox.sendFallback?.description == "https://api-broadcast.sandbox.push.apple.com:443")
        #expect(production.sendFallback?.description == "https://api-broadcast.push.apple.com:443")
    }
}
