package import NIOCore
package import NIOSSL

/// What a peer's certificate has to name: the host as it was asked for.
package enum PeerHost: Sendable, Hashable {
    case name(String)
    /// The 4 bytes of an IPv4 address, or the 16 of an IPv6 one.
    case address([UInt8])

    /// - Parameter host: A DNS name, an IPv4 address, or an IPv6 address without brackets.
    package init(_ host: String) {
        self = (try? SocketAddress(ipAddress: host, port: 0)).map { .address($0.addressBytes) } ?? .name(host)
    }
}

extension SocketAddress {
    /// The 4 bytes of an IPv4 address, the 16 of an IPv6 one, or none.
    package var addressBytes: [UInt8] {
        // Where they lie in `sockaddr_in` and `sockaddr_in6`, on Linux and on Apple's systems.
        let place: Range<Int>
        switch self {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        case .unixDomainSocket: return []
        }
        return withSockAddr { address, size in
            Array(UnsafeRawBufferPointer(start: address, count: size)[place])
        }
    }
}

/// TLS of every client that the product has: at least 1.2, the certificate's chain verified, and its host compared with
/// the one that was meant.
package struct PeerSecurity: Sendable {
    /// The certificate does not name the host.
    package struct WrongHost: Error {
        package init() {}
    }

    private let context: NIOSSLContext
    private let host: PeerHost

    /// Reads the trust roots, which may take a while: keep what it makes.
    ///
    /// - Parameter protocols: What is offered by ALPN (RFC 7301).
    package init(_ host: PeerHost, roots: NIOSSLTrustRoots, protocols: [String]) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        configuration.trustRoots = roots
        switch host {
        case .name: configuration.certificateVerification = .fullVerification
        // swift-nio-ssl knows the socket's address only, which behind a proxy is another: `ServerNameCheck` compares.
        case .address: configuration.certificateVerification = .noHostnameVerification
        }
        context = try NIOSSLContext(configuration: configuration)
        self.host = host
    }

    /// The same for another host of the same kind, a name or an address: what was read serves both.
    ///
    /// - Returns: `nil` for a host of the other kind.
    package func serving(_ host: PeerHost) -> PeerSecurity? {
        switch (self.host, host) {
        case (.name, .name), (.address, .address): PeerSecurity(context, host)
        case (.name, .address), (.address, .name): nil
        }
    }

    private init(_ context: NIOSSLContext, _ host: PeerHost) {
        self.context = context
        self.host = host
    }

    /// Adds TLS, and behind it what looks at the peer's certificate.
    package func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        // An address has no server name (RFC 6066 section 3).
        let serverName: String? =
            switch host {
            case .name(let name): name
            case .address: nil
            }
        try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: serverName))
        try pipeline.addHandler(ServerNameCheck(host))
    }
}
