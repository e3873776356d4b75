import APNSClient
import APNSModel
import HTTP2TestServer
import NIOCore
import NIOPosix
import Testing

/// Silent peers: each wait has a limit.
@Suite(.timeLimit(.minutes(10))) struct SilenceTests: Sending {
    @Test func `a server that takes the connection and says nothing is named as the reason`() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        var options = APNSClient.Options()
        options.connectTimeout = .milliseconds(200)
        let endpoint = try APNSClient.Endpoint(host: "127.0.0.1", port: listener.localAddress?.port ?? 0)
        let route = APNSClient.Route(
            bundleID: try Make.bundleID(), environment: .sandbox, key: try Make.key(), endpoint: endpoint)
        let client = try APNSClient(routes: [route], options: options)
        let failure = try await connectFailure(client, naming: "took too long")
        #expect(failure?.code == .cannotConnect)
        await client.end(within: .zero)
        try await listener.close()
    }

    @Test func `a peer that falls silent is asked, given up and replaced`() async throws {
        var options = APNSClient.Options()
        options.keepAliveWhileBusy = .seconds(1)
        // The time that a busy machine may need for the third push.
        options.keepAliveTimeout = .seconds(8)
        try await TestServer.run { request in
            request.connection == 1 && request.numberInConnection == 2 ? [.stopReading] : [.answer(200)]
        } body: { server in
            try await withClient(server, options: options) { client in
                let first = try await sendForStatus(client, 1)
                #expect(first == 200)
                let failure = await failure(client, try push(2))
                #expect(failure?.code == .unknownFate && failure?.detail.contains("PING") == true)
                let third = try await sendForStatus(client, 3)
                #expect(third == 200 && server.connections == 2)
            }
        }
    }
}
