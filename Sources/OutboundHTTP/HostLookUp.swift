import Foundation
package import NIOCore
import NIOPosix
import Synchronization

/// Looks host names up on threads of its own: the system's resolver blocks, for many seconds where DNS is slow.
package final class HostLookUp: Sendable {
    /// The addresses of a host, of any port, none for a host that nobody knows. It may block.
    package typealias Find = @Sendable (_ host: String) -> [SocketAddress]

    /// By the system's resolver, for all clients of the process: a name that hangs takes one thread, whoever calls it.
    package static let shared = HostLookUp()

    /// Look-ups at the same time. With one name less than that hanging every other one is found.
    static let threads = 16
    /// Hosts that are looked up or wait for it, at most. Calls of one host share its look-up, whatever their ports.
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
        // swift-nio ends the process for a port beyond its range.
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

    /// What the system's resolver says.
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
