import Foundation
import JSONText
import Testing

@testable import islet

/// Folders that do not hold exactly one sound project, and the command itself.
struct ProjectFolderTests {
    private static let example = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Examples/PizzaApp")

    private func folder(withExampleAt path: String? = nil) throws -> Folder {
        let folder = try Folder()
        if let path {
            let place = folder.url.appending(path: path)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: Self.example, to: place)
        }
        return folder
    }

    /// Returns the ids of the findings other than `ok`.
    private func ids(_ path: String, app: String? = nil) -> [Finding.ID] {
        ProjectDiagnosis.findings(ProjectReader.facts(path, app: app)).map(\.id)
            .filter { [.warning, .failed].contains($0.entry.outcome) }
    }

    @Test func `a folder that is not there, or has no project, is said`() throws {
        let folder = try folder()
        let path = folder.path("")
        #expect(ids(folder.path("none")) == [.projectAbsent] && ids(path) == [.projectAbsent])
        #expect(ids(folder.path("key.p8")) == [.projectAbsent])
        #expect(ids(folder.path("Pizza.xcodeproj")) == [.projectAbsent])
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: "Pizza.xcodeproj"), withIntermediateDirectories: true)
        #expect(ids(path) == [.projectFileAbsent])
        try folder.write("", to: "Pizza.xcodeproj/project.pbxproj")
        #expect(ids(path) == [.projectUnreadable])
        try folder.write(String(repeating: "(", count: 1_000_000), to: "Pizza.xcodeproj/project.pbxproj")
        let found = ProjectReader.facts(path).problems
        #expect(found.map(\.detail) == ["there are more than 64 levels"] && found[0].place?.line == 1)
    }

    @Test func `the project is found below, and by its own name`() throws {
        let folder = try folder(withExampleAt: "ios/app/Pizza")
        #expect(ids(folder.path("")) == [] && ids(folder.path("ios/app/")) == [])
        #expect(ids(folder.path("ios/app/Pizza/PizzaApp.xcodeproj")) == [])
        #expect(ids(folder.path("ios/app/Pizza/PizzaApp.xcodeproj/")) == [])
        #expect(ids(folder.path(""), app: "com.example.pizza") == [])
        #expect(ids(folder.path(""), app: "com.example.pasta") == [.projectWithoutApp])
        #expect(
            ProjectReader.facts(folder.path("")).apps[0].app.file == "ios/app/Pizza/PizzaApp.xcodeproj/project.pbxproj")
    }

    @Test(arguments: ["Pods", "node_modules", ".build", "DerivedData"])
    func `what tools fetch is passed over`(_ name: String) throws {
        #expect(try ids(folder(withExampleAt: "\(name)/Pizza").path("")) == [.projectAbsent])
    }

    @Test func `a folder that is very deep is not looked through`() throws {
        let folder = try folder(withExampleAt: "Pizza")
        let deep = Array(repeating: "a", count: ProjectFolder.deepest + 1).joined(separator: "/")
        try FileManager.default.createDirectory(
            at: folder.url.appending(path: deep), withIntermediateDirectories: true)
        #expect(ids(folder.path("")) == [.projectCut])
        #expect(ids(folder.path("Pizza/PizzaApp.xcodeproj")) == [])
    }

    @Test func `links are not followed out of the folder, and large files not read`() throws {
        let folder = try folder(withExampleAt: "Pizza")
        let list = folder.path("Pizza/App/Info.plist")
        try FileManager.default.moveItem(atPath: list, toPath: folder.path("Info.plist"))
        try FileManager.default.createSymbolicLink(atPath: list, withDestinationPath: folder.path("Info.plist"))
        #expect(ids(folder.path("Pizza")) == [.projectFileAbsent])
        #expect(ids(folder.path("")) == [])

        try FileManager.default.createSymbolicLink(
            atPath: folder.path("Pizza/loop"), withDestinationPath: folder.path("Pizza"))
        #expect(ProjectReader.facts(folder.path("")).apps.count == 1)

        try FileManager.default.removeItem(atPath: list)
        try Data(count: ProjectFolder.mostBytes + 1).write(to: URL(fileURLWithPath: list))
        #expect(ProjectReader.facts(folder.path("Pizza")).problems.map(\.detail) == ["has more than 4 MB"])
        try FileManager.default.removeItem(atPath: list)
        try FileManager.default.createDirectory(atPath: list, withIntermediateDirectories: false)
        #expect(ProjectReader.facts(folder.path("Pizza")).problems.map(\.detail) == ["is not a file"])
    }

    @Test func `a privacy manifest that does not parse is found`() throws {
        let folder = try folder(withExampleAt: "Pizza")
        try folder.write(
            "<plist><dict><key>NSPrivacyTracking</key></dict></plist>", to: "Pizza/App/PrivacyInfo.xcprivacy")
        let found = ProjectReader.facts(folder.path("Pizza")).problems
        #expect(found.map(\.id) == [.projectUnreadable])
        #expect(found.first?.place == .init(file: "App/PrivacyInfo.xcprivacy", line: 1))
    }

    // MARK: - Settings

    @Test(arguments: [
        ("$(B).x", "b.x"), ("${B}", "b"), ("$(NONE)", nil), ("$(NONE:default=d)", "d"), ("x$(inherited)c", "xc"),
        ("$(S:rfc1034identifier)", "a-b"), ("$(A)", ""), ("$(C)", nil), ("$ 5 $(", nil), ("$", "$"), ("$(L)", nil),
    ])
    func `settings name each other`(_ text: String, _ value: String?) {
        var layer = ["A": text, "B": "b", "C": "$(D)", "D": "$(C)", "S": "a b", "L0": ""]
        for index in 1...30 { layer["L\(index)"] = String(repeating: "$(L\(index - 1))", count: 9) }
        layer["L"] = "$(L30)"
        let settings = BuildSettings([layer], configuration: "Debug")
        #expect(settings.value("A") == value.flatMap { $0.isEmpty ? nil : $0 })
    }

    @Test func `stronger settings build on weaker ones, and conditions choose`() {
        let settings = BuildSettings(
            [
                ["A": "$(inherited) 2", "K[config=Debug]": "debug", "K": "all", "M[sdk=macosx*]": "mac"],
                ["A": "$(A) 1", "N[sdk=iphone*][arch=*]": "phone"], ["A": "0"],
            ], configuration: "Debug")
        #expect(settings.value("A") == "0 1 2" && settings.value("K") == "debug" && settings.value("N") == "phone")
        #expect(settings.value("M") == nil && !settings.isSet("M"))
        #expect(
            SettingsFile.lines("A = b=c // d\n#include \"x\"\n#include? \"y\"\nK[sdk=a*] = v\n= e\nword\n") == [
                .setting(key: "A", value: "b=c"), .include(path: "x", isOptional: false),
                .include(path: "y", isOptional: true), .setting(key: "K[sdk=a*]", value: "v"),
            ])
    }

    // MARK: - The command

    @Test func `the command says what is wrong, and exits with 1`() async throws {
        let folder = try folder(withExampleAt: "Pizza")
        let good = try await Execution.of(["doctor", "--project", "Pizza"], in: folder)
        #expect(good.code == 0 && good.errors.isEmpty && good.output.hasPrefix("ok       project        PizzaApp.xc"))
        #expect(good.output.split(separator: "\n").last?.hasPrefix("skipped  server ") == true)

        try folder.write("none", to: "Pizza/App/Info.plist")
        try folder.write(Sample.file(), to: "islet.yaml")
        let bad = try await Execution.of(["doctor", "--project", "Pizza", "--json"], in: folder)
        let findings = try JSONValue(parsing: bad.output).object?["findings"]?.array?.compactMap(\.object) ?? []
        #expect(bad.code == 1 && bad.errors.isEmpty)
        #expect(findings.first?["id"] == "project-unreadable" && findings.first?["file"] == "App/Info.plist")
        #expect(findings.first?["line"] == 1 && findings.first?["outcome"] == "failed")
        #expect(findings.last?["id"] == "server-app" && findings.last?["key"] == "PRODUCT_BUNDLE_IDENTIFIER")

        let other = try await Execution.of(["doctor", "--project", "Pizza", "--config", "none.yaml"], in: folder)
        #expect(other.code == 1 && other.output.hasPrefix("failed   configuration"))
        let idle = try await Execution.of(["doctor", "--project", "Pizza", "--offline"], in: folder)
        #expect(idle.code == 64)
        let both = try await Execution.of(["doctor", "--project", "Pizza", "--device", "phone"], in: folder)
        #expect(both.code == 64 && both.errors.contains("--project goes with --app, --config and --json alone"))
    }
}
