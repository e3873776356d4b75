import NIOCore
import NIOPosix
package import NIOSSL
import PeerIdentity
import Synchronization

/// HTTP/1.1 client for all servers other than APNs.
///
/// - It connects only to addresses that it has checked.
/// - It accepts only a certificate of the host, unless it was made for probes of this machine.
/// - It follows no redirects.
/// - It ends every call within its timeout.
package final class OutboundClient: Sendable {
    private struct Security: Sendable {
        var name: PeerSecurity?
        var address: PeerSecurity?
    }

    private let roots: NIOSSLTrustRoots
    private let verifiesCertificates: Bool
    private let connector: OutboundConnector
    private let book = Mutex(ConnectionBook())
    private let security = Mutex(Security())

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - roots: Trusted certificate authorities.
    ///   - connectTimeout: Maximum time for lookup, TCP and TLS.
    ///   - verifiesCertificates: `false` to accept any certificate. Only for servers on this machine that are sent no
    ///     secret: their certificates name another host.
    package init(
        roots: NIOSSLTrustRoots = .default, lookUp: HostLookUp = .shared, connectTimeout: Duration = .seconds(5),
        verifiesCertificates: Bool = true
    ) {
        self.roots = roots
        self.verifiesCertificates = verifiesCertificates
        connector = OutboundConnector(lookUp: lookUp, limit: connectTimeout)
    }

    /// Makes one call. If the task is canceled, the call stops at once.
    ///
    /// The whole call runs on event loops, so it does not wait for a thread of Swift's own pool.
    @concurrent
    package func call(_ request: OutboundRequest) async throws(OutboundError) -> OutboundAnswer {
        let security = try security(for: request.url)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = eventLoop.makePromise(of: OutboundAnswer.self)
        let timer = eventLoop.scheduleTask(in: TimeAmount(request.timeout)) {
            promise.fail(OutboundError.late(request.timeout))
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        begin(request, security, promise)
        do {
            return try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                promise.fail(CancellationError())
            }
        } catch {
            throw OutboundError(error)
        }
    }

    /// Closes idle connections. Running calls finish by themselves, and further calls are refused.
    package func stop() {
        let (idle, waiting) = book.withLock { $0.stop() }
        for channel in idle { channel.close(promise: nil) }
        for promise in waiting { promise.fail(OutboundError.stopped) }
    }

    // MARK: - One call

    /// Begins a call.
    ///
    /// - Parameter promise: Promise of the answer. If it fails first, the call stops at any stage.
    private func begin(
        _ request: OutboundRequest, _ security: PeerSecurity?, _ promise: EventLoopPromise<OutboundAnswer>
    ) {
        let url = request.url
        let origin = ConnectionBook.Origin(
            isSecure: url.isSecure, host: url.host, port: url.port, isPublicOnly: request.isPublicOnly)
        let over = promise.futureResult
        let lent = lend(origin, until: over)
        lent.whenFailure { promise.fail($0) }
        lent.whenSuccess { [self] lent in
            let connection =
                lent.map { over.eventLoop.makeSucceededFuture($0) }
                ?? connector.connect(url, isPublicOnly: request.isPublicOnly, security: security, until: over)
            let exchange = connection.flatMap { channel in
                Self.exchange(request, on: channel, until: over).map { (channel, $0) }
            }
            exchange.whenFailure { [self] error in
                giveBack(origin, nil)
                promise.fail(error)
            }
            exchange.whenSuccess { [self] channel, outcome in
                if !outcome.isReusable { channel.close(promise: nil) }
                giveBack(origin, outcome.isReusable ? channel : nil)
                promise.succeed(outcome.answer)
            }
        }
    }

    /// A call that fails or stops closes its connection. Otherwise, the rest of its answer would be taken for the next
    /// one.
    private static func exchange(
        _ request: OutboundRequest, on channel: any Channel, until over: EventLoopFuture<OutboundAnswer>
    ) -> EventLoopFuture<Exchange.Outcome> {
        let promise = channel.eventLoop.makePromise(of: Exchange.Outcome.self)
        promise.futureResult.whenFailure { _ in channel.close(promise: nil) }
        over.whenFailure { promise.fail($0) }
        channel.writeAndFlush(Exchange(request: request, promise: promise)).whenFailure { promise.fail($0) }
        return promise.futureResult
    }

    private func security(for url: OutboundURL) throws(OutboundError) -> PeerSecurity? {
        guard url.isSecure else { return nil }
        let host = PeerHost(url.host)
        let kept = security.withLock { $0 }
        if let known = kept.name?.serving(host) ?? kept.address?.serving(host) { return known }
        do {
            let made = try PeerSecurity(
                host, roots: roots, protocols: ["http/1.1"], isVerified: verifiesCertificates)
            security.withLock { security in
                switch host {
                case .name: security.name = made
                case .address: security.address = made
                }
            }
            return made
        } catch {
            throw .unreachable("TLS: the trust roots cannot be used")
        }
    }

    // MARK: - Connections

    /// Returns an idle connection; `nil` if the call should make one.
    private func lend(
        _ origin: ConnectionBook.Origin, until over: EventLoopFuture<OutboundAnswer>
    ) -> EventLoopFuture<(any Channel)?> {
        let promise = over.eventLoop.makePromise(of: (any Channel)?.self)
        switch book.withLock({ $0.lend(origin, promise) }) {
        case .use(let channel): promise.succeed(channel)
        case .connect: promise.succeed(nil)
        case .stopped: promise.fail(OutboundError.stopped)
        case .wait(let number):
            over.whenFailure { [self] error in
                if book.withLock({ $0.leave(origin, number) }) { promise.fail(error) }
            }
        }
        return promise.futureResult
    }

    private func giveBack(_ origin: ConnectionBook.Origin, _ channel: (any Channel)?) {
        switch book.withLock({ $0.giveBack(origin, channel) }) {
        case .passed(let promise, let channel): promise.succeed(channel)
        case .close: channel?.close(promise: nil)
        case .idle: break
        }
    }
}
