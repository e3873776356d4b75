import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import APNSSimulator

@Suite struct DroppedConnectionTests {
    /// The connection was accepted while the server ended. swift-nio crashes the process if such a connection is not
    /// finished.
    @Test func `a connection that nobody serves any more is closed and does no harm`() async throws {
        let control = ControlChannel { _, _, _ in }
        let channel = NIOAsyncTestingChannel()
        try await channel.testingEventLoop.executeInContext {
            _ = control.setup(channel: channel, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        try await channel.closeFuture.get()
        try await channel.testingEventLoop.executeInContext { channel.pipeline.fireChannelActive() }
    }
}
