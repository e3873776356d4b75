internal import Crypto
internal import NIOCore

/// Who may call the control API.
///
/// A web page may have its own name lead to this machine (DNS rebinding): then its calls have its origin's own name as
/// `Host`, and no `Origin`. So the name must be one that nobody else can have.
struct ControlAccess: Sendable {
    private let hosts: Set<String>
    /// It listens beyond the loopback: any address may be one of this machine's, and a token keeps others out.
    private let takesAddresses: Bool
    private let token: String?

    /// - Throws: `SimulatorError` with the code `badValue` where a token is needed and none is there.
    init(_ configuration: APNSSimulator.Configuration) throws(SimulatorError) {
        let host = configuration.host.lowercased()
        let isLoopback = Self.isLoopback(host)
        let token = configuration.controlToken.flatMap { $0.isEmpty ? nil : $0 }
        guard isLoopback || token != nil || configuration.controlPort == nil else {
            throw SimulatorError(
                .badValue, "the control API of \(configuration.host) needs `controlToken`: other machines reach it")
        }
        hosts = Set(["localhost", "127.0.0.1", "::1", host] + configuration.certificateHosts.map { $0.lowercased() })
        takesAddresses = !isLoopback
        self.token = token
    }

    private static func isLoopback(_ host: String) -> Bool {
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return host == "localhost" }
        return address.ipAddress == "::1" || address.ipAddress?.hasPrefix("127.") == true
    }

    /// - Parameter authority: `Host`, with its port.
    func isOwn(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let host = Self.host(of: authority).lowercased()
        return hosts.contains(host) || takesAddresses && (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    private static func host(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Compared by their hashes, in the same time for every guess.
    func isGranted(_ header: String?) -> Bool {
        guard let token else { return true }
        let given = SHA256.hash(data: Array((header ?? "").utf8))
        return given == SHA256.hash(data: Array("Bearer \(token)".utf8))
    }
}
