public import APNSModel

extension APNSClient {
    /// Where a connection goes: a host name or address, and a port.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        /// Apple's port, with 2197 as its alternative.
        public static let standardPort = 443
        /// Apple's other port, for networks whose firewalls watch 443: the same service.
        public static let alternativePort = 2197

        /// A DNS name or an address, without brackets.
        public let host: String
        /// Between 1 and 65535.
        public let port: Int

        /// - Parameter host: A DNS name, an IPv4 address, or an IPv6 address without brackets.
        /// - Throws: `APNSClientError` (`invalidEndpoint`) for an empty host, a blank in it, or a port outside
        ///   1...65535.
        public init(host: String, port: Int = standardPort) throws(APNSClientError) {
            guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/@?#[]".utf8.contains($0) })
            else {
                throw APNSClientError(.invalidEndpoint, "an endpoint's host is a DNS name or an IP address")
            }
            guard (1...65_535).contains(port) else {
                throw APNSClientError(.invalidEndpoint, "an endpoint's port is between 1 and 65535, not \(port)")
            }
            self.host = host
            self.port = port
        }

        /// The endpoint that a text such as `https://127.0.0.1:2197` names; without a port it is 443.
        ///
        /// - Throws: `APNSClientError` (`invalidEndpoint`), also for another scheme, a path or a query: APNs has none.
        public init(_ text: String) throws(APNSClientError) {
            guard text.hasPrefix("https://") else {
                throw APNSClientError(
                    .invalidEndpoint, "an endpoint is written https://host:port, for APNs speaks TLS only")
            }
            var rest = text.dropFirst("https://".count)
            if rest.hasSuffix("/") { rest = rest.dropLast() }
            let host: Substring
            if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
                host = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[rest.index(after: end)...]
            } else {
                host = rest.prefix { $0 != ":" }
                rest = rest.dropFirst(host.count)
            }
            var port: Int? = Self.standardPort
            if !rest.isEmpty { port = rest.hasPrefix(":") ? Int(rest.dropFirst()) : nil }
            guard let port else {
                throw APNSClientError(
                    .invalidEndpoint, "an endpoint is written https://host:port and nothing behind it")
            }
            try self.init(host: String(host), port: port)
        }

        private init(apple host: String, port: Int = standardPort) {
            self.host = host
            self.port = port
        }

        /// Apple's endpoint for an environment (Apple, "Sending notification requests to APNs").
        ///
        /// - Parameter usesAlternativePort: Whether to connect to port 2197 instead of 443.
        public static func apple(_ environment: APNSEnvironment, usesAlternativePort: Bool = false) -> Self {
            let port = usesAlternativePort ? alternativePort : standardPort
            return switch environment {
            case .production: Self(apple: "api.push.apple.com", port: port)
            case .sandbox: Self(apple: "api.sandbox.push.apple.com", port: port)
            }
        }

        /// Where some of Apple's pages send broadcasts to.
        static func appleBroadcast(_ environment: APNSEnvironment) -> Self {
            switch environment {
            case .production: Self(apple: "api-broadcast.push.apple.com")
            case .sandbox: Self(apple: "api-broadcast.sandbox.push.apple.com")
            }
        }

        /// Where channels are managed (Apple, "Sending channel management requests to APNs").
        static func appleManagement(_ environment: APNSEnvironment) -> Self {
            switch environment {
            case .production: Self(apple: "api-manage-broadcast.push.apple.com", port: 2196)
            case .sandbox: Self(apple: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
            }
        }

        /// As `init(_:)` reads it.
        public var description: String { "https://\(bracketedHost):\(port)" }

        /// The pseudo-header `:authority`.
        var authority: String { port == Self.standardPort ? bracketedHost : "\(bracketedHost):\(port)" }

        /// What CONNECT names: always with the port.
        var hostAndPort: String { "\(bracketedHost):\(port)" }

        private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }
    }

    /// Whom a connection trusts.
    public enum TrustRoots: Sendable, Hashable {
        /// The roots of the operating system: what Apple's endpoints need.
        case system
        /// Only these certificates, as PEM text.
        case pem([UInt8])
        /// Only the certificates of this PEM file, read when the client is made.
        case file(String)
    }
}
