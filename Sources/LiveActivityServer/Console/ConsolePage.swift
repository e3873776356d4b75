import Crypto
import HTTPTypes
import LiveActivityStorage

/// A path of the console beside the API: files, the session, the live stream and, in development, the simulator.
enum ConsolePage: Sendable, Equatable {
    case asset(ConsoleAsset)
    case session
    case live
    /// A path of the simulator's control API, without the leading `/`.
    case simulator(String)
    case nothing

    /// Returns `nil` for a path outside the console.
    init?(path: String) {
        if path == "/" {
            self = .asset(.page)
            return
        }
        guard path.hasPrefix("/console/") else { return nil }
        let name = String(path.dropFirst("/console/".count))
        switch name {
        case "session": self = .session
        case "live": self = .live
        default:
            if name.hasPrefix("simulator/") {
                self = .simulator(String(name.dropFirst("simulator/".count)))
            } else if let asset = ConsoleAsset.named[name] {
                self = .asset(asset)
            } else {
                self = .nothing
            }
        }
    }
}

/// A file of the console, embedded in the binary.
struct ConsoleAsset: Sendable, Equatable {
    let name: String
    let contentType: String
    let bytes: [UInt8]
    /// An entity tag that changes with the content.
    let tag: String

    private init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
        contentType =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            default: "image/svg+xml"
            }
        let hash = SHA256.hash(data: bytes).prefix(8)
        tag = "\"" + hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\""
    }

    static let page = ConsoleAsset("index.html", PackageResources.index_html)

    /// All files except the page itself, by name.
    static let named = Dictionary(
        [
            ConsoleAsset("style.css", PackageResources.style_css), ConsoleAsset("icon.svg", PackageResources.icon_svg),
            ConsoleAsset("app.js", PackageResources.app_js), ConsoleAsset("server.js", PackageResources.server_js),
            ConsoleAsset("dom.js", PackageResources.dom_js), ConsoleAsset("plot.js", PackageResources.plot_js),
            ConsoleAsset("phone.js", PackageResources.phone_js), ConsoleAsset("form.js", PackageResources.form_js),
            ConsoleAsset("now.js", PackageResources.now_js),
            ConsoleAsset("activities.js", PackageResources.activities_js),
            ConsoleAsset("phones.js", PackageResources.phones_js),
            ConsoleAsset("compose.js", PackageResources.compose_js),
            ConsoleAsset("diagnose.js", PackageResources.diagnose_js),
            ConsoleAsset("webhooks.js", PackageResources.webhooks_js),
            ConsoleAsset("whatif.js", PackageResources.whatif_js),
            ConsoleAsset("channels.js", PackageResources.channels_js),
            ConsoleAsset("nodes.js", PackageResources.nodes_js),
            ConsoleAsset("settings.js", PackageResources.settings_js),
        ].map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
}

/// The headers of all answers of the console.
enum ConsoleHeaders {
    /// The content security policy. It permits only the console's own files.
    ///
    /// It forbids inline scripts and styles, text that becomes markup, and framing.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    private static let fixed = [
        ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("X-Frame-Options", "DENY"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ]

    static func add(to headers: inout HTTPFields) {
        for (name, value) in fixed {
            if let field = HTTPField.Name(name) { headers[field] = value }
        }
    }
}
