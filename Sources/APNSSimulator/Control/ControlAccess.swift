internal import Crypto
internal import NIOCore

/// The check of callers of the control API.
///
/// A web page may make its own name resolve to this machine (DNS rebinding). Its calls then carry that name as `Host`,
/// and no `Origin`. So `Host` must be a name that nobody else can own.
struct ControlAccess: Sendable {
    private let hosts: Set<String>
    /// `true` if the API listens beyond the loopback interface. Any address may then be one of this machine's, and a
    /// token keeps others out.
    private let takesAddresses: Bool
    private let token: String?

    /// - Throws: `SimulatorError` with the code `badValue` if a token is needed and missing.
    init(_ configuration: APNSSimulator.Configuration) throws(SimulatorError) {
        let host = configuration.host.lowercased()
        let isLoopback = Self.isLoopback(host)
        let token = configuration.controlToken.flatMap { $0.isEmpty ? nil : $0 }
        guard isLoopback || token != nil || configuration.controlPort == nil else {
            throw SimulatorError(
                .badValue, "the control API of \(configuration.host) needs `controlToken`: other machines can reach it")
        }
        hosts = Set(["localhost", "127.0.0.1", "::1", host] + configuration.certificateHosts.map { $0.lowercased() })
        takesAddresses = !isLoopback
        self.token = token
    }

    private static func isLoopback(_ host: String) -> Bool {
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return host == "localhost" }
        return address.ipAddress == "::1" || address.ipAddress?.hasPrefix("127.") == true
    }

    /// - Parameter authority: Value of `Host`, with its port.
    func isOwn(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let host = Self.host(of: authority).lowercased()
        return hosts.contains(host) || takesAddresses && (try? SocketAddress(ipAddress: host, port: 0)) != nil
    }

    private static func host(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// Returns `true` if the header carries the token. Comparing hashes takes the same time for every guess.
    func isGranted(_ header: String?) -> Bool {
        guard let token else { return true }
        let given = SHA256.hash(data: Array((header ?? "").utf8))
        return given == SHA256.hash(data: Array("Bearer \(token)".utf8))
    }
}
