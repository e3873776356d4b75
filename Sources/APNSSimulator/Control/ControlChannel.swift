internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// A channel for Hummingbird's HTTP/1.1 whose connections may be dropped between being accepted and being served.
///
/// A server that ends at that moment drops them. Without this type swift-nio would terminate the process, because the
/// connection was never finished.
struct ControlChannel: ServerChildChannel {
    /// A connection that closes when it is no longer referenced.
    final class Accepted: ServerChildChannelValue {
        let value: HTTP1Channel.Value
        var channel: any Channel { value.channel }

        init(_ value: HTTP1Channel.Value) {
            self.value = value
            // Closing finishes the connection, so the value must live until then.
            value.channel.closeFuture.whenComplete { _ in withExtendedLifetime(value) {} }
        }

        deinit { value.channel.close(promise: nil) }
    }

    private let http: HTTP1Channel

    init(_ responder: @escaping HTTPChannelHandler.Responder) {
        http = HTTP1Channel(responder: responder)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Accepted> {
        http.setup(channel: channel, logger: logger).map(Accepted.init)
    }

    func handle(value: Accepted, logger: Logger) async {
        await http.handle(value: value.value, logger: logger)
        // Keeps the connection open until here.
        withExtendedLifetime(value) {}
    }
}
