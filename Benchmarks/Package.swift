// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

// Benchmarks of APNSClient beside other clients. `script/bench client` builds and runs them. They are a package of
// their own so that ordinary builds do not compile them, and so that they compile nothing of the server.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "islet", path: "..", traits: ["APNs"])],
    targets: [
        .target(name: "AllocationCounter"),
        .executableTarget(
            name: "client-bench", dependencies: ["AllocationCounter", .product(name: "APNSClient", package: "islet")],
            swiftSettings: settings),
        .executableTarget(
            name: "client-soak",
            dependencies: [
                .product(name: "APNSClient", package: "islet"), .product(name: "APNSSimulator", package: "islet"),
            ],
            swiftSettings: settings),
    ]
)
