import HTTPTypes

/// The origin of a request according to the browser, which decides what the request's cookie permits.
///
/// A browser sends a cookie with every request, whichever page causes it. `Sec-Fetch-Site` (Fetch Metadata) and
/// `Origin` (RFC 6454) name that page, and no page can change them.
package struct ConsoleOrigin: Sendable, Equatable {
    /// The requested `host:port`, as the browser sees it.
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

    /// Returns `true` if a request of the console's own pages may look like this. A write must meet stricter
    /// conditions.
    package func isOwn(write: Bool) -> Bool {
        if let site { return site == "same-origin" || (!write && site == "none") }
        guard let origin else { return !write }
        return origin == "http://\(authority)" || origin == "https://\(authority)"
    }

    /// `true` if the page came over TLS, from the server or from a proxy. Its cookie must then never be sent without
    /// TLS.
    package var isSecure: Bool { origin?.hasPrefix("https://") ?? false }

    /// `true` if a key that is sent from this page crosses no network unencrypted.
    package var mayCarryKey: Bool { isSecure || isLoopback }

    /// `true` if the page comes from this machine.
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

    /// The name of the cookie.
    ///
    /// Without TLS it contains the port, because cookies do not distinguish ports. With TLS it has a prefix that makes
    /// the browser ensure that no other host set it (RFC 6265bis section 4.1.3).
    package var cookieName: String {
        guard !isSecure else { return Self.secureCookie }
        let digits = authority.reversed().prefix { $0.isASCII && $0.isNumber }
        return Self.cookie + "-" + (digits.count < authority.count ? String(digits.reversed()) : "")
    }

    static let secureCookie = "__Host-islet-console"
    private static let cookie = "islet-console"
}

extension HTTPFields {
    /// Returns the value of a cookie, or of the first one if there are several.
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
