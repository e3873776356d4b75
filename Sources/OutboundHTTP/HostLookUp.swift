import Foundation
package import NIOCore
import NIOPosix
import Synchronization

/// Looks host names up on threads of its own: the system's resolver blocks, for many seconds where DNS is slow.
package final class HostLookUp: Sendable {
    /// The addresses of a host and port, none for a host that nobody knows. It may block.
    package typealias Find = @Sendable (_ host: String, _ port: Int) -> [SocketAddress]

    /// Look-ups at the same time.
    static let threads = 4
    /// Hosts that are looked up or wait for it, at most. Calls of one host share its look-up.
    static let maximumHosts = 256

    private struct Place: Hashable {
        var host: String
        var port: Int
    }

    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        return pool
    }()

    private let find: Find
    private let asked = Mutex<[Place: [EventLoopPromise<[SocketAddress]>]]>([:])

    package init(_ find: @escaping Find = HostLookUp.system) {
        self.find = find
    }

    func addresses(of host: String, port: Int, on eventLoop: any EventLoop) -> EventLoopFuture<[SocketAddress]> {
        if let address = try? SocketAddress(ipAddress: host, port: port) {
            return eventLoop.makeSucceededFuture([address])
        }
        let promise = eventLoop.makePromise(of: [SocketAddress].self)
        let place = Place(host: host, port: port)
        let isFirst: Bool? = asked.withLock { asked in
            if asked[place] != nil {
                asked[place]?.append(promise)
                return false
            }
            guard asked.count < Self.maximumHosts else { return nil }
            asked[place] = [promise]
            return true
        }
        switch isFirst {
        case nil: promise.fail(OutboundError.busy)
        case false?: break
        case true?:
            Self.pool.submit { [self] _ in
                let addresses = find(place.host, place.port)
                let promises = asked.withLock { $0.removeValue(forKey: place) } ?? []
                for promise in promises { promise.succeed(addresses) }
            }
        }
        return promise.futureResult
    }

    /// What the system's resolver says.
    @Sendable package static func system(_ host: String, _ port: Int) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let list else { return [] }
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

/// Gives a connection the addresses of its host that were checked: it can go nowhere else, whatever DNS says next.
struct CheckedResolver: Resolver, Sendable {
    private let addresses: EventLoopFuture<[SocketAddress]>

    /// - Parameter isPublicOnly: Every address of the host is looked at. A host that has a private one is refused,
    ///   whichever would be tried first.
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
