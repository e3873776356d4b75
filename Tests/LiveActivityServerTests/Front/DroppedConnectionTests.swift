import NIOCore
import NIOEmbedded
import Testing

@testable import LiveActivityServer

@Suite struct DroppedConnectionTests {
    /// The connection was accepted while the server ended. swift-nio crashes the process if such a connection is not
    /// finished.
    @Test func `a connection that nobody serves any more does no harm`() async throws {
        let front = FrontChannel(certificates: nil, limits: .unhurried, logger: quiet) { _, _, _ in }
        let channel = NIOAsyncTestingChannel()
        try await channel.testingEventLoop.executeInContext { _ = front.setUp(channel) }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80))
        try await channel.close()
    }
}
