package import APNSModel
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Tests an endpoint step by step, as a connection would use it: name, TCP, TLS.
package enum EndpointProbe {
    /// The result of a probe.
    package struct Report: Sendable, Equatable {
        /// The first address of the name.
        package var address: String?
        /// The first failure, or `nil` if every step succeeded.
        package var failure: Failure?
        /// The protocol that the peer chose by ALPN (RFC 7301).
        package var applicationProtocol: String?
        /// The end of the certificate's validity.
        package var certificateEndsAt: UnixTime?

        package init() {}
    }

    package struct Failure: Sendable, Equatable {
        package enum Step: String, Sendable { case name, connection, security }

        package var step: Step
        /// A description for people. It contains no secret.
        package var detail: String

        package init(_ step: Step, _ detail: String) {
            self.step = step
            self.detail = detail
        }
    }

    private struct Handshake: Sendable {
        var applicationProtocol: String?
        var certificateEndsAt: UnixTime?
    }

    /// Probes an endpoint.
    ///
    /// - Parameter limit: Maximum time for TCP, and again for TLS. The name resolution has the system's own limits.
    package static func report(
        on endpoint: APNSClient.Endpoint, trustRoots: APNSClient.TrustRoots, limit: Duration
    ) async -> Report {
        var report = Report()
        do {
            report.address = try await NIOThreadPool.singleton.runIfActive {
                try SocketAddress.makeAddressResolvingHost(endpoint.host, port: endpoint.port).ipAddress
            }
        } catch {
            report.failure = Failure(.name, "\(endpoint.host) has no address")
            return report
        }
        do {
            let handshake = try await connect(endpoint, TransportSecurity(trustRoots, host: endpoint.host), limit)
            report.applicationProtocol = handshake.applicationProtocol
            report.certificateEndsAt = handshake.certificateEndsAt
        } catch let failure as ProbeFailure {
            report.failure = Failure(
                failure.step,
                failure.step == .security && failure.isSilent
                    ? "TLS: \(endpoint) did not answer the handshake"
                    : TransportSecurity.describe(failure.underlying, endpoint))
        } catch {
            report.failure = Failure(.security, "\(error)")
        }
        return report
    }

    private static func connect(
        _ endpoint: APNSClient.Endpoint, _ security: TransportSecurity, _ limit: Duration
    ) async throws -> Handshake {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = eventLoop.makePromise(of: Handshake.self)
        let limit = TimeAmount.nanoseconds(limit.wholeNanoseconds)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: eventLoop).connectTimeout(limit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try security.addHandlers(to: channel.pipeline.syncOperations)
                        try channel.pipeline.syncOperations.addHandler(Watcher(promise))
                    }
                }
                .connect(host: endpoint.host, port: endpoint.port).get()
        } catch {
            promise.fail(error)
            throw ProbeFailure(.connection, error)
        }
        let timer = eventLoop.scheduleTask(in: limit) { promise.fail(ChannelError.connectTimeout(limit)) }
        defer {
            timer.cancel()
            channel.close(promise: nil)
        }
        do {
            return try await promise.futureResult.get()
        } catch {
            throw ProbeFailure(.security, error)
        }
    }

    private struct ProbeFailure: Error {
        let step: Failure.Step
        let underlying: any Error

        init(_ step: Failure.Step, _ underlying: any Error) {
            self.step = step
            self.underlying = underlying
        }

        var isSilent: Bool { if case .connectTimeout? = underlying as? ChannelError { true } else { false } }
    }

    /// Waits for the end of the TLS handshake.
    private final class Watcher: ChannelInboundHandler {
        typealias InboundIn = Any

        private let promise: EventLoopPromise<Handshake>

        init(_ promise: EventLoopPromise<Handshake>) {
            self.promise = promise
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
                let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
                promise.succeed(
                    Handshake(
                        applicationProtocol: negotiated,
                        certificateEndsAt: certificate.map { UnixTime(seconds: Int64($0.notValidAfter)) }))
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
            context.fireChannelInactive()
        }
    }
}
