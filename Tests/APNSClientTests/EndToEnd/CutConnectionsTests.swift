import APNSClient
import APNSModel
import HTTP2TestServer
import Synchronization
import Testing

/// The network ends or freezes a connection at any byte, below TLS.
@Suite(.timeLimit(.minutes(30))) struct CutConnectionsTests: Sending {
    private static let pushes = 4

    private func client(
        _ server: TestServer, port: Int, _ change: (inout APNSClient.Options) -> Void
    ) throws -> APNSClient {
        var options = APNSClient.Options()
        options.reconnectDelay = .milliseconds(1)
        options.maximumReconnectDelay = .milliseconds(5)
        change(&options)
        var route = try route(server)
        route.endpoint = try APNSClient.Endpoint(host: "127.0.0.1", port: port)
        return try APNSClient(routes: [route], options: options)
    }

    /// Number of bytes that a server sends for a handshake, its SETTINGS and some answers.
    private func wholeLength(_ server: TestServer) async throws -> Int {
        let length = Mutex(0)
        try await ByteProxy.run(to: server.port) { proxy, port in
            let client = try client(server, port: port) { $0.maximumConnections = 1 }
            let outcomes = await sendAll(client, try (1...Self.pushes).map { try push($0) })
            #expect(outcomes.accepted == Self.pushes)
            await client.end(within: .seconds(5))
            length.withLock { $0 = proxy.bytesFromServer[0] }
        }
        return length.withLock { $0 }
    }

    /// Returns what is wrong after the first connection meets this fate and the next ones are sound, or `nil`.
    private func problem(_ server: TestServer, fate: ByteProxy.Fate) async throws -> String? {
        let problem = Mutex<String?>(nil)
        try await ByteProxy.run(to: server.port, fate: { $0 == 1 ? fate : .pass }) { proxy, port in
            let client = try client(server, port: port) { $0.maximumConnections = 1 }
            let outcomes = await sendAll(client, try (1...Self.pushes).map { try push($0, within: 1_200) })
            await client.end(within: .seconds(5))
            let isTyped = outcomes.failureCodes.allSatisfy { $0 == .unknownFate }
            let isWhole = outcomes.accepted + outcomes.failureCodes.count == Self.pushes
            if !isTyped || !isWhole || !outcomes.areCompleteOnce || proxy.connections < 1 {
                problem.withLock { $0 = "\(fate): \(outcomes.accepted) accepted, \(outcomes.failures)" }
            }
        }
        return problem.withLock { $0 }
    }

    @Test(arguments: [false, true])
    func `a server that closes behind any byte costs no more than what had left`(resets: Bool) async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            let length = try await wholeLength(server)
            #expect(length > 500)
            // TLS tickets and records arrive whole, so test each byte of the beginning and the end, and samples
            // between.
            let cuts = (0...length + 8).filter { resets ? $0 % 13 == 5 : $0 < 16 || $0 % 8 == 0 || $0 > length - 200 }
            var problems: [String] = []
            try await withThrowingTaskGroup(of: String?.self) { group in
                for (index, cut) in cuts.enumerated() {
                    if index >= 8, let problem = try await group.next() ?? nil { problems.append(problem) }
                    group.addTask {
                        try await self.problem(server, fate: resets ? .reset(after: cut) : .cut(after: cut))
                    }
                }
                for try await problem in group { if let problem { problems.append(problem) } }
            }
            #expect(problems.isEmpty)
            let ids = server.requests.compactMap { $0.headers["apns-id"] }
            let most = Dictionary(grouping: ids) { $0 }.values.map(\.count).max() ?? 0
            // Every client sends the same ids. A client that sends a push twice makes the count exceed the number of
            // clients.
            #expect(most <= cuts.count + 1, "what may have arrived was sent again")
        }
    }

    @Test func `an idle connection that died unnoticed costs no push`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await ByteProxy.run(to: server.port) { proxy, port in
                let client = try client(server, port: port) {
                    $0.verifyAfterIdle = .nanoseconds(1)
                }
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let before = proxy.connections
                await proxy.freeze()
                let outcomes = await sendAll(client, try (2...20).map { try push($0, within: 1_200) })
                #expect(outcomes.accepted == 19 && outcomes.areCompleteOnce)
                #expect(proxy.connections > before)
                await client.end(within: .seconds(5))
            }
        }
    }

    @Test func `an idle connection that stands is asked and used again`() async throws {
        try await TestServer.run { _ in
            [.answer(200)]
        } body: { server in
            try await ByteProxy.run(to: server.port) { proxy, port in
                let client = try client(server, port: port) { $0.verifyAfterIdle = .nanoseconds(1) }
                for number in 1...20 {
                    let status = try await sendForStatus(client, number)
                    #expect(status == 200)
                }
                let outcomes = await sendAll(client, try (21...500).map { try push($0) })
                // Normally one connection. A busy machine may need more than the 3 seconds that a PING has and open
                // more. Without reuse there would be 21.
                #expect(outcomes.accepted == 480 && proxy.connections < 20)
                await client.end(within: .seconds(5))
            }
        }
    }
}
