import Foundation
import JSONText
import OutboundHTTP

/// The URL at which a command calls a running server.
struct ServerAddress: Equatable {
    let url: String
    /// `true` if no other machine is called.
    let isOnThisMachine: Bool

    /// Creates the address from a URL. Returns `nil` unless it is `http` or `https` with a host.
    init?(_ url: String) {
        guard let parts = OutboundURL(url) else { return nil }
        self.url = url
        isOnThisMachine = Settings.isLoopback(parts.host)
    }

    /// Creates the address at which this machine reaches its own server.
    ///
    /// - Parameter host: Host of `listen`. Every address of the machine (`0.0.0.0`, `::`) becomes the loopback address.
    init(listening host: String, port: Int, isEncrypted: Bool) {
        var host = host
        if let bytes = PublicAddress.bytes(of: host), bytes.allSatisfy({ $0 == 0 }) {
            host = bytes.count == 4 ? "127.0.0.1" : "::1"
        }
        url = "\(isEncrypted ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        isOnThisMachine = true
    }
}

extension ConfigurationLoader {
    private static let addressVariables: Set<String> = ["ISLET_LISTEN", "ISLET_TLS_CERTIFICATE", "ISLET_TLS_KEY"]

    /// Returns the address of a configuration's server, from `listen` and `tls` alone.
    ///
    /// The rest of the file may be wrong: a server that was started before somebody broke it still runs. A standard
    /// file that is missing leaves the defaults, as for `islet serve --dev`.
    static func address(
        _ path: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationError) -> ServerAddress {
        var value: JSONValue = [:]
        if path != ConfigurationOption.standard || FileManager.default.fileExists(atPath: path) {
            value = try YAMLText.value(of: read(path), file: path)
        }
        let variables = try overlay(environment.filter { addressVariables.contains($0.key) }, on: &value)
        let builder = SettingsBuilder(file: variables["/listen"] ?? path, folder: "", environment: [:])
        var listen = ConfigurationKey.Default.listen
        if let given = value.object?["listen"], given != .null {
            guard let text = given.string else { throw builder.problem("/listen", "`\(given.text)` is not host:port") }
            listen = text
        }
        let (host, port) = try builder.address(listen, "/listen")
        guard port != 0 else {
            throw builder.problem(
                "/listen", "with port 0 only the server knows its port: give --server with the address that it printed")
        }
        let tls = value.object?["tls"] ?? .null
        return ServerAddress(listening: host, port: port, isEncrypted: tls != .null)
    }
}
