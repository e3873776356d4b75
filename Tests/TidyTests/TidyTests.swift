import Testing

/// The repository's own rules, applied to every file. CONTRIBUTING.md gives their reasons.
struct TidyTests {
    private let sources = Repository.here.sources

    private func expectNone(_ findings: [Finding], _ location: SourceLocation = #_sourceLocation) {
        guard !findings.isEmpty else { return }
        let lines = findings.sorted().map(\.description).joined(separator: "\n")
        Issue.record("untidy in \(findings.count) places:\n\(lines)", sourceLocation: location)
    }

    @Test func `the repository was found`() {
        #expect(sources.count > 100)
        #expect(sources.contains { $0.path == "Package.swift" })
    }

    @Test func `imports follow the arrows`() { expectNone(sources.flatMap(Arrows.check)) }

    @Test func `the package of checked builds gives its targets what they import`() throws {
        let manifest = try #require(Repository.here.text(of: "Hardening/Package.swift"))
        expectNone(Hardening.check(sources, manifest: manifest))
        expectNone(Hardening.lost(in: manifest, isFolder: Repository.here.isFolder))
    }

    @Test(arguments: CodeRule.all) func `code keeps to the rule`(_ rule: CodeRule) { expectNone(rule.check(sources)) }

    @Test func `files are short`() { expectNone(sources.flatMap(Sizes.files)) }

    @Test func `functions are short`() { expectNone(sources.flatMap(Sizes.functions)) }

    @Test func `lines are short`() { expectNone(sources.flatMap(Sizes.columns)) }

    @Test func `nothing says that it is unfinished`() { expectNone(sources.flatMap(Words.unfinishedWork)) }

    @Test func `no path of one machine`() { expectNone(sources.flatMap(Words.machinePaths)) }

    @Test func `folders are named for roles`() { expectNone(sources.flatMap(Folders.check)) }

    @Test(arguments: ["Sources", "Tests"]) func `the manifest names every folder`(_ top: String) throws {
        let manifest = try #require(Repository.here.text(of: "Package.swift"))
        expectNone(Manifest.check(Repository.here.folders(of: top), under: top, manifest: manifest))
    }
}
