// swift-tools-version: 6.2; a table of targets, longer than other files
import PackageDescription

// Set by our own scripts only. Xcode suppresses the warnings of packages that it fetches, which conflicts with making
// them errors. Also, no package can depend on one that has unsafe flags.
let isDevelopment = Context.environment["ISLET_DEVELOPMENT"] == "1"

// The commit that `islet --version` names. script/build sets it for release builds. One file in C gets it, so another
// commit compiles only that file and the target `islet` again.
let commit = Context.environment["ISLET_COMMIT"] ?? ""

let lenient: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let settings: [SwiftSetting] = lenient + (isDevelopment ? [.treatAllWarnings(as: .error)] : [])

// Targets that thousands of seeded histories run through. With this setting the histories take a tenth of the time, and
// `assert` still checks.
let historied: [SwiftSetting] =
    settings + (isDevelopment ? [.unsafeFlags(["-O", "-assert-config", "Debug"])] : [])

/// Returns a product of another package with the traits that need it. Without those traits the package is not fetched.
func product(_ name: String, _ package: String) -> Target.Dependency {
    let traits: Set<String> =
        switch package {
        case "swift-crypto": ["Webhooks", "APNs"]
        case "async-http-client", "GRDB.swift", "jwt-kit", "swift-argument-parser", "swift-distributed-tracing",
            "swift-metrics", "swift-nio-extras", "Yams":
            ["Server"]
        default: ["APNs"]
        }
    return .product(name: name, package: package, condition: .when(traits: traits))
}

let nio: [Target.Dependency] = [
    product("NIOCore", "swift-nio"), product("NIOPosix", "swift-nio"), product("NIOTLS", "swift-nio"),
    product("NIOSSL", "swift-nio-ssl"), product("NIOHPACK", "swift-nio-http2"),
]
let crypto = product("Crypto", "swift-crypto")
let logging = product("Logging", "swift-log")
let metrics = product("CoreMetrics", "swift-metrics")
let lifecycle = product("ServiceLifecycle", "swift-service-lifecycle")
let httpTypes = product("HTTPTypes", "swift-http-types")
let tracing = product("Tracing", "swift-distributed-tracing")
let hummingbird = product("Hummingbird", "hummingbird")
let httpClient = product("AsyncHTTPClient", "async-http-client")

// A hand-written stand-in for ActivityKit, against which the client's edge is compiled and tested on Linux.
#if os(Linux)
    let standIn: [Target.Dependency] = ["ActivityKitStandIn"]
    let standInTargets: [Target] = [
        .target(name: "ActivityKitStandIn", path: "Tests/ActivityKitStandIn", swiftSettings: settings),
        // Sources of an iOS app, views included. Here they are only type-checked.
        .target(name: "SwiftUI", path: "Tests/SwiftUIStandIn", swiftSettings: settings),
        .target(
            name: "WidgetKit", dependencies: ["ActivityKitStandIn", "SwiftUI"], path: "Tests/WidgetKitStandIn",
            swiftSettings: settings),
        .target(
            name: "PizzaApp",
            dependencies: [
                "LiveActivityAttributes", "LiveActivityClient", "ActivityKitStandIn", "SwiftUI", "WidgetKit",
            ],
            path: "Examples/PizzaApp",
            exclude: ["PizzaApp.xcodeproj", "App/Info.plist", "App/PizzaApp.entitlements", "Widget/Info.plist"],
            // The setting of a new project in Xcode.
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]),
        .testTarget(
            name: "LiveActivityClientTests",
            dependencies: [
                "ActivityKitStandIn", "APNSModel", "APNSSimulator", "IsletBasics", "JSONText", "LiveActivityAPI",
                "LiveActivityClient", "LiveActivityCore", "LiveActivityRegistration", "LiveActivityServer",
                "LiveActivityStorage",
                "TestSupport",
            ],
            swiftSettings: settings),
    ]
#else
    let standIn: [Target.Dependency] = []
    let standInTargets: [Target] = []
#endif

