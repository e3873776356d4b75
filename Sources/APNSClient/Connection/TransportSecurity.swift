import NIOCore
import NIOPosix
import NIOSSL
import PeerIdentity

/// The TLS side of a connection: HTTP/2 only (RFC 9113 section 3.3), with the peer's certificate verified.
struct TransportSecurity: Sendable {
    private let peer: PeerSecurity

    init(_ trustRoots: APNSClient.TrustRoots, host: String) throws(APNSClientError) {
        let roots = try Self.roots(trustRoots)
        do {
            peer = try PeerSecurity(PeerHost(host), roots: roots, protocols: ["h2"])
        } catch {
            throw APNSClientError(.invalidTrustRoots, "the trust roots cannot be used for TLS")
        }
    }

    /// Adds the handler for TLS, and after it the one that verifies the peer's name.
    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try peer.addHandlers(to: pipeline)
    }

    private static func roots(_ roots: APNSClient.TrustRoots) throws(APNSClientError) -> NIOSSLTrustRoots {
        do {
            switch roots {
            case .system: return .default
            case .pem(let bytes): return .certificates(try NIOSSLCertificate.fromPEMBytes(bytes))
            case .file(let path): return .certificates(try NIOSSLCertificate.fromPEMFile(path))
            }
        } catch {
            switch roots {
            case .system, .pem:
                throw APNSClientError(.invalidTrustRoots, "the trust roots are not certificates in PEM form")
            case .file(let path):
                throw APNSClientError(.invalidTrustRoots, "\(path) cannot be read as certificates in PEM form")
            }
        }
    }

    /// Describes the failure of a connection for people.
    static func describe(_ error: any Error, _ endpoint: APNSClient.Endpoint) -> String {
        switch error {
        case let error as NIOSSLError:
            switch error {
            case .handshakeFailed(let reason):
                let text = String(describing: reason)
                if text.contains("CERTIFICATE_VERIFY_FAILED") {
                    return "TLS: the certificate of \(endpoint) is not trusted; check the trust roots and the host name"
                }
                if text.contains("NO_APPLICATION_PROTOCOL") {
                    return "TLS: \(endpoint) does not speak HTTP/2 (it refused ALPN h2)"
                }
                return "TLS: the handshake with \(endpoint) failed: \(reason)"
            case .unableToValidateCertificate, .noCertificateToValidate:
                return "TLS: the certificate of \(endpoint) does not name this host"
            default: return "TLS: the connection to \(endpoint) failed: \(error)"
            }
        case is PeerSecurity.WrongHost: return "TLS: the certificate of \(endpoint) does not name this host"
        case is NIOSSLExtraError: return "TLS: the certificate of \(endpoint) does not name this host (\(error))"
        case let error as APNSClient.ProxyError: return error.description
        default: return "no connection to \(reason(error, "\(endpoint)"))"
        }
    }

    /// Describes the failure of a TCP connection to `end` for people.
    static func reason(_ error: any Error, _ end: String) -> String {
        switch error {
        case let error as NIOConnectionError:
            let first = error.connectionErrors.first.map { "\($0.error)" } ?? "the name has no address"
            return "\(end): \(first)"
        case ChannelError.connectTimeout: return "\(end): the attempt timed out"
        default: return "\(end): \(error)"
        }
    }
}
