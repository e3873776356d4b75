import APNSModel
import NIOHTTP1
import OutboundHTTP

/// Whether an address that a configuration names can be reached: its name, where it leads, TCP and TLS. The address
/// itself is not called: only the root of its origin is asked for, by a HEAD whose answer does not matter, nor whether
/// there is one.
package struct AddressCheck: Sendable {
    package enum Problem: Error, Sendable, Equatable {
        /// The name leads nowhere, or where it may not.
        case place(String)
        /// There is no connection, or TLS failed.
        case unreachable(String)
    }

    private let root: OutboundURL
    private let allowPrivate: Bool
    private let connections: ProviderConnections

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
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

    /// For TCP and TLS, and for an answer behind them.
    private static let timeout = ProviderConnections.connectTimeout + .seconds(2)
    /// A HEAD has no body.
    private static let answerBytes = 64 * 1024

    /// Takes 7 s at most.
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
            // Connected, and no answer: a root that nobody serves. What does not connect fails before, by its own time.
            case .late, .closed, .malformed, .tooLong: return
            }
        }
    }
}
