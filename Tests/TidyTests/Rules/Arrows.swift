/// Modules that a target may import: the arrows of `docs/architecture.md`, and no others.
enum Arrows {
    private static let nio: Set<String> = ["NIOCore", "NIOPosix", "NIOTLS", "NIOSSL", "NIOHPACK"]

    /// Permitted modules by target. Standard modules are listed too: pure targets have none, a shell has those that it
    /// needs.
    static let table: [String: Set<String>] = [
        "WebhooksTrait": [],
        "APNsTrait": [],
        "ServerTrait": [],
        "IsletBasics": [],
        "JSONText": ["IsletBasics"],
        "XcodeProjects": [],
        "APNSModel": ["IsletBasics", "JSONText"],
        "LiveActivityCore": ["APNSModel", "IsletBasics", "JSONText"],
        "LiveActivityAPI": ["IsletBasics", "JSONText"],
        "LiveActivityWebhooks": ["LiveActivityAPI", "JSONText", "Crypto"],
        "LiveActivityAttributes": ["ActivityKit", "ActivityKitStandIn"],
        "LiveActivityRegistration": ["LiveActivityAPI", "JSONText"],
        "LiveActivityClient": [
            "LiveActivityAttributes", "LiveActivityRegistration", "LiveActivityAPI", "JSONText",
            "ActivityKit", "ActivityKitStandIn", "Dispatch", "Foundation", "FoundationNetworking", "Network",
            "Security", "UIKit", "os",
            "UserNotifications",
        ],
        "LiveActivityStorage": ["LiveActivityCore", "APNSModel"],
        "StorageSQL": [
            "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText", "Crypto", "Foundation", "Dispatch",
            "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        "StorageSQLite": [
            "StorageSQL", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText", "GRDB", "GRDBSQLite",
            "Foundation", "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        "StoragePostgreSQL": [
            "CLibPQ", "StorageSQL", "LiveActivityStorage", "APNSModel", "Dispatch", "Foundation", "Synchronization",
        ],
        "PostgresCluster": ["Foundation"],
        "PeerIdentity": ["NIOCore", "NIOTLS", "NIOSSL"],
        "OutboundHTTP": [
            "PeerIdentity", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOTLS", "NIOSSL", "Foundation", "Synchronization",
        ],
        "APNSClient": nio.union([
            "APNSModel", "IsletBasics", "JSONText", "PeerIdentity", "Crypto", "Logging", "NIOHTTP2",
            "Synchronization", "Glibc", "Musl", "Darwin",
        ]),
        "LiveActivityTracing": ["JSONText", "Synchronization", "Tracing"],
        "LiveActivityDelivery": [
            "LiveActivityCore", "LiveActivityStorage", "LiveActivityTracing", "Tracing", "APNSModel",
            "ServiceLifecycle", "Logging", "CoreMetrics",
            "Synchronization",
        ],
        "LiveActivityServer": [
            "LiveActivityCore", "LiveActivityAPI", "LiveActivityStorage", "LiveActivityTracing", "Tracing", "APNSModel",
            "IsletBasics", "JSONText", "Hummingbird",
            "HummingbirdCore", "HummingbirdHTTP2", "HTTPTypes", "JWTKit", "NIOCore", "NIOExtras", "NIOHTTP2",
            "NIOHTTPTypes", "NIOPosix", "NIOSSL", "NIOTLS", "ServiceLifecycle", "Logging", "CoreMetrics", "Crypto",
            "AsyncHTTPClient", "NIOHTTP1", "Foundation", "Synchronization",
        ],
        "APNSSimulator": nio.union([
            "APNSModel", "IsletBasics", "JSONText", "LiveActivityAPI", "LiveActivityRegistration", "NIOHTTP2", "X509",
            "SwiftASN1",
            "Crypto", "HTTPTypes", "Hummingbird", "HummingbirdCore",
            "ServiceLifecycle", "Logging",
            "Foundation", "Synchronization",
        ]),
        "BackendCalls": ["JSONText", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "Foundation"],
        "OrderTracking": ["BackendCalls", "JSONText"],
        "order-shop": ["OrderTracking", "BackendCalls", "JSONText", "ArgumentParser"],
        "EmojiRangers": ["BackendCalls", "JSONText"],
        "guild-hall": ["EmojiRangers", "BackendCalls", "ArgumentParser"],
        "FocusTimer": ["BackendCalls", "JSONText", "Foundation"],
        "focus-timer": ["FocusTimer", "BackendCalls", "ArgumentParser", "Foundation"],
        "Pager": ["BackendCalls", "JSONText", "Foundation"],
        "pager-desk": ["Pager", "BackendCalls", "ArgumentParser", "Foundation"],
        "PizzaApp": [
            "LiveActivityAttributes", "LiveActivityClient", "ActivityKit", "ActivityKitStandIn", "Foundation",
            "SwiftUI",
            "UIKit", "WidgetKit", "os",
        ],
        "LiveActivityProviders": [
            "LiveActivityCore", "LiveActivityAPI", "APNSModel", "JSONText", "OutboundHTTP", "NIOHTTP1", "Crypto",
            "ServiceLifecycle", "Foundation",
        ],
        "EmbeddedIslet": [
            "APNSClient", "APNSModel", "JSONText", "LiveActivityAPI", "LiveActivityCore", "LiveActivityDelivery",
            "LiveActivityProviders", "LiveActivityServer", "LiveActivityStorage", "LiveActivityTracing", "Tracing",
            "StorageSQL", "StorageSQLite", "StoragePostgreSQL", "AsyncHTTPClient", "NIOCore", "NIOPosix", "NIOSSL",
            "ServiceLifecycle", "UnixSignals", "Logging", "Synchronization",
        ],
        "NextUp": [
            "LiveActivityProviders", "JSONText", "Crypto", "HTTPTypes", "Hummingbird", "NIOCore", "Foundation",
            "Synchronization",
        ],
        "next-up": [
            "NextUp", "EmbeddedIslet", "APNSClient", "APNSModel", "ArgumentParser", "Hummingbird", "Logging",
            "ServiceLifecycle", "UnixSignals", "Foundation",
        ],
        "Pushing": [
            "APNSClient", "APNSModel", "APNSSimulator", "JSONText", "Hummingbird", "ServiceLifecycle", "Logging",
        ],
        "push-once": ["APNSClient", "APNSModel", "ArgumentParser", "Foundation"],
        "islet": [
            "EmbeddedIslet", "LiveActivityProviders", "NextUp", "APNSClient", "APNSModel", "APNSSimulator",
            "BackendCalls", "BuildIdentity", "EmojiRangers", "FocusTimer", "JSONText",
            "LiveActivityAPI",
            "LiveActivityCore",
            "LiveActivityDelivery", "LiveActivityServer", "LiveActivityStorage", "LiveActivityTracing", "OrderTracking",
            "OutboundHTTP", "Pager", "PostgresCluster", "StorageSQL", "StorageSQLite", "XcodeProjects",
            "ArgumentParser", "Crypto", "Hummingbird", "Logging", "NIOCore", "NIOHTTP1",
            "ServiceLifecycle", "UnixSignals", "Yams",
            "Foundation", "Dispatch", "Synchronization", "Glibc", "Musl", "Darwin",
        ],
        // Targets of the package of tools.
        "SourceContract": ["JSONText", "SwiftParser", "SwiftSyntax"],
        "islet-contract": ["SourceContract", "JSONText", "ArgumentParser", "Foundation"],
    ]

