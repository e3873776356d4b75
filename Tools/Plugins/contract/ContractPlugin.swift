import Foundation
import PackagePlugin

/// `swift package contract`: runs `islet-contract` on the files that are named, or on all of the package's targets.
@main
struct ContractPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let files = context.package.targets.compactMap { $0 as? any SourceModuleTarget }.flatMap {
            $0.sourceFiles(withSuffix: "swift").map(\.url.path)
        }
        try Self.run(try context.tool(named: "islet-contract").url, arguments, otherwise: files)
    }

    /// Options are passed on as they are; without a file among the arguments all of `files` are read.
    fileprivate static func run(_ tool: URL, _ arguments: [String], otherwise files: [String]) throws {
        let names = arguments.enumerated().filter { index, argument in
            !argument.hasPrefix("-") && (index == 0 || !arguments[index - 1].hasPrefix("-"))
        }
        let isHelp = arguments.contains("--help") || arguments.contains("-h")
        let process = Process()
        process.executableURL = tool
        process.arguments = arguments + (names.isEmpty && !isHelp ? files : [])
        try process.run()
        process.waitUntilExit()
        // SwiftPM names the code, and exits with 1.
        if process.terminationStatus != 0 { exit(process.terminationStatus) }
    }
}

#if canImport(XcodeProjectPlugin)
    import XcodeProjectPlugin

    extension ContractPlugin: XcodeCommandPlugin {
        func performCommand(context: XcodePluginContext, arguments: [String]) throws {
            let files = context.xcodeProject.targets.flatMap {
                $0.inputFiles.filter { $0.url.pathExtension == "swift" }.map(\.url.path)
            }
            try Self.run(try context.tool(named: "islet-contract").url, arguments, otherwise: files)
        }
    }
#endif