let consoleAssets: [Resource] = [
    "index.html", "style.css", "icon.svg", "app.js", "server.js", "dom.js", "plot.js", "phone.js", "form.js", "now.js",
    "activities.js", "phones.js", "compose.js", "diagnose.js", "webhooks.js", "nodes.js", "settings.js",
    "whatif.js", "channels.js",
].map { .embedInCode("Console/Assets/\($0)") }

let package = Package(
    name: "islet",
    // An app that also has an iOS target can link the client on every platform. Without ActivityKit the client finds
    // no Live Activity.
    platforms: [.macOS(.v15), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .executable(name: "islet", targets: ["islet"]),
        .library(name: "APNSClient", targets: ["APNSModel", "APNSClient", "JSONText"]),
        .library(name: "EmbeddedIslet", targets: ["EmbeddedIslet", "LiveActivityProviders"]),
        .library(name: "APNSSimulator", targets: ["APNSSimulator"]),
        .library(name: "LiveActivityAPI", targets: ["LiveActivityAPI"]),
        .library(name: "LiveActivityAttributes", targets: ["LiveActivityAttributes"]),
        .library(name: "LiveActivityClient", targets: ["LiveActivityAttributes", "LiveActivityClient"]),
        .library(name: "LiveActivityWebhooks", targets: ["LiveActivityAPI", "LiveActivityWebhooks"]),
    ],
    // Without a trait the package is what an app and its widget link, and it depends on nothing.
    traits: [
        .trait(name: "Webhooks", description: "The library LiveActivityWebhooks: swift-crypto."),
        .trait(
            name: "APNs", description: "The libraries APNSClient and APNSSimulator: SwiftNIO, swift-crypto and others."
        ),
        .trait(
            name: "PostgreSQL", description: "PostgreSQL as a database of the server: libpq, a library of the system.",
            enabledTraits: ["Server"]),
        .trait(
            name: "Server", description: "Everything: islet, EmbeddedIslet, the examples and the tests.",
            enabledTraits: ["Webhooks", "APNs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // These are compiled before the targets that need a trait, and they say which trait is missing.
        .target(name: "WebhooksTrait"), .target(name: "APNsTrait"), .target(name: "ServerTrait"),
        .target(name: "IsletBasics", swiftSettings: historied),
        .target(name: "JSONText", dependencies: ["IsletBasics"], swiftSettings: historied),
        .target(name: "APNSModel", dependencies: ["IsletBasics", "JSONText"], swiftSettings: historied),
        .target(name: "XcodeProjects", swiftSettings: settings),
        .target(
            name: "BuildIdentity", cSettings: commit.isEmpty ? [] : [.define("ISLET_COMMIT", to: commit)]),
        .target(
            name: "PeerIdentity",
            dependencies: [
                "APNsTrait",
                product("NIOCore", "swift-nio"), product("NIOTLS", "swift-nio"), product("NIOSSL", "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "OutboundHTTP", dependencies: ["PeerIdentity", product("NIOHTTP1", "swift-nio")] + nio,
            swiftSettings: settings
        ),
        .target(
            name: "APNSClient",
            dependencies: [
                "APNSModel", "IsletBasics", "JSONText", "PeerIdentity", crypto, logging,
                product("NIOHTTP2", "swift-nio-http2"),
            ] + nio,
            swiftSettings: settings
        ),
        .target(
            name: "APNSSimulator",
            dependencies: [
                "APNsTrait", "APNSModel", "IsletBasics", "JSONText", "LiveActivityAPI", "LiveActivityRegistration",
                crypto,
                hummingbird,
                lifecycle, logging, product("NIOHTTP2", "swift-nio-http2"), product("X509", "swift-certificates"),
                product("SwiftASN1", "swift-asn1"), httpTypes, product("HummingbirdCore", "hummingbird"),
            ] + nio,
            swiftSettings: settings
        ),
        .target(
            name: "LiveActivityCore", dependencies: ["APNSModel", "IsletBasics", "JSONText"], swiftSettings: historied),
        .target(name: "LiveActivityAPI", dependencies: ["IsletBasics", "JSONText"], swiftSettings: historied),
        .target(
            name: "LiveActivityWebhooks", dependencies: ["WebhooksTrait", "LiveActivityAPI", "JSONText", crypto],
            swiftSettings: settings),
        .target(name: "LiveActivityAttributes", dependencies: standIn, swiftSettings: settings),
        .target(
            name: "LiveActivityRegistration", dependencies: ["LiveActivityAPI", "JSONText"], swiftSettings: historied),
        .target(
            name: "LiveActivityClient",
            dependencies: ["LiveActivityAttributes", "LiveActivityRegistration", "LiveActivityAPI", "JSONText"]
                + standIn,
            resources: [.copy("PrivacyInfo.xcprivacy")],
            swiftSettings: settings
        ),
        .target(
            name: "LiveActivityStorage", dependencies: ["LiveActivityCore", "APNSModel"], swiftSettings: historied),
        .target(
            name: "StorageSQL",
            dependencies: ["ServerTrait", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText", crypto],
            swiftSettings: historied
        ),
        .target(
            name: "StorageSQLite",
            dependencies: [
                "StorageSQL", "LiveActivityStorage", "LiveActivityCore", "JSONText", product("GRDB", "GRDB.swift"),
                product("GRDBSQLite", "GRDB.swift"),
            ],
            swiftSettings: historied
        ),
        .systemLibrary(
            name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "StoragePostgreSQL",
            dependencies: ["CLibPQ", "StorageSQL", "LiveActivityStorage", "APNSModel", "ServerTrait"],
            swiftSettings: historied
        ),
        .target(
            name: "LiveActivityTracing", dependencies: ["ServerTrait", "JSONText", tracing], swiftSettings: settings),
        .target(
            name: "LiveActivityDelivery",
            dependencies: [
                "LiveActivityCore", "LiveActivityStorage", "LiveActivityTracing", "APNSModel", lifecycle, logging,
                metrics, tracing,
            ],
            swiftSettings: historied
        ),
        .target(
            name: "LiveActivityProviders",
            dependencies: [
                "LiveActivityCore", "LiveActivityAPI", "APNSModel", "JSONText", "OutboundHTTP", crypto, lifecycle,
                product("NIOHTTP1", "swift-nio"),
            ], swiftSettings: settings
        ),
        .target(
            name: "LiveActivityServer",
            dependencies: [
                "LiveActivityCore", "LiveActivityAPI", "LiveActivityStorage", "LiveActivityTracing", "APNSModel",
                "IsletBasics", "JSONText", crypto, hummingbird, tracing, lifecycle, logging, metrics, httpTypes,
                product("HummingbirdCore", "hummingbird"), product("HummingbirdHTTP2", "hummingbird"), httpClient,
                product("JWTKit", "jwt-kit"), product("NIOHTTP1", "swift-nio"),
                product("NIOExtras", "swift-nio-extras"),
                product("NIOHTTP2", "swift-nio-http2"), product("NIOHTTPTypes", "swift-nio-extras"),
            ] + nio,
            // The console's files are embedded in the binary, because the binary may be copied alone.
            resources: consoleAssets,
            swiftSettings: settings
        ),
        .target(
            name: "EmbeddedIslet",
            dependencies: [
                "APNSClient", "APNSModel", "JSONText", "LiveActivityAPI", "LiveActivityCore", "LiveActivityDelivery",
                "LiveActivityProviders", "LiveActivityServer", "LiveActivityStorage", "LiveActivityTracing",
                "StorageSQL", "StorageSQLite",
                .target(name: "StoragePostgreSQL", condition: .when(traits: ["PostgreSQL"])), httpClient,
                product("NIOCore", "swift-nio"), product("NIOPosix", "swift-nio"), product("NIOSSL", "swift-nio-ssl"),
                lifecycle, logging, tracing, product("UnixSignals", "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "BackendCalls",
            dependencies: [
                "ServerTrait", httpClient, "JSONText", product("NIOCore", "swift-nio"),
                product("NIOHTTP1", "swift-nio"),
            ],
            path: "Examples/BackendCalls", swiftSettings: settings
        ),
        .target(
            name: "OrderTracking",
            dependencies: ["BackendCalls", "JSONText"],
            path: "Examples/OrderTracking/Shop", resources: [.embedInCode("OrderTracking.json")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "order-shop",
            dependencies: [
                "OrderTracking", "BackendCalls", "JSONText", product("ArgumentParser", "swift-argument-parser"),
            ],
            path: "Examples/OrderTracking/Command", swiftSettings: settings
        ),
        .target(
            name: "EmojiRangers",
            dependencies: ["BackendCalls", "JSONText"],
            path: "Examples/EmojiRangers/Guild", resources: [.embedInCode("Adventure.json")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "guild-hall",
            dependencies: ["EmojiRangers", "BackendCalls", product("ArgumentParser", "swift-argument-parser")],
            path: "Examples/EmojiRangers/Command", swiftSettings: settings
        ),
        .target(
            name: "FocusTimer",
            dependencies: ["BackendCalls", "JSONText"],
            path: "Examples/FocusTimer/Functions", resources: [.embedInCode("FocusTimer.json")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "focus-timer",
            dependencies: ["FocusTimer", "BackendCalls", product("ArgumentParser", "swift-argument-parser")],
            path: "Examples/FocusTimer/Command", swiftSettings: settings
        ),
        .target(
            name: "Pager",
            dependencies: ["BackendCalls", "JSONText"],
            path: "Examples/Pager/Backend", resources: [.embedInCode("PagerMessage.json")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "pager-desk",
            dependencies: ["Pager", "BackendCalls", product("ArgumentParser", "swift-argument-parser")],
            path: "Examples/Pager/Command", swiftSettings: settings
        ),
        .target(
            name: "NextUp",
            dependencies: [
                "LiveActivityProviders", "JSONText", crypto, hummingbird, product("NIOCore", "swift-nio"), httpTypes,
            ],
            path: "Examples/NextUp/Focus", resources: [.embedInCode("NextUp.json")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "next-up",
            dependencies: [
                "NextUp", "EmbeddedIslet", "APNSClient", "APNSModel", hummingbird, logging, lifecycle,
                product("ArgumentParser", "swift-argument-parser"), product("UnixSignals", "swift-service-lifecycle"),
            ],
            path: "Examples/NextUp/Command", swiftSettings: settings
        ),
        .target(
            name: "Pushing",
            dependencies: ["APNSClient", "APNSModel", "APNSSimulator", "JSONText", hummingbird, lifecycle, logging],
            path: "Examples/Pushing/Articles", swiftSettings: settings
        ),
        .executableTarget(
            name: "push-once",
            dependencies: ["APNSClient", "APNSModel", product("ArgumentParser", "swift-argument-parser")],
            path: "Examples/Pushing/Command", swiftSettings: settings
        ),
        .executableTarget(
            name: "islet",
            dependencies: [
                "APNSClient", "APNSModel", "APNSSimulator", "BackendCalls", "BuildIdentity", "EmbeddedIslet",
                "EmojiRangers", "FocusTimer", "JSONText", "LiveActivityAPI", "LiveActivityCore", "LiveActivityDelivery",
                "LiveActivityProviders", "LiveActivityServer", "LiveActivityStorage", "LiveActivityTracing", "NextUp",
                "OrderTracking", "OutboundHTTP", "Pager", "PostgresCluster", "StorageSQL", "StorageSQLite",
                "XcodeProjects", lifecycle, logging,
                product("ArgumentParser", "swift-argument-parser"), product("NIOCore", "swift-nio"),
                product("NIOHTTP1", "swift-nio"), product("UnixSignals", "swift-service-lifecycle"),
                product("Yams", "Yams"),
            ],
            swiftSettings: settings
        ),
        .target(name: "PostgresCluster", swiftSettings: settings),
        .target(
            name: "TestSupport",
            dependencies: ["APNSModel", "IsletBasics", "JSONText", "LiveActivityCore", "LiveActivityStorage"],
            path: "Tests/TestSupport", swiftSettings: historied),
        .target(
            name: "Simulation",
            dependencies: [
                "LiveActivityDelivery", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText",
                "TestSupport", logging, product("ServiceLifecycleTestKit", "swift-service-lifecycle"),
            ],
            path: "Tests/Simulation", swiftSettings: historied
        ),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation", "TestSupport"], path: "Tests/Simulate",
            swiftSettings: settings),
        .target(
            name: "Exploration", dependencies: ["APNSModel", "JSONText", "LiveActivityCore", "TestSupport"],
            path: "Tests/Exploration", swiftSettings: historied),
        .executableTarget(
            name: "explore", dependencies: ["Exploration", "TestSupport"], path: "Tests/Explore",
            swiftSettings: settings),
        .testTarget(
            name: "ExplorationTests", dependencies: ["Exploration", "LiveActivityCore", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "SimulationTests", dependencies: ["LiveActivityStorage", "Simulation", "TestSupport"],
            swiftSettings: settings),
        .testTarget(name: "PeerIdentityTests", dependencies: ["PeerIdentity"], swiftSettings: settings),
        .testTarget(
            name: "OutboundHTTPTests",
            dependencies: [
                "OutboundHTTP", "HTTP2TestServer", "LiveActivityProviders", "LoopbackServer", hummingbird, httpTypes,
                product("NIOHTTP1", "swift-nio"),
            ] + nio,
            swiftSettings: settings
        ),
        .testTarget(name: "JSONTextTests", dependencies: ["IsletBasics", "JSONText"], swiftSettings: settings),
        .testTarget(
            name: "APNSModelTests", dependencies: ["APNSModel", "JSONText", "TestSupport"], swiftSettings: settings),
        .target(
            name: "HTTP2TestServer",
            dependencies: [
                crypto, product("NIOHTTP2", "swift-nio-http2"), product("X509", "swift-certificates"),
                product("SwiftASN1", "swift-asn1"),
            ] + nio,
            path: "Tests/HTTP2TestServer", swiftSettings: settings
        ),
        .target(
            name: "LoopbackServer",
            dependencies: [hummingbird, logging, httpTypes, product("NIOCore", "swift-nio")],
            path: "Tests/LoopbackServer", swiftSettings: settings
        ),
        .testTarget(
            name: "APNSClientTests",
            dependencies: [
                "APNSClient", "APNSModel", "APNSSimulator", "HTTP2TestServer", "IsletBasics", "JSONText", crypto,
                logging,
                product("NIOEmbedded", "swift-nio"), product("NIOHTTP2", "swift-nio-http2"),
            ] + nio,
            exclude: ["Corpus", "Servers"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "APNSSimulatorTests",
            dependencies: [
                "APNSSimulator", "APNSModel", "IsletBasics", "JSONText", "LiveActivityAPI", "LiveActivityRegistration",
                crypto, logging, product("NIOEmbedded", "swift-nio"), product("NIOHTTP2", "swift-nio-http2"),
            ] + nio,
            swiftSettings: settings
        ),
        .testTarget(
            name: "LiveActivityCoreTests",
            dependencies: ["LiveActivityCore", "APNSModel", "JSONText", "TestSupport"], swiftSettings: settings),
        // An app's source, unchanged, so warnings about it are allowed.
        .testTarget(
            name: "ContractCorpusTests",
            dependencies: [
                "EmojiRangers", "FocusTimer", "JSONText", "LiveActivityCore", "NextUp", "OrderTracking", "Pager",
                "TestSupport",
            ],
            exclude: ["Contracts"],
            swiftSettings: lenient
        ),
        .testTarget(
            name: "LiveActivityAPITests", dependencies: ["LiveActivityAPI", "JSONText"], swiftSettings: settings),
        .testTarget(
            name: "LiveActivityWebhooksTests", dependencies: ["LiveActivityWebhooks", "LiveActivityAPI", "JSONText"],
            swiftSettings: settings),
        // Databases for tests, and random commands that a store must run as the reference store does.
        .target(
            name: "StorageConformance",
            dependencies: [
                "PostgresCluster", "StorageSQL", "StorageSQLite", "StoragePostgreSQL", "LiveActivityStorage",
                "LiveActivityCore", "APNSModel", "JSONText", "TestSupport",
            ],
            path: "Tests/StorageConformance", swiftSettings: settings
        ),
        .testTarget(
            name: "StorageSQLTests",
            dependencies: [
                "StorageConformance", "StorageSQL", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StoragePostgreSQLTests",
            dependencies: [
                "PostgresCluster", "StorageConformance", "StorageSQL", "StorageSQLite", "StoragePostgreSQL",
                "LiveActivityStorage", "LiveActivityCore", "EmbeddedIslet", "APNSModel", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StorageSQLiteTests",
            dependencies: [
                "StorageConformance",
                "StorageSQL", "StorageSQLite", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "JSONText",
                "TestSupport",
                product("GRDB", "GRDB.swift"), product("GRDBSQLite", "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
        // This executable replaces malloc in its process. No test may depend on it, or the one bundle of all tests
        // would link it.
        .executableTarget(
            name: "push-cost",
            dependencies: [
                "AllocationCounter", "LiveActivityDelivery", "StorageSQL", "StorageSQLite", "LiveActivityStorage",
                "LiveActivityCore",
                "APNSModel", "JSONText", "TestSupport", logging,
            ],
            path: "Tests/PushCost", swiftSettings: settings
        ),
        .testTarget(
            name: "CostTests",
            dependencies: [
                "StorageSQL", "StorageSQLite", "LiveActivityStorage", "LiveActivityCore", "APNSModel", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LiveActivityDeliveryTests",
            dependencies: [
                "LiveActivityDelivery", "LiveActivityServer", "StorageSQL", "StorageSQLite", "LiveActivityStorage",
                "LiveActivityTracing", "LiveActivityCore", "APNSModel", "JSONText", "TestSupport", lifecycle, logging,
                metrics, tracing,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LiveActivityServerTests",
            dependencies: [
                "LiveActivityServer", "LiveActivityAPI", "LiveActivityStorage", "StorageSQL", "StorageSQLite",
                "LiveActivityCore",
                "APNSModel", "HTTP2TestServer", "IsletBasics", "JSONText", "TestSupport", crypto, hummingbird,
                lifecycle,
                logging, metrics, product("CryptoExtras", "swift-crypto"), product("HummingbirdTesting", "hummingbird"),
                httpTypes, product("NIOEmbedded", "swift-nio"), product("NIOHTTP2", "swift-nio-http2"),
                product("NIOHTTPTypes", "swift-nio-extras"), product("NIOHTTPTypesHTTP2", "swift-nio-extras"),
            ] + nio, swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "islet", "APNSClient", "APNSModel", "APNSSimulator", "BackendCalls", "EmbeddedIslet", "EmojiRangers",
                "FocusTimer", "HTTP2TestServer", "IsletBasics", "JSONText", "LiveActivityAPI", "LiveActivityCore",
                "LiveActivityDelivery", "LiveActivityProviders", "LiveActivityServer", "LiveActivityStorage",
                "LiveActivityWebhooks", "LoopbackServer", "NextUp", "OrderTracking", "Pager", "PostgresCluster",
                "StorageSQL", "StorageSQLite", "TestSupport", crypto,
                httpClient, hummingbird, lifecycle, logging, product("GRDB", "GRDB.swift"), httpTypes,
                product("NIOHTTP1", "swift-nio"),
            ] + nio,
            exclude: ["Channels/Servers"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IsletTests",
            dependencies: [
                "islet", "APNSClient", "APNSModel", "APNSSimulator", "JSONText", "LiveActivityCore", "EmbeddedIslet",
                "HTTP2TestServer", "LiveActivityAPI", "LiveActivityProviders", "LiveActivityServer", "LoopbackServer",
                "StorageSQL", "StorageSQLite", "StoragePostgreSQL", "LiveActivityTracing", "OutboundHTTP", crypto,
                hummingbird, lifecycle, logging,
                tracing, httpTypes,
                product("NIOCore", "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LiveActivityProvidersTests",
            dependencies: [
                "LiveActivityProviders", "LiveActivityCore", "LiveActivityWebhooks", "LoopbackServer", "NextUp",
                "APNSModel", "HTTP2TestServer", "JSONText", "OutboundHTTP", "TestSupport", hummingbird, logging,
                lifecycle, crypto, httpTypes,
            ] + nio,
            swiftSettings: settings
        ),
        .testTarget(
            name: "LiveActivityTracingTests", dependencies: ["LiveActivityTracing", "JSONText", tracing],
            swiftSettings: settings),
        .testTarget(name: "TidyTests", dependencies: ["XcodeProjects"], swiftSettings: settings),
    ] + standInTargets
)
