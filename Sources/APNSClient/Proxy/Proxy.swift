extension APNSClient {
    /// An HTTP proxy for the connections to APNs (CONNECT, RFC 9110 section 9.3.6).
    ///
    /// TLS runs inside the tunnel, and the certificate is verified against APNs's name. The proxy sees only the
    /// destination and the amount of data. The credentials for the proxy itself travel as plain text.
    ///
    /// The proxy's descriptions, its mirror included, show host and port but never the credentials.
    public struct Proxy: Sendable, Hashable {
        /// A DNS name or an IP address, without brackets.
        public let host: String
        /// The port, from 1 to 65535.
        public let port: Int
        /// The value of `proxy-authorization`.
        let authorization: String?

        /// Creates a proxy.
        ///
        /// - Parameters:
        ///   - host: A DNS name or an IP address, without brackets.
        ///   - port: The port, from 1 to 65535.
        ///   - user: The user for basic authentication (RFC 7617). Without one, the client sends no credentials.
        ///   - password: The password of the user. The default is an empty string.
        /// - Throws: `APNSClientError` (`invalidProxy`) if the host or port is not valid, or if the user contains a
        ///   colon.
        public init(host: String, port: Int, user: String? = nil, password: String = "") throws(APNSClientError) {
            do {
                let endpoint = try Endpoint(host: host, port: port)
                (self.host, self.port) = (endpoint.host, endpoint.port)
            } catch {
                throw APNSClientError(.invalidProxy, "a proxy is a DNS name or an IP address, and a port")
            }
            guard user?.contains(":") != true else {
                throw APNSClientError(.invalidProxy, "the user of a proxy has no colon in it (RFC 7617)")
            }
            authorization = user.map { "Basic \(Self.base64("\($0):\(password)".utf8))" }
        }

        /// Creates a proxy from a string such as `http://proxy.example.com:3128`. The port is required.
        ///
        /// - Throws: `APNSClientError` (`invalidProxy`) if the string is not valid, has another scheme, or contains a
        ///   user. Pass credentials to the other initializer, so that they do not appear in logged configurations.
        public init(_ text: String) throws(APNSClientError) {
            guard text.hasPrefix("http://"), !text.contains("@") else {
                throw APNSClientError(.invalidProxy, "a proxy is written http://host:port, without credentials")
            }
            let endpoint: Endpoint
            do {
                endpoint = try Endpoint("https://" + text.dropFirst("http://".count))
            } catch {
                throw APNSClientError(.invalidProxy, "a proxy is written http://host:port and nothing behind it")
            }
            guard text.hasSuffix(":\(endpoint.port)") || text.hasSuffix(":\(endpoint.port)/") else {
                throw APNSClientError(.invalidProxy, "a proxy is written with its port: http://host:port")
            }
            try self.init(host: endpoint.host, port: endpoint.port)
        }

        private static func base64(_ bytes: String.UTF8View) -> String {
            var text = String(
                ProviderToken.base64URL(bytes).map { character -> Character in
                    switch character {
                    case "-": "+"
                    case "_": "/"
                    default: character
                    }
                })
            while !text.utf8.count.isMultiple(of: 4) { text += "=" }
            return text
        }
    }

    /// The reason why a proxy did not open a tunnel to APNs.
    public enum ProxyError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The client cannot connect to the proxy. The text says why.
        case unreachable(String)
        /// The proxy requires credentials, or other credentials (407).
        case authenticationRequired
        /// The proxy answered CONNECT with a status other than 2xx and 407. Typical values are 403 for a forbidden
        /// destination, and 502 and 504 for one that it cannot reach.
        case refused(status: Int)
        /// The proxy's answer is not HTTP, or has more than 8,192 bytes.
        case badAnswer
        /// The proxy closed the connection without an answer.
        case closed
        /// The proxy did not answer within `Options.connectTimeout`.
        case timedOut

        /// A description for people.
        public var description: String {
            switch self {
            case .unreachable(let detail): "no connection to the proxy: \(detail)"
            case .authenticationRequired: "the proxy requires credentials, or rejected those it received (407)"
            case .refused(let status): "the proxy refused to connect to APNs (\(status))"
            case .badAnswer: "the proxy's answer to CONNECT is not HTTP"
            case .closed: "the proxy closed the connection without an answer"
            case .timedOut: "the proxy did not answer in time"
            }
        }
    }
}

extension APNSClient.Proxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The proxy as a URL, without credentials.
    public var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    /// The proxy as a URL, without credentials.
    public var debugDescription: String { description }
    /// A mirror without the credentials, because `dump` and test failures print mirrors.
    public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }
}
