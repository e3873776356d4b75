import LiveActivityProviders
import NIOCore
import NIOPosix
import Testing

/// Checks of addresses in `islet doctor`: whether they can be reached, not how they answer.
struct AddressCheckTests {
    @Test func `what takes a call and ends the connection is reached`() async throws {
        #expect(try await problem("http") == nil)
    }

    @Test func `what ends the connection in place of TLS is not`() async throws {
        guard case .unreachable = try await problem("https") else {
            Issue.record("it counts as reached")
            return
        }
    }

    @Test func `where nobody listens nothing is reached, and a private address may have to be allowed`() async throws {
        try await withConnections { connections in
            let nobody = try #require(AddressCheck("http://127.0.0.1:1/x", allowPrivate: true, connections))
            await #expect(throws: AddressCheck.Problem.self) { try await nobody.run() }
            let inside = try #require(AddressCheck("https://127.0.0.1:1/x", allowPrivate: false, connections))
            let problem = await #expect(throws: AddressCheck.Problem.self) { try await inside.run() }
            guard case .place = problem else {
                Issue.record("\(String(describing: problem))")
                return
            }
        }
    }

    /// Returns the problem of a server that ends each connection once it has read something.
    private func problem(_ scheme: String) async throws -> AddressCheck.Problem? {
        let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Closing()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listening.localAddress?.port)
        var problem: AddressCheck.Problem?
        try await withConnections { connections in
            let check = try #require(
                AddressCheck("\(scheme)://127.0.0.1:\(port)/hook", allowPrivate: true, connections))
            do throws(AddressCheck.Problem) { try await check.run() } catch { problem = error }
        }
        try await listening.close()
        return problem
    }

    private func withConnections(_ work: (ProviderConnections) async throws -> Void) async throws {
        let connections = ProviderConnections()
        do {
            try await work(connections)
        } catch {
            connections.close()
            throw error
        }
        connections.close()
    }

    private final class Closing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
    }
}
