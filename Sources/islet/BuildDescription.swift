import BuildIdentity

/// A description of this executable for `islet --version`: what a report of a fault needs to say.
struct BuildDescription {
    var version = Islet.version
    /// Commit of the sources; `nil` if the build was not told, as in debug builds.
    var commit = Self.currentCommit
    var configuration = Self.currentConfiguration
    var compiler = Self.currentCompiler
    var platform = Self.currentPlatform

    /// Text such as `islet 0.1.0 (commit 31aed94c1a2b, release, Swift 6.3, linux x86_64)`.
    var text: String {
        let commit = commit.map { "commit \($0)" } ?? "commit unknown"
        return "islet \(version) (\(commit), \(configuration), \(compiler), \(platform))"
    }

    private static var currentCommit: String? {
        let text = String(cString: build_identity_commit())
        return text.isEmpty ? nil : text
    }

    private static var currentConfiguration: String {
        #if DEBUG
            return "debug"
        #else
            return "release"
        #endif
    }

    private static var currentCompiler: String {
        #if compiler(>=6.5)
            return "Swift 6.5 or later"
        #elseif compiler(>=6.4)
            return "Swift 6.4"
        #elseif compiler(>=6.3)
            return "Swift 6.3"
        #else
            return "Swift 6.2"
        #endif
    }

    private static var currentPlatform: String {
        #if os(Linux)
            let system = "linux"
        #elseif os(macOS)
            let system = "macos"
        #else
            let system = "unknown system"
        #endif
        #if arch(x86_64)
            return "\(system) x86_64"
        #elseif arch(arm64)
            return "\(system) arm64"
        #else
            return "\(system), unknown processor"
        #endif
    }
}
