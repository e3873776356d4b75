package import NIOCore
package import NIOSSL

/// Host that a peer's certificate must name, as it was requested.
package enum PeerHost: Sendable, Hashable {
    case name(String)
    /// The 4 bytes of an IPv4 address, or the 16 bytes of an IPv6 address.
    case address([UInt8])

    /// Creates the host from text.
    ///
    /// - Parameter host: A DNS name, an IPv4 address, or an IPv6 address without brackets.
    package init(_ host: String) {
        self = (try? SocketAddress(ipAddress: host, port: 0)).map { .address($0.addressBytes) } ?? .name(host)
    }
}

extension SocketAddress {
    /// Bytes of the address: 4 for IPv4, 16 for IPv6, and none for others.
    package var addressBytes: [UInt8] {
        // These are the offsets in `sockaddr_in` and `sockaddr_in6`, on Linux and on Apple's systems.
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

/// TLS settings of every client in the product: at least TLS 1.2, a verified certificate chain, and a certificate that
/// names the requested host. A probe of this machine alone does without the last two.
package struct PeerSecurity: Sendable {
    /// The certificate does not name the host.
    package struct WrongHost: Error {
        package init() {}
    }

    private let context: NIOSSLContext
    private let host: PeerHost
    private let isVerified: Bool

    /// Creates TLS settings for a host. This reads the trust roots, which may take a while, so keep the result.
    ///
    /// - Parameters:
    ///   - protocols: Protocols to offer by ALPN (RFC 7301).
    ///   - isVerified: `false` to accept any certificate. Only for a server on this machine that is sent no secret.
    /// - Throws: The error of swift-nio-ssl if the trust roots cannot be used.
    package init(
        _ host: PeerHost, roots: NIOSSLTrustRoots, protocols: [String], isVerified: Bool = true
    ) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        configuration.trustRoots = roots
        switch host {
        case _ where !isVerified: configuration.certificateVerification = .none
        case .name: configuration.certificateVerification = .fullVerification
        // swift-nio-ssl only knows the socket's address, which is another one behind a proxy. `ServerNameCheck`
        // compares the right one.
        case .address: configuration.certificateVerification = .noHostnameVerification
        }
        self.init(try NIOSSLContext(configuration: configuration), host, isVerified: isVerified)
    }

    /// Returns settings for another host of the same kind (name or address), with the trust roots already read.
    ///
    /// - Returns: The settings; `nil` for a host of the other kind.
    package func serving(_ host: PeerHost) -> PeerSecurity? {
        switch (self.host, host) {
        case (.name, .name), (.address, .address): PeerSecurity(context, host, isVerified: isVerified)
        case (.name, .address), (.address, .name): nil
        }
    }

    private init(_ context: NIOSSLContext, _ host: PeerHost, isVerified: Bool) {
        self.context = context
        self.host = host
        self.isVerified = isVerified
    }

    /// Adds the TLS handler, and behind it the check of the peer's certificate.
    package func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        // An address is sent without a server name (RFC 6066 section 3).
        let serverName: String? =
            switch host {
            case .name(let name): name
            case .address: nil
            }
        try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: serverName))
        if isVerified { try pipeline.addHandler(ServerNameCheck(host)) }
    }
}
