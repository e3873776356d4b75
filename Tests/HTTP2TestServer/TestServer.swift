import Crypto
import Foundation
import NIOCore
import NIOHPACK
package import NIOHTTP2
import NIOPosix
package import NIOSSL
import SwiftASN1
import Synchronization
import X509

/// A certificate authority that lives as long as a test.
package struct TestAuthority {
    package let rootPEM: [UInt8]
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName

    package init() throws {
        name = try DistinguishedName { CommonName("Test authority") }
        let isAuthority = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
        }
        let root = try Self.certificate(name, key.publicKey, issuer: name, key, isAuthority)
        rootPEM = Array(try root.serializeAsPEM().pemString.utf8)
    }

    /// The address 127.0.0.1.
    package static let loopback: [UInt8] = [127, 0, 0, 1]

    /// A certificate for addresses and names, and its key, as PEM text.
    package func makeIdentity(
        addresses: [[UInt8]] = [loopback], names: [String] = []
    ) throws -> (certificate: String, key: String) {
        let serverKey = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName("Test server") }
        let alternatives = try Certificate.Extensions {
            SubjectAlternativeNames(
                addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) } + names.map { .dnsName($0) })
        }
        let leaf = try Self.certificate(subject, .init(serverKey.publicKey), issuer: name, key, alternatives)
        return (try leaf.serializeAsPEM().pemString, serverKey.pemRepresentation)
    }

    package func makeServerConfiguration(
        protocols: [String], addresses: [[UInt8]] = [loopback], names: [String] = []
    ) throws -> TLSConfiguration {
        let identity = try makeIdentity(addresses: addresses, names: names)
        let certificate = try NIOSSLCertificate(bytes: Array(identity.certificate.utf8), format: .pem)
        let privateKey = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(privateKey))
        configuration.applicationProtocols = protocols
        return configuration
    }

    private static func certificate(
        _ subject: DistinguishedName, _ publicKey: Certificate.PublicKey, issuer: DistinguishedName,
        _ issuerKey: Certificate.PrivateKey, _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
            notValidBefore: Date().addingTimeInterval(-3_600), notValidAfter: Date().addingTimeInterval(3_600),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: issuerKey)
    }
}

