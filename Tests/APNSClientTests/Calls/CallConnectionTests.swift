import APNSClient
import APNSModel
import HTTP2TestServer
import NIOCore
import NIOPosix
import Testing

/// Connections for broadcasts and channel management that have faults.
extension CallTests {
    @Test func `a connection that died unnoticed costs no broadcast`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await ByteProxy.run(to: server.port) { proxy, port in
                var options = APNSClient.Options()
                options.verifyAfterIdle = .nanoseconds(1)
                let client = try client(port: port, roots: server.authority.rootPEM, options: options)
                try await client.broadcast(request())
                // A sound connection is probed and used again, unless the machine stalls for the three seconds that an
                // answer may take.
                var isUsedAgain = false
                for _ in 0..<5 where !isUsedAgain {
                    let before = proxy.connections
                    try await client.broadcast(request())
                    isUsedAgain = proxy.connections == before
                }
                #expect(isUsedAgain)
                let (connections, requests) = (proxy.connections, server.requests.count)
                await proxy.freeze()
                try await client.broadcast(request(), within: .seconds(200))
                #expect(server.requests.count == requests + 1 && proxy.connections > connections)
                await client.end(within: .zero)
            }
        }
    }

    @Test func `a connection that falls silent with a call on it is left before the call's time is over`() async throws
    {
        try await TestServer.run { request in
            request.number == 2 ? [] : [.answer(200, body: #"{"channels":[]}"#)]
        } body: { server in
            try await ByteProxy.run(to: server.port) { proxy, port in
                var options = APNSClient.Options()
                options.keepAliveWhileBusy = .milliseconds(200)
                options.keepAliveTimeout = .seconds(5)
                let client = try client(port: port, roots: server.authority.rootPEM, options: options)
                let channels = try channels(client)
                _ = try await channels.list()
                // The call may be repeated, so the client repeats it on another connection.
                async let list = channels.list(within: .seconds(200))
                while server.requests.count < 2 { await Task.yield() }
                await proxy.freeze()
                #expect(try await list.isEmpty)
                // A machine that stalls for five seconds makes more of them.
                #expect(server.requests.count >= 3 && proxy.connections >= 2)
                await client.end(within: .zero)
            }
        }
    }

    @Test func `a call for which the peer allows no stream has not left when its time is over`() async throws {
        try await TestServer.run(streams: 1) { request in
            request.number == 2 ? [] : [.answer(200, body: #"{"channels":[]}"#)]
        } body: { server in
            let client = try client(port: server.port, roots: server.authority.rootPEM)
            let channels = try channels(client)
            _ = try await channels.list()
            async let open = error { () async throws(BroadcastError) in
                _ = try await channels.list(within: .seconds(200))
            }
            while server.requests.count < 2 { await Task.yield() }
            let waited = await error { () async throws(BroadcastError) in
                _ = try await channels.list(within: .milliseconds(100))
            }
            #expect(waited?.code == .notSentInTime)
            await client.end(within: .zero)
            #expect(await open != nil)
            #expect(server.requests.count == 2)
        }
    }

    @Test func `a stop does not wait for a connection that nobody answers`() async throws {
        let (accepted, taken) = AsyncStream<Void>.makeStream()
        let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                taken.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listening.localAddress?.port)
        var options = APNSClient.Options()
        // Longer than the suite may take.
        options.connectTimeout = .seconds(1200)
        let client = try client(port: port, roots: TestAuthority().rootPEM, options: options)
        let channels = try channels(client)
        async let call = error { () async throws(BroadcastError) in _ = try await channels.list(within: .seconds(1200))
        }
        for await _ in accepted { break }
        await client.end(within: .zero)
        #expect(await call?.code == .stopping)
        try await listening.close()
    }

    @Test func `where one host knows no such path and the other cannot be reached, the first one's word is told`()
        async throws
    {
        let nobody = try BoundSocket()
        try await TestServer.run(script: { _ in [.answer(404, body: #"{"reason":"BadPath"}"#)] }) { server in
            let endpoint = try APNSClient.Endpoint("https://127.0.0.1:\(server.port)")
            let other = try APNSClient.Endpoint("https://127.0.0.1:\(nobody.port)")
            let route = APNSClient.Route(
                bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(), endpoint: endpoint,
                trustRoots: .pem(server.authority.rootPEM),
                broadcast: .init(send: endpoint, sendFallback: other, management: endpoint))
            let client = try APNSClient(routes: [route])
            let one = try request()
            let error = await error { () async throws(BroadcastError) in try await client.broadcast(one) }
            guard case .refused(404, _) = error?.code else {
                Issue.record("\(String(describing: error))")
                return
            }
            await client.end(within: .zero)
        }
        nobody.release()
    }

    @Test func `a clock that is ahead costs no broadcast`() async throws {
        try await TestServer.run { request in
            // RFC 9110 section 5.6.7: 784,111,777 seconds since 1970.
            let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            return request.number == 1
                ? [.answer(403, [date], body: #"{"reason":"InvalidProviderToken"}"#)] : [.answer(200, [date])]
        } body: { server in
            let endpoint = try APNSClient.Endpoint("https://127.0.0.1:\(server.port)")
            let route = APNSClient.Route(
                bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(), endpoint: endpoint,
                trustRoots: .pem(server.authority.rootPEM))
            let ahead = TimeSource(
                wall: { UnixTime(seconds: 784_111_777 + 7200) }, monotonic: APNSClient.liveTime.monotonic)
            let client = try APNSClient(routes: [route], time: ahead)
            try await client.broadcast(request())
            let tokens = server.requests.map { $0.headers["authorization"] }
            #expect(tokens.count == 2 && tokens[0] != tokens[1])
            await client.end(within: .zero)
        }
    }

    @Test func `Apple's other port keeps Apple's other host`() throws {
        let route = APNSClient.Route(
            bundleID: try Make.bundleID(), environment: .production, key: try Make.key(),
            endpoint: .apple(.production, usesAlternativePort: true))
        #expect(route.broadcast.sendFallback != nil && route.broadcast.send == route.endpoint)
    }
}
