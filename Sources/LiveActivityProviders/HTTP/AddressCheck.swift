import APNSModel
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

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

    private let url: String
    private let allowPrivate: Bool
    private let place: HostPlace
    private let connections: ProviderConnections

    /// `nil` for what is no `https` URL with a host and without a user; with `allowPrivate` it may be `http`.
    package init?(
        _ url: String, allowPrivate: Bool, _ connections: ProviderConnections
    ) {
        guard HTTPProvider.isAllowed(url, allowPrivate: allowPrivate), let place = HostPlace(url) else { return nil }
        self.url = url
        self.allowPrivate = allowPrivate
        self.place = place
        self.connections = connections
    }

    /// For TCP and TLS, and for an answer behind them.
    private static let timeout = ProviderConnections.connectTimeout + .seconds(2)

    /// Takes 7 s at most; the system's resolver has limits of its own.
    @concurrent
    package func run() async throws(Problem) {
        switch await place.standing() {
        case .unknown(let problem): throw .place(problem)
        case .isPrivate(let problem): if !allowPrivate { throw .place(problem) }
        case .isPublic: break
        }
        var request = HTTPClientRequest(url: HTTPProvider.origin(of: url) + "/")
        request.method = .HEAD
        request.headers.add(name: "user-agent", value: "Islet")
        do {
            _ = try await connections.client.execute(request, timeout: .nanoseconds(Self.timeout.wholeNanoseconds))
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .remoteConnectionClosed {
            // Connected, and no answer: a root that nobody serves. What does not connect fails before, by its own time.
        } catch is HTTPParserError {
        } catch {
            throw .unreachable("no connection: \(String(describing: error).prefix(200))")
        }
    }
}
