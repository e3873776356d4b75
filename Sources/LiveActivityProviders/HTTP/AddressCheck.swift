import APNSModel
import NIOHTTP1
import OutboundHTTP

/// Check that a configured URL can be reached: lookup of its name, the address, TCP and TLS.
///
/// The URL itself is not called. The check sends a HEAD request for the root of its origin, and any answer or none will
/// do.
package struct AddressCheck: Sendable {
    package enum Problem: Error, Sendable, Equatable {
        /// The host is unknown, or its address is not allowed.
        case place(String)
        /// There is no connection, or TLS failed.
        case unreachable(String)
    }

    private let root: OutboundURL
    private let allowPrivate: Bool
    private let connections: ProviderConnections

    /// Creates the check. Returns `nil` unless the URL is `https` with a host, without a user. With `allowPrivate`,
    /// `http` is also accepted.
    package init?(
        _ url: String, allowPrivate: Bool, _ connections: ProviderConnections
    ) {
        guard HTTPProvider.isAllowed(url, allowPrivate: allowPrivate),
            let root = OutboundURL(HTTPProvider.origin(of: url) + "/")
        else { return nil }
        self.root = root
        self.allowPrivate = allowPrivate
        self.connections = connections
    }

    /// Time for lookup, TCP and TLS, and for an answer.
    private static let timeout = ProviderConnections.connectTimeout + .seconds(2)
    /// Limit of the answer's body, although an answer to HEAD has none.
    private static let answerBytes = 64 * 1024

    /// Runs the check. It takes at most 7 s.
    @concurrent
    package func run() async throws(Problem) {
        var request = OutboundRequest(
            .HEAD, root, ["user-agent": "Islet"], timeout: Self.timeout, maximumAnswerBytes: Self.answerBytes)
        request.isPublicOnly = !allowPrivate
        do throws(OutboundError) {
            _ = try await connections.client.call(request)
        } catch {
            switch error {
            case .unknownHost, .privateAddress, .busy: throw .place(error.description)
            case .unreachable, .stopped: throw .unreachable(error.description)
            // There was a connection but no answer, because nothing serves the root. A failure to connect has its own,
            // shorter timeout.
            case .late, .closed, .malformed, .tooLong: return
            }
        }
    }
}
