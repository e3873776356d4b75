import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The service manager that has started this process, such as systemd, which waits until a server is ready
/// (`sd_notify(3)`).
enum ServiceManager {
    /// Says that the server answers calls. Does nothing if no manager asked for it.
    static func ready(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        guard let path = variables["NOTIFY_SOCKET"], let address = address(path) else { return }
        #if canImport(Darwin)
            let socket = socket(AF_UNIX, SOCK_DGRAM, 0)
        #else
            let socket = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard socket >= 0 else { return }
        defer { close(socket) }
        let words = Array("READY=1".utf8)
        // A manager that does not read is no reason to end: it ends the process itself if it waits in vain.
        _ = withUnsafePointer(to: address.value) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket, words, words.count, CInt(MSG_DONTWAIT), $0, address.length)
            }
        }
    }

    /// Returns the address of a socket; `nil` for a path that is too long. A path that begins with `@` names a socket
    /// outside of the file system.
    static func address(_ path: String) -> (value: sockaddr_un, length: socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < room, isAbstract || bytes[0] == UInt8(ascii: "/") else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let start = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2
        return (address, socklen_t(start + bytes.count + (isAbstract ? 0 : 1)))
    }
}
