extension APNSClient {
    /// An HTTP proxy through which the connections to APNs go (CONNECT, RFC 9110 section 9.3.6).
    ///
    /// TLS runs inside the tunnel, and the certificate is verified against APNs's name: the proxy sees where the
    /// connection goes and how much is sent, nothing else. What it sees of its own user's password is in plain text.
    ///
    /// Printing one, in any way, shows host and port, never the credentials.
    public struct Proxy: Sendable, Hashable {
        /// A DNS name or an address, without brackets.
        public let host: String
        /// Between 1 and 65535.
        public let port: Int
        /// The value of `proxy-authorization`.
        let authorization: String?

        /// - Parameters:
        ///   - user: For basic authentication (RFC 7617); without one, none is offered.
        ///   - password: Empty unless given.
        /// - Throws: `APNSClientError` (`invalidProxy`) for a host or port that cannot be one, or a colon in the user.
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

        /// The proxy that a text such as `http://proxy.example.com:3128` names; the port may not be left out.
        ///
        /// - Throws: `APNSClientError` (`invalidProxy`), also for another scheme, and for a user in the text: give
        ///   credentials to the other initializer, so that they do not end in logs of configurations.
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

    /// Why a proxy did not open the way to APNs.
    public enum ProxyError: Error, Sendable, Hashable, CustomStringConvertible {
        /// No connection to the proxy itself; the text says why.
        case unreachable(String)
        /// It wants credentials, or others: 407.
        case authenticationRequired
        /// It answered CONNECT with another status than 2xx: 403 where it forbids the destination, 502 and 504 where it
        /// cannot reach it.
        case refused(status: Int)
        /// Its answer is not HTTP, or has more than 8,192 bytes.
        case badAnswer
        /// It closed the connection without an answer.
        case closed
        /// It did not answer in `Options.connectTimeout`.
        case timedOut

        /// What happened, for people.
        public var description: String {
            switch self {
            case .unreachable(let detail): "no connection to the proxy: \(detail)"
            case .authenticationRequired: "the proxy wants other credentials (407)"
            case .refused(let status): "the proxy refused to connect to APNs (\(status))"
            case .badAnswer: "the proxy's answer to CONNECT is not HTTP"
            case .closed: "the proxy closed the connection without an answer"
            case .timedOut: "the proxy did not answer in time"
            }
        }
    }
}

extension APNSClient.Proxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where it is.
    public var description: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    /// Where it is.
    public var debugDescription: String { description }
    /// `dump` and test failure messages print mirrors: they must not print the password.
    public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }
}
