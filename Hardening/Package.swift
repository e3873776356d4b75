// swift-tools-version: 6.2
import PackageDescription

// The client's sources and tests as a package of their own, for builds that check themselves at run time: with
// sanitizers (`script/sanitize`) and under the fuzzer (`script/fuzz`). These builds compile little, and ordinary builds
// compile none of it. The folders are links; only the fuzzer's driver is written here.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

func product(_ name: String, _ package: String) -> Target.Dependency { .product(name: name, package: package) }

let nio: [Target.Dependency] = [
    product("NIOCore", "swift-nio"), product("NIOPosix", "swift-nio"), product("NIOTLS", "swift-nio"),
    product("NIOSSL", "swift-nio-ssl"), product("NIOHPACK", "swift-nio-http2"),
]
let http2 = product("NIOHTTP2", "swift-nio-http2")
let crypto = product("Crypto", "swift-crypto")
let logging = product("Logging", "swift-log")

// The fuzzer links libFuzzer's `main`, so nothing else can link it. The target exists only for `script/fuzz`.
let isFuzzing = Context.environment["ISLET_FUZZ"] != nil
let fuzzer: [Target] = [
    .executableTarget(
        name: "connection-fuzz", dependencies: ["APNSClient", "APNSModel", "JSONText", crypto] + nio,
        swiftSettings: settings + [.unsafeFlags(["-parse-as-library", "-enable-testing"])])
]

let package = Package(
    name: "hardening",
    platforms: [.macOS(.v15)],
    products: isFuzzing ? [.executable(name: "connection-fuzz", targets: ["connection-fuzz"])] : [],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "IsletBasics", swiftSettings: settings),
        .target(name: "JSONText", dependencies: ["IsletBasics"], swiftSettings: settings),
        .target(name: "APNSModel", dependencies: ["IsletBasics", "JSONText"], swiftSettings: settings),
        .target(
            name: "PeerIdentity",
            dependencies: [
                product("NIOCore", "swift-nio"), product("NIOTLS", "swift-nio"), product("NIOSSL", "swift-nio-ssl"),
            ], swiftSettings: settings),
        .target(
            name: "APNSClient",
            dependencies: ["APNSModel", "IsletBasics", "JSONText", "PeerIdentity", crypto, http2, logging] + nio,
            swiftSettings: settings),
        .target(
            name: "LiveActivityCore", dependencies: ["APNSModel", "IsletBasics", "JSONText"],
            swiftSettings: settings),
        .target(
            name: "LiveActivityStorage", dependencies: ["LiveActivityCore", "APNSModel"], swiftSettings: settings),
        .target(
            name: "TestSupport",
            dependencies: ["APNSModel", "IsletBasics", "JSONText", "LiveActivityCore", "LiveActivityStorage"],
            swiftSettings: settings),
        .target(name: "MutexWatch"),
        .target(name: "LiveActivityAPI", dependencies: ["IsletBasics", "JSONText"], swiftSettings: settings),
        .target(
            name: "LiveActivityRegistration", dependencies: ["LiveActivityAPI", "JSONText"], swiftSettings: settings),
        .target(
            name: "APNSSimulator",
            dependencies: [
                "APNSModel", "IsletBasics", "JSONText", "LiveActivityAPI", "LiveActivityRegistration", crypto, http2,
                logging,
                product("Hummingbird", "hummingbird"), product("HummingbirdCore", "hummingbird"),
                product("HTTPTypes", "swift-http-types"),
                product("ServiceLifecycle", "swift-service-lifecycle"), product("X509", "swift-certificates"),
                product("SwiftASN1", "swift-asn1"),
            ] + nio,
            swiftSettings: settings),
        .target(
            name: "HTTP2TestServer",
            dependencies: [
                crypto, http2, product("X509", "swift-certificates"), product("SwiftASN1", "swift-asn1"),
            ] + nio,
            swiftSettings: settings),
        .testTarget(
            name: "APNSModelTests", dependencies: ["APNSModel", "JSONText", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "APNSClientTests",
            dependencies: [
                "APNSClient", "APNSModel", "APNSSimulator", "HTTP2TestServer", "IsletBasics", "JSONText", "MutexWatch",
                crypto, logging, http2, product("NIOEmbedded", "swift-nio"),
            ] + nio,
            exclude: ["Corpus", "Servers"],
            swiftSettings: settings),
    ] + (isFuzzing ? fuzzer : [])
)
