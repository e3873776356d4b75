import APNSModel
import NIOCore
import NIOPosix

/// A handle of a connection that other threads may hold.
final class Connection: Sendable {
    private let eventLoop: any EventLoop
    private let handler: NIOLoopBound<ConnectionHandler>

    private init(_ handler: ConnectionHandler, _ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
    }

    /// Begins to connect, and reports the result to the owner. Must be called on the event loop.
    static func open(
        _ id: PoolMachine.ConnectionID, _ context: ConnectionContext, owner: any ConnectionOwner,
        on eventLoop: any EventLoop
    ) -> Connection {
        let connection = Connection(ConnectionHandler(id: id, context, owner: owner), eventLoop)
        let handler = connection.handler
        let limit = TimeAmount.nanoseconds(context.connectTimeout.wholeNanoseconds)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(limit)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let proxy = context.proxy {
                        try pipeline.addHandler(ProxyHandler(proxy, to: context.endpoint, limit: limit))
                    }
                    try context.security.addHandlers(to: pipeline)
                    try pipeline.addHandler(handler.value)
                }
            }
            .connect(
                host: context.proxy?.host ?? context.endpoint.host, port: context.proxy?.port ?? context.endpoint.port
            )
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
