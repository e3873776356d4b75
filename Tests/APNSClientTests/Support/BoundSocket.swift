#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP socket on loopback that has a port and does not listen.
///
/// Child processes do not inherit it: a process that another test starts meanwhile would keep the socket and its port.
struct BoundSocket {
    struct Failed: Error {}

    private let descriptor: Int32
    let port: Int

    /// Binds the socket. With port 0 the system chooses.
    init(port: Int = 0) throws(Failed) {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #endif
        guard descriptor >= 0 else { throw Failed() }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw Failed()
        }
        self.descriptor = descriptor
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Releases the port.
    func release() {
        close(descriptor)
    }

    /// Runs the body with a port on which nobody listens, and holds the port meanwhile. A port that was only released
    /// may become another test's server.
    static func whileNobodyListens(_ body: (Int) async throws -> Void) async throws {
        let socket = try BoundSocket()
        defer { socket.release() }
        try await body(socket.port)
    }
}
