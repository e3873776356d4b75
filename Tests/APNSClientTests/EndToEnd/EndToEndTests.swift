import APNSClient
import APNSModel
import HTTP2TestServer
import NIOHTTP2
import Testing

@Suite(.timeLimit(.minutes(10))) struct EndToEndTests: Sending {
    @Test func `a push gets its answer, and the server saw all of it`() async throws {
        try await TestServer.run { _ in
            [.answer(200, [("apns-unique-id", "u-1"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")])]
        } body: { server in
            try await withClient(server) { client in
                let push = try push(5)
                let answer = try await client.send(push)
                #expect(answer.status == 200 && answer.id == push.request.id && answer.uniqueID == "u-1")
                #expect(answer.date == UnixTime(seconds: 784_111_777))
                let request = try #require(server.requests.first)
                #expect(request.body == push.request.payload)
                #expect(request.headers[":path"] == "/3/device/\(push.request.destination.hex)")
                #expect(request.headers["apns-topic"] == "com.example.pizza.push-type.liveactivity")
                #expect(request.headers["authorization"]?.hasPrefix("bearer ey") == true)
                #expect(request.headers[":authority"] == "127.0.0.1:\(server.port)")
            }
        }
    }

    @Test func `a 410 carries its timestamp in ms`() async throws {
        try await TestServer.run { _ in
            [.answer(410, body: #"{"reason":"Unregistered","timestamp":1763700000123}"#)]
        } body: { server in
            try await withClient(server) { client in
                let answer = try await client.send(push())
                #expect(answer.verdict == .tokenDead(.inactive(since: UnixTime(milliseconds: 1_763_700_000_123))))
            }
        }
    }

    @Test func `10,000 pushes are completed once each`() async throws {
        try await TestServer.run { request in
            request.number.isMultiple(of: 100) ? [.answer(400, body: #"{"reason":"BadDeviceToken"}"#)] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let outcomes = await sendAll(client, try (1...10_000).map { try push($0, within: 300) })
                #expect(outcomes.areCompleteOnce)
                let answers = outcomes.each.compactMap { try? $0.get() }
                #expect(answers.filter { $0.status == 200 }.count == 9_900)
                #expect(answers.filter { $0.reason == .known(.badDeviceToken) }.count == 100)
                #expect((1...2).contains(server.connections))
                #expect(Set(server.requests.compactMap { $0.headers[":path"] }).count == 10_000)
            }
        }
    }

    @Test func `a swallowed stream ends as unknown fate, the others are answered`() async throws {
        try await TestServer.run {
            $0.number == 2 ? [] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                // The connection exists before the short limit counts. That limit is the limit of the one push.
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let outcomes = await sendAll(client, try (2...11).map { try push($0, within: $0 == 2 ? 3 : 60) })
                #expect(outcomes.areCompleteOnce)
                let failures = outcomes.each.compactMap { result -> PushFailure? in
                    if case .failure(let failure) = result { failure } else { nil }
                }
                #expect(failures.map(\.code) == [.unknownFate])
                #expect(server.connections == 1)
            }
        }
    }

    @Test func `a server that closes costs what was open, and later pushes take a new connection`() async throws {
        try await TestServer.run { request in
            request.connection == 1 && request.numberInConnection == 2 ? [.close] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let second = try await failureCode(client, 2)
                #expect(second == .unknownFate)
                let third = try await sendForStatus(client, 3)
                #expect(third == 200)
                #expect(server.connections == 2)
            }
        }
    }

    @Test func `a graceful GOAWAY costs the caller nothing`() async throws {
        try await TestServer.run { request in
            // The first connection closes after 200 pushes, while many more are in flight.
            if request.connection > 1 || request.numberInConnection < 200 { return [.answer(200)] }
            guard request.numberInConnection == 200 else { return [] }
            return [.answer(200), .goAway(request.streamID, reason: "Shutdown")]
        } body: { server in
            try await withClient(server) { client in
                let outcomes = await sendAll(client, try (1...500).map { try push($0, within: 30) })
                #expect(outcomes.areCompleteOnce)
                #expect(outcomes.each.allSatisfy { (try? $0.get().status) == 200 })
                #expect(server.connections >= 2)
            }
        }
    }

    @Test func `a refused stream is sent again, a few times`() async throws {
        try await TestServer.run { request in
            request.number == 1 || request.number > 2 ? [.reset(.refusedStream)] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let second = try await failureCode(client, 2)
                #expect(second == .refusedByPeer)
                // The first push was sent twice; the second once, and then once for each repetition.
                #expect(server.requests.count == 2 + 1 + 4)
            }
        }
    }

    @Test func `an unknown authority is named as the reason`() async throws {
        let other = try TestAuthority()
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server, roots: other.rootPEM) { client in
                let failure = try #require(await connectFailure(client))
                #expect(failure.code == .cannotConnect)
                #expect(failure.detail.contains("TLS") && failure.detail.contains("trust"))
                #expect(client.status.first?.lastError?.contains("TLS") == true)
            }
        }
    }

    @Test(arguments: [[], ["http/1.1"]])
    func `a server without HTTP/2 is named as the reason`(protocols: [String]) async throws {
        try await TestServer.run(protocols: protocols) { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let failure = try #require(await connectFailure(client))
                #expect(failure.code == .cannotConnect)
                #expect(failure.detail.contains("HTTP/2"))
            }
        }
    }

    @Test func `nobody listening is named as the reason`() async throws {
        try await BoundSocket.whileNobodyListens { port in
            let client = try APNSClient(routes: [
                APNSClient.Route(
                    bundleID: Make.bundleID(), environment: .sandbox, key: Make.key(),
                    endpoint: APNSClient.Endpoint(host: "127.0.0.1", port: port))
            ])
            let failure = try await connectFailure(client)
            #expect(failure?.code == .cannotConnect && failure?.detail.contains("no connection to") == true)
            await client.end(within: .zero)
        }
    }

    @Test func `one stream at a time is enough`() async throws {
        var options = APNSClient.Options()
        options.maximumConnections = 1
        try await TestServer.run(streams: 1) { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server, options: options) { client in
                let outcomes = await sendAll(client, try (1...300).map { try push($0, within: 600) })
                #expect(outcomes.each.allSatisfy { (try? $0.get().status) == 200 })
                #expect(server.mostOpenStreams == 1)
            }
        }
    }

    @Test func `the stream limit moves while pushes are on their way`() async throws {
        try await TestServer.run(streams: 1_000) { request in
            let limit = [1, 1_000, 7][request.number / 50 % 3]
            let change = TestServer.Reaction.settings([.init(parameter: .maxConcurrentStreams, value: limit)])
            return request.number.isMultiple(of: 50) ? [change, .answer(200)] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let outcomes = await sendAll(client, try (1...2_000).map { try push($0) })
                #expect(outcomes.each.allSatisfy { (try? $0.get().status) == 200 })
            }
        }
    }

    @Test func `an expired provider token is signed anew on a new connection by APNs's clock`() async throws {
        let ahead = Int64(3 * 3_600)
        let wall = APNSClient.liveTime.wall()
        let date = Wire.httpDate(wall.seconds + ahead)
        try await TestServer.run { request in
            let age = wall.seconds + ahead - Wire.issuedAt(request.headers["authorization"] ?? "")
            return age > 3_600
                ? [.answer(403, [("date", date)], body: #"{"reason":"ExpiredProviderToken"}"#)] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                #expect(server.connections == 2)
                let second = try await sendForStatus(client, 2)
                #expect(second == 200)
                #expect(server.connections == 2)
            }
        }
    }

    @Test(arguments: [
        ("IdleTimeout", 400, 2), ("Shutdown", 503, 2), ("UnrelatedKeyIdInToken", 403, 2),
        ("TooManyProviderTokenUpdates", 429, 1),
    ])
    func `what the connection is to blame for is mended inside`(
        reason: String, status: Int, connections: Int
    ) async throws {
        try await TestServer.run { request in
            request.number == 2 ? [.answer(status, body: #"{"reason":"\#(reason)"}"#)] : [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let second = try await sendForStatus(client, 2)
                #expect(second == 200)
                #expect(server.connections == connections)
                #expect(server.requests.count == 3)
            }
        }
    }

    @Test func `every other refusal goes to the caller at once`() async throws {
        try await TestServer.run { _ in
            [.answer(503, body: #"{"reason":"ServiceUnavailable"}"#)]
        } body: { server in
            try await withClient(server) { client in
                let answer = try await client.send(push())
                #expect(answer.reason == .known(.serviceUnavailable))
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func `a full queue refuses, and says so`() async throws {
        var options = APNSClient.Options()
        options.maximumQueuedPushes = 5
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server, options: options) { client in
                let outcomes = await sendAll(client, try (1...20).map { try push($0) })
                #expect(outcomes.areCompleteOnce)
                let refused = outcomes.all.filter { _, results in
                    if case .failure(let failure) = results[0] { failure.code == .overloaded } else { false }
                }
                #expect(Set(refused.keys) == Set(5..<20))
            }
        }
    }

    @Test func `a push without a route is not configured`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server) { client in
                let failure = await failure(client, try push(1, bundleID: "com.example.other"))
                #expect(failure?.code == .notConfigured)
                #expect(server.connections == 0)
            }
        }
    }

    @Test func `run ends in order when it is cancelled`() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await TestServer.run { request in
            arrived.continuation.yield()
            return request.number == 1 ? [.answer(200)] : []
        } body: { server in
            var options = APNSClient.Options()
            options.shutdownGrace = .milliseconds(200)
            let client = try APNSClient(routes: [route(server)], options: options)
            let running = Task { try await client.run() }
            var arrivals = arrived.stream.makeAsyncIterator()
            let first = try await sendForStatus(client, 1)
            #expect(first == 200)
            await arrivals.next()
            async let open = failureCode(client, 2)
            await arrivals.next()
            running.cancel()
            try await running.value
            let left = try await open
            #expect(left == .unknownFate)
            let third = try await failureCode(client, 3)
            #expect(third == .stopping)
            await #expect(throws: APNSClientError.self) { try await client.run() }
        }
    }

    @Test func `pushes that wait are answered when the client stops`() async throws {
        try await TestServer.run(streams: 0) { _ in
            []
        } body: { server in
            let client = try APNSClient(routes: [route(server)])
            let outcomes = Outcomes()
            client.submit(try (1...50).map { try push($0) }) { index, result in outcomes.record(index, result) }
            await client.end(within: .seconds(5))
            await outcomes.wait(for: 50)
            #expect(outcomes.areCompleteOnce)
            let codes = outcomes.each.map { result -> PushFailure.Code? in
                if case .failure(let failure) = result { failure.code } else { nil }
            }
            #expect(codes.allSatisfy { $0 == .stopping })
        }
    }

    @Test func `routes with one key and endpoint share a connection`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            let pizza = try route(server)
            var taxi = pizza
            taxi.bundleID = try Make.bundleID("com.example.taxi")
            let client = try APNSClient(routes: [pizza, taxi])
            let first = try await sendForStatus(client, 1)
            #expect(first == 200)
            let answer = try await client.send(push(2, bundleID: "com.example.taxi"))
            #expect(answer.status == 200)
            #expect(server.connections == 1)
            #expect(client.status.count == 1 && client.status[0].isConnected)
            await client.end(within: .seconds(5))
            #expect(throws: APNSClientError.self) { try APNSClient(routes: [pizza, pizza]) }
        }
    }
}
