public import APNSModel

extension APNSClient {
    /// The destination of a connection: a host and a port.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        /// Apple's standard port, 443.
        public static let standardPort = 443
        /// Apple's alternative port, 2197, for networks whose firewalls inspect 443. It offers the same service.
        public static let alternativePort = 2197

        /// A DNS name or an IP address, without brackets.
        public let host: String
        /// The port, from 1 to 65535.
        public let port: Int

        /// Creates an endpoint.
        ///
        /// - Parameters:
        ///   - host: A DNS name, an IPv4 address, or an IPv6 address without brackets.
        ///   - port: The port, from 1 to 65535.
        /// - Throws: `APNSClientError` (`invalidEndpoint`) if the host is empty or has a character that no host has, or
        ///   if the port is outside 1...65535.
        public init(host: String, port: Int = standardPort) throws(APNSClientError) {
            guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/@?#[]".utf8.contains($0) })
            else {
                throw APNSClientError(.invalidEndpoint, "an endpoint's host must be a DNS name or an IP address")
            }
            guard (1...65_535).contains(port) else {
                throw APNSClientError(.invalidEndpoint, "an endpoint's port must be between 1 and 65535, not \(port)")
            }
            self.host = host
            self.port = port
        }

        /// Creates an endpoint from a string such as `https://127.0.0.1:2197`. The default port is 443.
        ///
        /// - Throws: `APNSClientError` (`invalidEndpoint`) if the string is not valid, has another scheme, or has a
        ///   path or a query.
        public init(_ text: String) throws(APNSClientError) {
            guard text.hasPrefix("https://") else {
                throw APNSClientError(
                    .invalidEndpoint, "an endpoint must be https://host:port, because APNs accepts only TLS")
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
                    .invalidEndpoint, "an endpoint must be https://host:port, with a number as port and no path")
            }
            try self.init(host: String(host), port: port)
        }

        private init(apple host: String, port: Int = standardPort) {
            self.host = host
            self.port = port
        }

        /// Returns Apple's endpoint for an environment. Source: Apple, "Sending notification requests to APNs".
        ///
        /// - Parameter usesAlternativePort: `true` to connect to port 2197 instead of 443.
        public static func apple(_ environment: APNSEnvironment, usesAlternativePort: Bool = false) -> Self {
            let port = usesAlternativePort ? alternativePort : standardPort
            return switch environment {
            case .production: Self(apple: "api.push.apple.com", port: port)
            case .sandbox: Self(apple: "api.sandbox.push.apple.com", port: port)
            }
        }

        /// Returns the endpoint that some of Apple's pages name for broadcasts.
        static func appleBroadcast(_ environment: APNSEnvironment) -> Self {
            switch environment {
            case .production: Self(apple: "api-broadcast.push.apple.com")
            case .sandbox: Self(apple: "api-broadcast.sandbox.push.apple.com")
            }
        }

        /// Returns the endpoint for channel management. Source: Apple, "Sending channel management requests to APNs".
        static func appleManagement(_ environment: APNSEnvironment) -> Self {
            switch environment {
            case .production: Self(apple: "api-manage-broadcast.push.apple.com", port: 2196)
            case .sandbox: Self(apple: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
            }
        }

        /// The endpoint as a string that `init(_:)` accepts.
        public var description: String { "https://\(bracketedHost):\(port)" }

        /// The value of the pseudo-header `:authority`.
        var authority: String { port == Self.standardPort ? bracketedHost : "\(bracketedHost):\(port)" }

        /// The target of CONNECT. It always includes the port.
        var hostAndPort: String { "\(bracketedHost):\(port)" }

        private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }
    }

    /// The certificate authorities that a connection trusts.
    public enum TrustRoots: Sendable, Hashable {
        /// The root certificates of the operating system. Apple's endpoints need these.
        case system
        /// Only these certificates, as PEM text.
        case pem([UInt8])
        /// Only the certificates of this PEM file. The file is read when the client is created.
        case file(String)
    }
}
