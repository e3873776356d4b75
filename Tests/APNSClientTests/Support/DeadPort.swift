import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A port of loopback on which nobody listens, and which nobody else gets while the body runs: one that was only given
/// back may be another test's server by then.
enum DeadPort {
    struct Failed: Error {}

    static func run(_ body: (Int) async throws -> Void) async throws {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw Failed() }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw Failed() }
        try await body(Int(UInt16(bigEndian: address.sin_port)))
    }
}