/// A small APNs on swift-nio-http2, an implementation of HTTP/2 that is not the client's. A script decides each answer.
package final class TestServer: Sendable {
    package struct Request: Sendable {
        /// From 1 on, over all connections.
        package let number: Int
        package let connection: Int
        /// From 1 on, within the connection.
        package let numberInConnection: Int
        package let streamID: HTTP2StreamID
        package let headers: [String: String]
        package let body: [UInt8]
    }

    package enum Reaction: Sendable {
        case answer(Int, [(String, String)] = [], body: String? = nil)
        case reset(HTTP2ErrorCode)
        case goAway(HTTP2StreamID, reason: String)
        case settings([HTTP2Setting])
        /// Lets this many bytes more come in before the client has to wait.
        case openWindow(Int)
        /// Reads nothing any more.
        case stopReading
        case close
        /// TCP resets the connection: no good-bye of TLS or HTTP/2, and nothing that waits is sent.
        case cut
    }

    package typealias Script = @Sendable (Request) -> [Reaction]

    private struct State {
        package var requests: [Request] = []
        var connections = 0
        var openStreams = 0
        var mostOpenStreams = 0
        var closed = 0
        var closedWaiters: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let script: Script
    private let channel: Mutex<(any Channel)?> = Mutex(nil)
    package let authority: TestAuthority

    private init(_ authority: TestAuthority, _ script: @escaping Script) {
        self.authority = authority
        self.script = script
    }

    /// Runs a server on a free port of loopback while the body runs.
    ///
    /// - Parameters:
    ///   - streamWindow: How much of a request's body may come in before the client has to wait.
    ///   - receiveBuffer: The size of the sockets' receive buffers, in bytes; the system's own when `nil`.
    ///   - authority: Who vouches for it; one of its own when `nil`.
    ///   - address: What its certificate names.
    package static func run(
        streams: Int = 1_000, streamWindow: Int = 65_535, receiveBuffer: Int? = nil, protocols: [String] = ["h2"],
        authority: TestAuthority? = nil, script: @escaping Script, address: [UInt8] = TestAuthority.loopback,
        body: (TestServer) async throws -> Void
    ) async throws {
        let server = TestServer(try authority ?? TestAuthority(), script)
        let tls = try NIOSSLContext(
            configuration: server.authority.makeServerConfiguration(protocols: protocols, addresses: [address]))
        let settings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .initialWindowSize, value: streamWindow),
        ]
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        if let receiveBuffer {
            // On the listening socket: the window that TCP announces follows from it before a connection stands.
            bootstrap = bootstrap.serverChannelOption(
                .socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
        }
        let channel =
            try await bootstrap
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: tls),
                        NIOHTTP2Handler(mode: .server, initialSettings: settings),
                        TestServerHandler(server, connection: server.countConnection()),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channel.withLock { $0 = channel }
        do {
            try await body(server)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    package var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }
    package var requests: [Request] { state.withLock { $0.requests } }
    package var connections: Int { state.withLock { $0.connections } }
    package var mostOpenStreams: Int { state.withLock { $0.mostOpenStreams } }

    /// Returns when that many connections have been closed, or the task is cancelled: what follows says that they are
    /// not, and no test hangs.
    package func closedConnections(_ count: Int) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.closed >= count || Task.isCancelled { return true }
                    state.closedWaiters[number] = (count, continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.closedWaiters.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    fileprivate func connectionClosed() {
        let waiters = state.withLock { state in
            state.closed += 1
            let waiters = state.closedWaiters.filter { $0.value.count <= state.closed }
            for number in waiters.keys { state.closedWaiters[number] = nil }
            return waiters.values.map(\.continuation)
        }
        for waiter in waiters { waiter.resume() }
    }

    fileprivate func countConnection() -> Int {
        state.withLock { state in
            state.connections += 1
            return state.connections
        }
    }

    fileprivate func streamOpened() {
        state.withLock { state in
            state.openStreams += 1
            state.mostOpenStreams = max(state.mostOpenStreams, state.openStreams)
        }
    }

    fileprivate func streamClosed() {
        state.withLock { $0.openStreams -= 1 }
    }

    fileprivate func react(_ make: (Int) -> Request) -> [Reaction] {
        let request = state.withLock { state in
            let request = make(state.requests.count + 1)
            state.requests.append(request)
            return request
        }
        return script(request)
    }
}

private final class TestServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let server: TestServer
    private let connection: Int
    private var count = 0
    private var open: [HTTP2StreamID: (headers: [String: String], body: [UInt8])] = [:]

    init(_ server: TestServer, connection: Int) {
        self.server = server
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            let fields = headers.headers.map { ($0.name, $0.value) }
            open[frame.streamID] = (Dictionary(fields) { first, _ in first }, [])
            server.streamOpened()
            if headers.endStream { received(context, frame.streamID) }
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            open[frame.streamID]?.body.append(contentsOf: bytes.readableBytesView)
            // A real server gives the window back; NIOHTTP2's frame level leaves that to us.
            let update = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: max(1, bytes.readableBytes))
            write(context, .rootStream, update)
            if data.endStream { received(context, frame.streamID) }
        case .rstStream:
            if open.removeValue(forKey: frame.streamID) != nil { server.streamClosed() }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func channelInactive(context: ChannelHandlerContext) {
        server.connectionClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func received(_ context: ChannelHandlerContext, _ streamID: HTTP2StreamID) {
        guard let request = open[streamID] else { return }
        count += 1
        let reactions = server.react { number in
            TestServer.Request(
                number: number, connection: connection, numberInConnection: count, streamID: streamID,
                headers: request.headers, body: request.body)
        }
        for reaction in reactions { perform(context, streamID, reaction) }
    }

    private func perform(_ context: ChannelHandlerContext, _ streamID: HTTP2StreamID, _ reaction: TestServer.Reaction) {
        switch reaction {
        case .answer(let status, let fields, let body):
            let id = open.removeValue(forKey: streamID)?.headers["apns-id"] ?? ""
            server.streamClosed()
            let headers = HPACKHeaders([(":status", "\(status)"), ("apns-id", id)] + fields)
            write(context, streamID, .headers(.init(headers: headers, endStream: body == nil)))
            if let body {
                write(context, streamID, .data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)))
            }
        case .reset(let code):
            if open.removeValue(forKey: streamID) != nil { server.streamClosed() }
            write(context, streamID, .rstStream(code))
        case .goAway(let last, let reason):
            let debug = ByteBuffer(string: #"{"reason":"\#(reason)"}"#)
            write(context, .rootStream, .goAway(lastStreamID: last, errorCode: .noError, opaqueData: debug))
        case .settings(let settings): write(context, .rootStream, .settings(.settings(settings)))
        case .openWindow(let bytes):
            write(context, .rootStream, .windowUpdate(windowSizeIncrement: bytes))
        case .stopReading: try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        case .close:
            context.flush()
            context.close(promise: nil)
        case .cut:
            // Closing a socket that lingers for no time sends a reset. Below TLS, which would say good-bye first.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
        }
    }

    private func write(_ context: ChannelHandlerContext, _ streamID: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload)
    {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: streamID, payload: payload)), promise: nil)
    }
}
