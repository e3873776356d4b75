// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

// `ISLET_SWIFT_SYNTAX` is the folder of the swift-syntax that a toolchain for Linux has built for its own macros:
// `lib/swift/host` beside its `bin`. Tests use it, because a build of swift-syntax takes minutes.
let builtSyntax = Context.environment["ISLET_SWIFT_SYNTAX"]
let syntaxFlags: [SwiftSetting] = builtSyntax.map { [.unsafeFlags(["-I", $0])] } ?? []
let syntaxLibraries: [LinkerSetting] =
    builtSyntax.map { folder in
        [.unsafeFlags(["-L", folder, "-lSwiftSyntax", "-lSwiftParser", "-Xlinker", "-rpath", "-Xlinker", folder])]
    } ?? []
let syntaxPackages: [Package.Dependency] =
    builtSyntax == nil
    ? [.package(url: "https://github.com/swiftlang/swift-syntax", .upToNextMajor(from: "603.0.1"))] : []
let syntaxProducts: [Target.Dependency] =
    builtSyntax == nil
    ? [
        .product(name: "SwiftParser", package: "swift-syntax"), .product(name: "SwiftSyntax", package: "swift-syntax"),
    ] : []

// A package of its own, so that the server's build does not need swift-syntax.
let package = Package(
    name: "islet-tools",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "islet-contract", targets: ["islet-contract"]),
        .plugin(name: "contract", targets: ["contract"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ] + syntaxPackages,
    targets: [
        // The server's own target, through a link.
        .target(name: "IsletBasics", swiftSettings: settings),
        .target(name: "JSONText", dependencies: ["IsletBasics"], swiftSettings: settings),
        .target(
            name: "SourceContract",
            dependencies: ["JSONText"] + syntaxProducts,
            swiftSettings: settings + syntaxFlags,
            linkerSettings: syntaxLibraries
        ),
        .executableTarget(
            name: "islet-contract",
            dependencies: [
                "SourceContract", "JSONText", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings + syntaxFlags
        ),
        .plugin(
            name: "contract",
            capability: .command(
                intent: .custom(
                    verb: "contract", description: "Writes the contract of an app's Live Activity out of its source.")),
            dependencies: ["islet-contract"]
        ),
        .testTarget(
            name: "SourceContractTests",
            dependencies: ["SourceContract", "JSONText", "islet-contract"],
            swiftSettings: settings + syntaxFlags
        ),
    ]
)
