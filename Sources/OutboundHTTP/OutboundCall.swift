import Foundation
import NIOCore
package import NIOHTTP1
import NIOPosix
import NIOSSL
import PeerIdentity

/// URL of a call.
package struct OutboundURL: Sendable, Hashable {
    package let isSecure: Bool
    /// Host name or address. An IPv6 address has no brackets here.
    package let host: String
    package let port: Int
    /// Path and query, percent-encoded.
    let target: String

    /// Reads a URL. Returns `nil` unless it is `http` or `https` with a host.
    package init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let host = parts.host, !host.isEmpty
        else { return nil }
        isSecure = scheme == "https"
        self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? (isSecure ? 443 : 80)
        let path = parts.percentEncodedPath
        target = (path.hasPrefix("/") ? path : "/" + path) + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    }

    /// Value of the Host header (RFC 9110 section 7.2), without the scheme's default port.
    var authority: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }
}

package struct OutboundRequest: Sendable {
    package var method: HTTPMethod
    package var url: OutboundURL
    package var headers: HTTPHeaders
    package var body: [UInt8]?
    /// `true` to refuse a host with an address that is not on the public Internet.
    package var isPublicOnly = false
    /// Maximum time of the whole call: lookup, TCP, TLS, and the answer to its last byte.
    package var timeout: Duration
    /// Maximum number of bytes of the answer's body that are read.
    package var maximumAnswerBytes: Int

    package init(
        _ method: HTTPMethod, _ url: OutboundURL, _ headers: HTTPHeaders = [:], body: [UInt8]? = nil,
        timeout: Duration, maximumAnswerBytes: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumAnswerBytes = maximumAnswerBytes
    }

    var head: HTTPRequestHead {
        var headers = headers
        headers.replaceOrAdd(name: "host", value: url.authority)
        if let body { headers.replaceOrAdd(name: "content-length", value: "\(body.count)") }
        return HTTPRequestHead(version: .http1_1, method: method, uri: url.target, headers: headers)
    }
}

package struct OutboundAnswer: Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// `true` if the body has more bytes than were read.
    package var isCut: Bool
}

/// Reason why a call has no answer. The text contains at most host and port of the URL.
package enum OutboundError: Error, Sendable, Equatable, CustomStringConvertible {
    case unknownHost
    case privateAddress
    /// Too many hosts are waiting for lookup.
    case busy
    /// There is no connection: TCP or TLS failed, or the certificate does not name the host.
    case unreachable(String)
    case late(Duration)
    /// The peer closed the connection before its answer was complete.
    case closed
    case malformed
    case tooLong(Int)
    /// The client was stopped, or the caller was canceled.
    case stopped

    /// Nothing listens at the address.
    package static let refused = Self.unreachable("connection refused")

    package var description: String {
        switch self {
        case .unknownHost: "the host name cannot be resolved"
        case .privateAddress: "the address is private, and `allowPrivate` is not set"
        case .busy: "too many host names are waiting for a lookup"
        case .unreachable(let reason): "no connection: \(reason)"
        case .late(let limit): "no answer within \(limit)"
        case .closed: "the connection was closed before the answer was complete"
        case .malformed: "the answer is not HTTP/1.1"
        case .tooLong(let limit): "the answer has more than \(limit) bytes"
        case .stopped: "the call was canceled"
        }
    }

    /// Creates the error for a failed exchange on a connection.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as OutboundError: error
            case is CancellationError: .stopped
            case HTTPParserError.invalidEOFState: .closed
            case is HTTPParserError: .malformed
            default: .closed
            }
    }

    /// Returns the error for a failed attempt to connect.
    static func connecting(_ error: any Error, _ url: OutboundURL) -> OutboundError {
        switch error {
        case OutboundError.closed: return .unreachable("the peer closed the connection")
        case let error as OutboundError: return error
        case is CancellationError: return .stopped
        case let error as NIOConnectionError:
            if let reason = (error.dnsAError ?? error.dnsAAAAError) as? OutboundError { return reason }
            guard let first = error.connectionErrors.first?.error else {
                return .unreachable("the host name has no address")
            }
            // The text of an `IOError` names the system call in NIO's terms.
            guard let error = first as? IOError else { return .unreachable("\(first)") }
            return error.errnoCode == ECONNREFUSED
                ? .refused : .unreachable(String(cString: strerror(error.errnoCode)).lowercased())
        case ChannelError.connectTimeout: return .unreachable("the attempt timed out")
        case is PeerSecurity.WrongHost, is NIOSSLExtraError:
            return .unreachable("TLS: the certificate does not name \(url.host)")
        case NIOSSLError.handshakeFailed(let reason):
            let isUntrusted = String(describing: reason).contains("CERTIFICATE_VERIFY_FAILED")
            return .unreachable(isUntrusted ? "TLS: the certificate is not trusted" : "TLS: the handshake failed")
        case NIOSSLError.unableToValidateCertificate, NIOSSLError.noCertificateToValidate:
            return .unreachable("TLS: the certificate does not name \(url.host)")
        case is NIOSSLError: return .unreachable("TLS: the handshake failed")
        default: return .unreachable("the peer closed the connection")
        }
    }
}
