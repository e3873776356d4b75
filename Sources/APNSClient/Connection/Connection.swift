import APNSModel
import NIOCore
import NIOPosix

/// The handle of a connection that other threads may hold.
final class Connection: Sendable {
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<ConnectionHandler>

    private init(_ handler: ConnectionHandler, _ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
    }

    /// Begins to connect. Called on the event loop; how it goes is told to the owner.
    static func open(
        _ id: PoolMachine.ConnectionID, _ context: ConnectionContext, owner: any ConnectionOwner,
        on eventLoop: any EventLoop
    ) -> Connection {
        let connection = Connection(ConnectionHandler(id: id, context, owner: owner), eventLoop)
        let handler = connection.handler
        ClientBootstrap(group: eventLoop)
            .connectTimeout(.nanoseconds(context.connectTimeout.wholeNanoseconds))
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        context.security.makeHandler(), handler.value)
                }
            }
            .connect(host: context.endpoint.host, port: context.endpoint.port)
            .whenFailure { error in handler.value.connectFailed(error) }
        return connection
    }

    func wake() {
        let handler = handler
        eventLoop.execute { handler.value.wake() }
    }

    func drain() {
        let handler = handler
        eventLoop.execute { handler.value.drain() }
    }

    func close(_ end: ConnectionEnd) {
        let handler = handler
        eventLoop.execute { handler.value.close(end) }
    }
}
