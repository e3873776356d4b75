import Foundation
package import NIOCore
import NIOPosix
import Synchronization

/// Looks up host names on threads of its own, because the system's resolver blocks for many seconds when DNS is slow.
package final class HostLookUp: Sendable {
    /// Function that returns the addresses of a host, with any port; empty if the host is unknown. It may block.
    package typealias Find = @Sendable (_ host: String) -> [SocketAddress]

    /// Lookup by the system's resolver, shared by all clients of the process. A name that hangs occupies one thread, no
    /// matter how many clients ask for it.
    package static let shared = HostLookUp()

    /// Number of concurrent lookups. Other names are still found while fewer names than this hang.
    static let threads = 16
    /// Maximum number of hosts that are being looked up or wait for it. Calls to one host share a lookup, whatever
    /// their ports.
    static let maximumHosts = 256

    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        return pool
    }()

    private let find: Find
    private let asked = Mutex<[String: [EventLoopPromise<[SocketAddress]>]]>([:])

    package init(_ find: @escaping Find = HostLookUp.system) {
        self.find = find
    }

    func addresses(of host: String, port: Int, on eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        // swift-nio terminates the process for a port out of range.
        guard UInt16(exactly: port) != nil else { return eventLoop.makeFailedFuture(OutboundError.unknownHost) }
        if let address = try? SocketAddress(ipAddress: host, port: port) {
            return eventLoop.makeSucceededFuture([address])
        }
        let promise = eventLoop.makePromise(of: [SocketAddress].self)
        let isFirst: Bool? = asked.withLock { asked in
            if asked[host] != nil {
                asked[host]?.append(promise)
                return false
            }
            guard asked.count < Self.maximumHosts else { return nil }
            asked[host] = [promise]
            return true
        }
        switch isFirst {
        case nil: promise.fail(OutboundError.busy)
        case false?: break
        case true?:
            Self.pool.submit { [self] _ in
                let addresses = find(host)
                let promises = asked.withLock { $0.removeValue(forKey: host) } ?? []
                for promise in promises { promise.succeed(addresses) }
            }
        }
        return promise.futureResult.map { addresses in
            addresses.map { address in
                var address = address
                address.port = port
                return address
            }
        }
    }

    /// Returns the addresses from the system's resolver.
    @Sendable package static func system(_ host: String) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0, let list else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        for entry in sequence(first: list, next: { $0.pointee.ai_next }) {
            guard let address = entry.pointee.ai_addr else { continue }
            switch entry.pointee.ai_family {
            case AF_INET:
                addresses.append(
                    SocketAddress(address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee }))
            case AF_INET6:
                addresses.append(
                    SocketAddress(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee }))
            default: continue
            }
        }
        return addresses
    }
}

/// Resolver that gives a connection the checked addresses of its host. The connection cannot go anywhere else, whatever
/// DNS answers later.
struct CheckedResolver: Resolver, Sendable {
    private let addresses: EventLoopFuture<[SocketAddress]>

    /// Creates the resolver.
    ///
    /// - Parameter isPublicOnly: `true` to refuse a host with a private address, even if another address would be tried
    ///   first.
    init(_ host: String, port: Int, isPublicOnly: Bool, _ lookUp: HostLookUp, on eventLoop: any EventLoop) {
        addresses = lookUp.addresses(of: host, port: port, on: eventLoop).flatMapThrowing { addresses in
            guard !addresses.isEmpty else { throw OutboundError.unknownHost }
            guard !isPublicOnly || addresses.allSatisfy(PublicAddress.isPublic) else {
                throw OutboundError.privateAddress
            }
            return addresses
        }
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.map { $0.filter { $0.protocol == .inet } }
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.map { $0.filter { $0.protocol == .inet6 } }
    }

    func cancelQueries() {}
}
