import Foundation
import PackagePlugin

/// `swift package contract`: runs `islet-contract` on source files.
///
/// The files are those that are named, or those of the targets that `--target` names, or else those of the whole
/// package except its tests. Xcode passes `--target` for the chosen targets.
@main
struct ContractPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let call = Call(arguments)
        let targets =
            call.targets.isEmpty
            ? context.package.targets.filter { ($0 as? any SourceModuleTarget)?.kind != .test }
            : try context.package.targets(named: call.targets)
        let files = targets.compactMap { $0 as? any SourceModuleTarget }.flatMap {
            $0.sourceFiles(withSuffix: "swift").map(\.url.path)
        }
        try call.run(try context.tool(named: "islet-contract").url, otherwise: files)
    }
}

/// The parsed arguments.
struct Call {
    let targets: [String]
    /// The arguments for the tool, as given.
    private let arguments: [String]
    /// `true` if no files are added, because some are named or the tool prints something else.
    private let isComplete: Bool

    /// The tool's options that take a value.
    private static let optionsWithValue: Set<String> = ["--type", "--schema", "--check"]

    init(_ given: [String]) {
        var extractor = ArgumentExtractor(given)
        targets = extractor.extractOption(named: "target")
        arguments = extractor.remainingArguments
        var namesFiles = false
        var isValue = false
        for argument in arguments {
            if isValue {
                isValue = false
            } else if Self.optionsWithValue.contains(argument) {
                isValue = true
            } else if !argument.hasPrefix("-") {
                namesFiles = true
            }
        }
        // An option without its value would take the first file as its value.
        isComplete = namesFiles || isValue || !Set(arguments).isDisjoint(with: ["--help", "-h"])
    }

    func run(_ tool: URL, otherwise files: [String]) throws {
        let process = Process()
        process.executableURL = tool
        process.arguments = arguments + (isComplete ? [] : files)
        try process.run()
        process.waitUntilExit()
        // SwiftPM prints the code and exits with 1.
        if process.terminationStatus != 0 { exit(process.terminationStatus) }
    }
}

#if canImport(XcodeProjectPlugin)
    import XcodeProjectPlugin

    extension ContractPlugin: XcodeCommandPlugin {
        func performCommand(context: XcodePluginContext, arguments: [String]) throws {
            let call = Call(arguments)
            let targets = context.xcodeProject.targets.filter {
                call.targets.isEmpty || call.targets.contains($0.displayName)
            }
            let files = targets.flatMap {
                $0.inputFiles.filter { $0.url.pathExtension == "swift" }.map(\.url.path)
            }
            try call.run(try context.tool(named: "islet-contract").url, otherwise: files)
        }
    }
#endif