    /// Targets whose folder is not `Sources/<target>`.
    private static let elsewhere = [
        "Examples/BackendCalls/": "BackendCalls", "Examples/OrderTracking/Shop/": "OrderTracking",
        "Examples/OrderTracking/Command/": "order-shop",
        "Examples/EmojiRangers/Guild/": "EmojiRangers", "Examples/EmojiRangers/Command/": "guild-hall",
        "Examples/FocusTimer/Functions/": "FocusTimer", "Examples/FocusTimer/Command/": "focus-timer",
        "Examples/Pager/Backend/": "Pager", "Examples/Pager/Command/": "pager-desk",
        "Examples/PizzaApp/": "PizzaApp",
        "Examples/NextUp/Focus/": "NextUp", "Examples/NextUp/Command/": "next-up",
        "Examples/Pushing/Articles/": "Pushing", "Examples/Pushing/Command/": "push-once",
    ]

    static func target(of path: String) -> String? {
        if let known = elsewhere.first(where: { path.hasPrefix($0.key) }) { return known.value }
        let parts = path.split(separator: "/")
        if parts.count > 3, parts[0] == "Tools" { return String(parts[2]) }
        return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
    }

    private static let imports = Pattern(
        #"^[ \t]*(?:@\w+(?:\([^)\n]*\))?[ \t]+)*(?:(?:public|package|internal|fileprivate|private)[ \t]+)?"#
            + #"import[ \t]+(?:(?:struct|class|enum|protocol|typealias|func|let|var|actor)[ \t]+)?(\w+)"#)

    /// Returns the imported modules and their places.
    static func imported(by source: Source) -> [Pattern.Match] { imports.matches(in: source.code) }

    static func check(_ source: Source) -> [Finding] {
        guard source.isSwift, source.isUnder("Sources", "Examples", "Tools/Sources") else { return [] }
        guard let target = target(of: source.path), let allowed = table[target] else {
            return [
                Finding(
                    source.path, "belongs to no target of the arrows table",
                    "give its target a line in Tests/TidyTests/Rules/Arrows.swift and in docs/architecture.md")
            ]
        }
        return imported(by: source).filter { !allowed.contains($0.text) }.map {
            Finding(
                source.path, line: $0.line, "\(target) imports \($0.text), to which no arrow leads",
                "move the code to where the arrow is, or draw a new one in Rules/Arrows.swift and docs/architecture.md")
        }
    }
}
