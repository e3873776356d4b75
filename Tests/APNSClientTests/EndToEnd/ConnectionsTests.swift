import APNSClient
import APNSModel
import HTTP2TestServer
import NIOHTTP2
import Testing

/// Several connections to one server, over real sockets and TLS.
@Suite(.timeLimit(.minutes(10))) struct ConnectionsTests: Sending {
    @Test func `what the first connection has no stream for takes a second one, with the same provider token`()
        async throws
    {
        try await TestServer.run(streams: 10) { request in
            // From its second push on, the first connection never answers.
            request.connection == 1 && request.numberInConnection > 1 ? [] : [.answer(200)]
        } body: { server in
            try await withClient(server, grace: .zero) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                #expect(server.connections == 1)
                let outcomes = submit(client, try (2...101).map { try push($0) })
                await outcomes.wait(for: 90)
                #expect(outcomes.accepted == 90 && outcomes.areCompleteOnce)
                #expect(server.connections == 2)
                #expect(Set(server.requests.compactMap { $0.headers["authorization"] }).count == 1)
            }
        }
    }

    @Test func `one connection is enough while it has room`() async throws {
        var options = APNSClient.Options()
        // Nothing that a slow machine does may look like a dead connection.
        options.verifyAfterIdle = .seconds(3_600)
        options.keepAliveTimeout = .seconds(3_600)
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server, options: options) { client in
                var statuses: [Int] = []
                for number in 1...30 { statuses.append(try await sendForStatus(client, number)) }
                #expect(statuses.allSatisfy { $0 == 200 } && server.connections == 1)
            }
        }
    }

    @Test func `a connection that is not needed any more is closed, and costs nothing`() async throws {
        var options = APNSClient.Options()
        options.idleConnectionLifetime = .milliseconds(100)
        try await TestServer.run(streams: 2) { request in
            request.connection == 1 && request.numberInConnection == 2 ? [] : [.answer(200)]
        } body: { server in
            try await withClient(server, options: options, grace: .zero) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let outcomes = submit(client, try (2...101).map { try push($0) })
                await outcomes.wait(for: 99)
                await server.closedConnections(1)
                let last = try await sendForStatus(client, 102)
                #expect(last == 200)
                #expect(outcomes.accepted == 99 && server.connections >= 2)
            }
        }
    }

    @Test func `each connection says how it does`() async throws {
        let wall = APNSClient.liveTime.wall()
        let date = Wire.httpDate(wall.seconds + 3_600)
        try await TestServer.run(streams: 3) { request in
            request.numberInConnection > 1 ? [] : [.answer(200, [("date", date)])]
        } body: { server in
            try await withClient(server, grace: .zero) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                // Three pushes that the first connection swallows, and one for the second connection.
                let outcomes = submit(client, try (2...5).map { try push($0) })
                await outcomes.wait(for: 1)
                let status = try #require(client.status.first)
                #expect(status.connections.map(\.number) == [1, 2] && status.isConnected)
                let now = APNSClient.liveTime.wall()
                for connection in status.connections {
                    #expect(!connection.isDraining && connection.maximumStreams == 3)
                    #expect(connection.tokenIssuedAt.map { $0 <= now && wall - $0 < .seconds(1_801) } == true)
                    let skew = try #require(connection.clockSkew)
                    #expect(skew > .seconds(3_500) && skew < .seconds(3_602))
                }
            }
        }
    }

    @Test func `every key has connections of its own`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            let routes = try [
                route(server), route(server, keyID: "KEY0000002", bundleID: "com.example.train"),
            ]
            var options = APNSClient.Options()
            options.maximumConnections = 1
            let client = try APNSClient(routes: [routes[0], routes[1]], options: options)
            let bundles = ["com.example.pizza", "com.example.train"]
            let outcomes = await sendAll(client, try (1...200).map { try push($0, bundleID: bundles[$0 % 2]) })
            #expect(outcomes.accepted == 200 && server.connections == 2 && client.status.count == 2)
            let perConnection = Dictionary(grouping: server.requests, by: \.connection).values
            for requests in perConnection {
                #expect(Set(requests.compactMap { $0.headers["authorization"] }).count == 1)
                #expect(Set(requests.compactMap { $0.headers["apns-topic"] }).count == 1)
            }
            await client.end(within: .seconds(5))
        }
    }

    @Test func `high priority pushes leave first, each priority in its order, and no low one starves`() async throws {
        var options = APNSClient.Options()
        options.maximumConnections = 1
        options.lowPriorityTurn = 4
        try await TestServer.run(streams: 1) { _ in
            [.answer(200)]
        } body: { server in
            try await withClient(server, options: options) { client in
                let low = try (0..<10).map { try push($0, priority: .low) }
                let high = try (10..<40).map { try push($0, priority: .high) }
                let outcomes = await sendAll(client, low + high)
                #expect(outcomes.accepted == 40)
                let priorities = server.requests.compactMap { $0.headers["apns-priority"] }
                #expect(priorities == (0..<40).map { $0 % 4 == 3 ? "5" : "10" })
                let ids = server.requests.compactMap { $0.headers["apns-id"] }
                for pushes in [low, high] {
                    let wanted = pushes.map(\.request.id.description)
                    #expect(ids.filter(Set(wanted).contains) == wanted)
                }
            }
        }
    }

    @Test func `a push that waits fails when its time is over, not when a stream is free`() async throws {
        var options = APNSClient.Options()
        options.maximumConnections = 1
        try await TestServer.run(streams: 1) { request in
            request.number == 1 ? [.answer(200)] : []
        } body: { server in
            try await withClient(server, options: options, grace: .zero) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let stuck = submit(client, [try push(2, within: 60)])
                let failure = await failure(client, try push(3, within: 0.3, answerWithin: 60))
                #expect(failure?.code == .notSentInTime)
                #expect(stuck.all.isEmpty)
            }
        }
    }

    @Test func `one GOAWAY after the other costs the caller nothing`() async throws {
        try await TestServer.run { request in
            // Three connections in a row close after three pushes. Pushes beyond those were not processed.
            guard request.connection <= 3 else { return [.answer(200)] }
            if request.numberInConnection < 3 { return [.answer(200)] }
            return request.numberInConnection == 3
                ? [.answer(200), .goAway(request.streamID, reason: "Shutdown")] : []
        } body: { server in
            try await withClient(server) { client in
                let outcomes = await sendAll(client, try (1...500).map { try push($0) })
                #expect(outcomes.accepted == 500 && outcomes.areCompleteOnce)
                let answered = server.requests.filter { $0.connection > 3 || $0.numberInConnection <= 3 }
                #expect(Set(answered.compactMap { $0.headers["apns-id"] }).count == 500 && answered.count == 500)
            }
        }
    }

    @Test func `a connection that is cut costs what was open on it, and the other one nothing`() async throws {
        try await TestServer.run(streams: 20) { request in
            if request.numberInConnection == 1 { return [.answer(200)] }
            // The first connection swallows every push and is cut by the last one.
            guard request.connection == 1 else { return [.answer(200)] }
            return request.numberInConnection == 21 ? [.cut] : []
        } body: { server in
            try await withClient(server) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let outcomes = await sendAll(client, try (2...201).map { try push($0) })
                #expect(outcomes.areCompleteOnce && outcomes.accepted == 180)
                #expect(outcomes.failureCodes == Array(repeating: .unknownFate, count: 20))
                #expect(Set(server.requests.compactMap { $0.headers["apns-id"] }).count == server.requests.count)
            }
        }
    }

    @Test func `a peer that does not read is given up, and what waits goes elsewhere`() async throws {
        var options = APNSClient.Options()
        options.writeTimeout = .seconds(2)
        options.maximumConcurrentStreams = 5_000
        // Making the pushes may take longer than the silence after which a connection is probed before use.
        options.verifyAfterIdle = .seconds(3_600)
        // The server allows far more than sockets hold, so that the socket is what stops, not HTTP/2.
        try await TestServer.run(streams: 5_000, streamWindow: 1 << 20, receiveBuffer: 8_192) { request in
            if request.connection > 1 { return [.answer(200)] }
            return request.numberInConnection == 1 ? [.openWindow(1 << 30), .answer(200), .stopReading] : []
        } body: { server in
            try await withClient(server, options: options) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let outcomes = await sendAll(client, try (2...2_501).map { try push($0, fill: 3_500) })
                #expect(outcomes.areCompleteOnce && outcomes.accepted > 0)
                #expect(Set(outcomes.failureCodes) == [.unknownFate])
                #expect(outcomes.failures.allSatisfy { $0.detail.contains("did not read") })
                #expect(outcomes.accepted + outcomes.failureCodes.count == 2_500)
                let ids = server.requests.compactMap { $0.headers["apns-id"] }
                #expect(Set(ids).count == ids.count, "what may have arrived is not sent again")
            }
        }
    }
}
