import HTTPTypes

/// Where a browser says that a request comes from, and what its cookie may therefore do.
///
/// A browser sends a cookie along with what any page makes it ask for. It says by `Sec-Fetch-Site` (Fetch Metadata) and
/// `Origin` (RFC 6454) whose page that was, and no page can change either.
package struct ConsoleOrigin: Sendable, Equatable {
    /// `host:port` that was asked, as the browser sees it.
    package var authority: String
    package var origin: String?
    package var site: String?

    package init(authority: String, origin: String? = nil, site: String? = nil) {
        self.authority = authority.lowercased()
        self.origin = origin?.lowercased()
        self.site = site
    }

    init(_ request: HTTPRequest) {
        self.init(
            authority: request.authority ?? "", origin: request.headerFields[.origin],
            site: HTTPField.Name("Sec-Fetch-Site").flatMap { request.headerFields[$0] })
    }

    /// Whether a request of our own pages may look like this; of a `write` more has to be said.
    package func isOwn(write: Bool) -> Bool {
        if let site { return site == "same-origin" || (!write && site == "none") }
        guard let origin else { return !write }
        return origin == "http://\(authority)" || origin == "https://\(authority)"
    }

    /// The page came over TLS, to us or to a proxy in front of us: its cookie is to go over nothing else.
    package var isSecure: Bool { origin?.hasPrefix("https://") ?? false }

    /// A key that is sent from there goes over no network in the clear.
    package var mayCarryKey: Bool { isSecure || isLoopback }

    /// The page is this machine's own.
    package var isLoopback: Bool {
        var host = authority[...]
        if host.hasPrefix("[") {
            host = host.dropFirst().prefix { $0 != "]" }
            return host == "::1"
        }
        host = host.prefix { $0 != ":" }
        return host == "localhost" || host.hasSuffix(".localhost") || Self.isLoopback(ipv4: host)
    }

    private static func isLoopback(ipv4 host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts.first == 127 && !parts.contains(nil)
    }

    /// The cookie's name. One of a loopback address has the port in it, since cookies know no ports; one of TLS has the
    /// prefix that has the browser see to it that no other host set it (RFC 6265bis section 4.1.3).
    package var cookieName: String {
        guard !isSecure else { return Self.secureCookie }
        let digits = authority.reversed().prefix { $0.isASCII && $0.isNumber }
        return Self.cookie + "-" + (digits.count < authority.count ? String(digits.reversed()) : "")
    }

    static let secureCookie = "__Host-islet-console"
    private static let cookie = "islet-console"
}

extension HTTPFields {
    /// The value of a cookie; the first of several.
    func cookie(_ name: String) -> String? {
        for field in self[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, parts[0].filter({ $0 != " " }) == name else { continue }
                return String(parts[1].filter { $0 != " " && $0 != "\"" })
            }
        }
        return nil
    }
}
