internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// Hummingbird's HTTP/1.1, whose connections may be dropped between being accepted and being served, as they are when
/// the server ends at that moment: swift-nio ends the process for one that was never finished.
struct ControlChannel: ServerChildChannel {
    /// Closes when nobody holds it.
    final class Accepted: ServerChildChannelValue {
        let value: HTTP1Channel.Value
        var channel: any Channel { value.channel }

        init(_ value: HTTP1Channel.Value) {
            self.value = value
            // It is finished by being closed, and must not go before.
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
        // Not closed before.
        withExtendedLifetime(value) {}
    }
}
