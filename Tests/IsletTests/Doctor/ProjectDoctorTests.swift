import APNSModel
import Foundation
import Testing

@testable import islet

/// A copy of Examples/PizzaApp for tests to modify.
private struct PizzaProject {
    static let file = "PizzaApp.xcodeproj/project.pbxproj"
    static let appList = "App/Info.plist"
    static let widgetList = "Widget/Info.plist"
    static let entitlements = "App/PizzaApp.entitlements"

    let folder: Folder

    init() throws {
        folder = try Folder()
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        try FileManager.default.copyItem(
            at: root.appending(path: "Examples/PizzaApp"), to: folder.url.appending(path: "Pizza"))
    }

    var path: String { folder.path("Pizza") }

    func path(_ name: String) -> String { folder.path("Pizza/\(name)") }

    func change(_ name: String, _ old: String, _ new: String) throws {
        let text = try String(contentsOfFile: path(name), encoding: .utf8)
        try #require(text.contains(old), "the example has changed: `\(old)`")
        try write(text.replacingOccurrences(of: old, with: new), to: name)
    }

    func write(_ text: String, to name: String) throws { try folder.write(text, to: "Pizza/\(name)") }

    func findings(
        _ server: ProjectFacts.ServerFacts? = .init(environments: ["com.example.pizza": [.sandbox, .production]]),
        app: String? = nil
    ) -> [Finding] {
        var facts = ProjectReader.facts(path, app: app)
        facts.server = server
        return ProjectDiagnosis.findings(facts)
    }

    /// Returns the findings other than `ok`, in the words of the terminal without the advice.
    func faults() -> [String] {
        findings().filter { $0.outcome != .ok }.map { finding in
            "\(finding.id.rawValue) \(finding.place.map { "\($0): " } ?? "")\(finding.detail)"
        }
    }
}

/// Findings of the doctor in an app's project: the example is complete, and each finding appears after one change.
struct ProjectDoctorTests {
    @Test func `the example lacks nothing`() throws {
        let findings = try PizzaProject().findings()
        #expect(
            findings.map(\.id) == [
                .projectGood, .activitiesGood, .entitlementGood, .backgroundGood, .widgetGood, .systemWithoutStart,
                .serverGood,
            ])
        #expect(findings.allSatisfy { $0.outcome == .ok && $0.fix == nil })
        #expect(findings[0].detail == "the app PizzaApp, com.example.pizza")
        #expect(findings[1].place == .init(file: "App/Info.plist", line: 12, key: "NSSupportsLiveActivities"))
    }

    // MARK: - One thing changed

    struct Change: CustomTestStringConvertible, Sendable {
        let id: Finding.ID
        let file: String
        let old: String
        let new: String
        /// A part of the printed text.
        let says: String

        init(_ id: Finding.ID, in file: String = PizzaProject.file, _ old: String, _ new: String, _ says: String = ": ")
        {
            (self.id, self.file, self.old, self.new, self.says) = (id, file, old, new, says)
        }

        var testDescription: String { "\(id.rawValue): \(old) -> \(new)" }
    }

    private static let yes = "<key>NSSupportsLiveActivities</key>\n\t<true/>"
    private static let own = "INFOPLIST_FILE = App/Info.plist;"
    private static let widgets = "INFOPLIST_FILE = Widget/Info.plist;"
    private static let target = "IPHONEOS_DEPLOYMENT_TARGET = 16.2;"

    static let changes: [Change] = [
        Change(
            .activitiesOff, in: PizzaProject.appList, "<key>NSSupportsLiveActivities</key>\n\t<true/>",
            "<key>NSSupportsLiveActivities</key>\n\t<false/>", "App/Info.plist:12 NSSupportsLiveActivities: is false"),
        Change(
            .activitiesOff, in: PizzaProject.appList, yes, yes.replacing("<true/>", with: "<string>YES</string>"),
            "is neither <true/> nor <false/>"),
        Change(
            .activitiesOff, in: PizzaProject.appList, yes, "", "App/Info.plist NSSupportsLiveActivities: is not set"),
        Change(.activitiesOff, own, "", "INFOPLIST_KEY_NSSupportsLiveActivities: is not set"),
        Change(
            .activitiesOff, "GENERATE_INFOPLIST_FILE = YES;\n\t\t\t\t" + own,
            "INFOPLIST_KEY_NSSupportsLiveActivities = YES;", "counts only where GENERATE_INFOPLIST_FILE is YES"),
        Change(.activitiesOff, own, "INFOPLIST_KEY_NSSupportsLiveActivities = NO;", "is not YES"),
        Change(.activitiesRare, in: PizzaProject.appList, "FrequentUpdates", "Frequently", "is not set"),
        Change(
            .entitlementAbsent, "CODE_SIGN_ENTITLEMENTS = App/PizzaApp.entitlements;", "",
            "CODE_SIGN_ENTITLEMENTS: no entitlements file is named"),
        Change(
            .entitlementAbsent, in: PizzaProject.entitlements, "aps-environment", "environment",
            "App/PizzaApp.entitlements aps-environment: is missing"),
        Change(
            .entitlementWrong, in: PizzaProject.entitlements, "development", "sandbox", ":5 aps-environment: is `sa"),
        Change(.entitlementWrong, in: PizzaProject.entitlements, "development", "$(NONE)", "which has no value"),
        Change(.backgroundAbsent, in: PizzaProject.appList, "remote-notification", "fetch", "Info.plist:16 UIB"),
        Change(
            .backgroundAbsent, own, "INFOPLIST_KEY_UIBackgroundModes = \"remote-notification\";",
            "Xcode does not generate this key from a build setting"),
        Change(
            .widgetAbsent, in: PizzaProject.widgetList, "widgetkit-", "intents-", "PizzaApp has no widget extension"),
        Change(.widgetAbsent, "product-type.app-extension", "product-type.tool"),
        Change(.widgetNotEmbedded, "dstSubfolderSpec = 13", "dstSubfolderSpec = 10", "does not embed PizzaWidgets"),
        Change(
            .widgetBundleID, "IDENTIFIER).widgets", "IDENTIFIER)-widgets",
            "PizzaWidgets has com.example.pizza-widgets, and the app has com.example.pizza"),
        Change(.widgetOld, widgets, widgets + "IPHONEOS_DEPLOYMENT_TARGET = 15.0;", "PizzaWidgets is for iOS 15.0"),
        Change(
            .widgetNew, widgets, widgets + "IPHONEOS_DEPLOYMENT_TARGET = 26.0;",
            "needs iOS 26.0, and the app needs 16.2"),
        Change(.systemGood, target, "IPHONEOS_DEPLOYMENT_TARGET = 17.2;", "iOS 17.2"),
        Change(.systemWithoutCards, own, own + "IPHONEOS_DEPLOYMENT_TARGET = 16.0;", "before 16.1"),
        Change(.systemOld, own, own + "IPHONEOS_DEPLOYMENT_TARGET = 15;", "iOS 15.0"),
        Change(.systemUnknown, target, ""),
        Change(.projectUnreadable, "rootObject = ", "rootObject ", "project.pbxproj:460: `=` is missing"),
        Change(
            .projectUnreadable, "classes = {", "<<<<<<< HEAD\nclasses = {", "project.pbxproj:4: `<` is not expected"),
        Change(.projectUnreadable, "isa = PBXProject;", "isa = PBXGroup;", "the file does not describe a project"),
        Change(.projectUnreadable, in: PizzaProject.appList, "</array>", "</dict>", "App/Info.plist:19: Close tag on"),
        Change(.projectUnreadable, in: PizzaProject.appList, "</dict>\n</plist>", "", "App/Info.plist:21: "),
        Change(.projectUnreadable, in: PizzaProject.entitlements, "</string>", "</text>", "entitlements:6: Close tag"),
        Change(.projectFileAbsent, own, "INFOPLIST_FILE = App/None.plist;", "there is no App/None.plist"),
        Change(.projectFileAbsent, own, "INFOPLIST_FILE = ../key.p8;", "../key.p8 is outside of the folder"),
        Change(.projectFileAbsent, own, "INFOPLIST_FILE = /etc/passwd;", "/etc/passwd is outside of the folder"),
        Change(.projectSettingUnknown, own, "INFOPLIST_FILE = \"$(NONE)/Info.plist\";", "unknown settings"),
        Change(.projectWithoutApp, "product-type.application", "product-type.tool", "there is no app in "),
        Change(.projectWithoutApp, "SDKROOT = iphoneos", "SDKROOT = macosx", "there is no app in "),
        Change(.serverApp, "= com.example.pizza;", "= com.example.pasta;", "com.example.pasta is not configured"),
    ]

    @Test(arguments: changes) func `one thing changed is one finding`(_ change: Change) throws {
        let project = try PizzaProject()
        try project.change(change.file, change.old, change.new)
        let findings = project.findings()
        let found = findings.filter { $0.id == change.id }
        #expect(found.count == 1, "\(FindingReport.text(findings))")
        #expect(FindingReport.text(found).contains(change.says), "\(FindingReport.text(findings))")
        // No unrelated check reports a problem: the other checks pass, or could not run.
        let kinds = Set(findings.filter { [.warning, .failed].contains($0.outcome) }.map(\.check))
        #expect(
            kinds.isSubset(of: [change.id.entry.check, .activities, .background]), "\(FindingReport.text(findings))")
    }

    @Test func `the server's keys are compared with the entitlement`() throws {
        let project = try PizzaProject()
        func last(_ environments: Set<APNSEnvironment>) -> Finding? {
            project.findings(.init(environments: ["com.example.pizza": environments])).last
        }
        #expect(last([.sandbox])?.detail == "com.example.pizza has a key for sandbox, and none for production")
        #expect(last([.production])?.id == .serverEnvironment)
        try project.change(PizzaProject.entitlements, "development", "production")
        #expect(last([.sandbox])?.id == .serverEnvironment && last([.production])?.id == .serverGood)
        #expect(project.findings(nil).last?.id == .serverNotChecked)
    }

    @Test func `every finding about a project has been seen`() throws {
        let good: Set<Finding.ID> = [
            .projectGood, .activitiesGood, .entitlementGood, .backgroundGood, .widgetGood, .systemWithoutStart,
            .serverGood, .serverEnvironment, .serverNotChecked,
        ]
        // Tested below, because a folder is not a change to the example.
        let folders: Set<Finding.ID> = [.projectAbsent, .projectCut]
        #expect(good.union(folders).union(Self.changes.map(\.id)) == Set(Finding.ID.projectEntries.keys))
    }

    @Test func `what is so in one configuration says which`() throws {
        let project = try PizzaProject()
        let text = try String(contentsOfFile: project.path(PizzaProject.file), encoding: .utf8)
        let range = try #require(text.firstRange(of: "CODE_SIGN_ENTITLEMENTS = App/PizzaApp.entitlements;"))
        try project.write(text.replacingCharacters(in: range, with: ""), to: PizzaProject.file)
        let found = project.findings().filter { $0.check == .entitlement }
        #expect(found.map(\.id) == [.entitlementAbsent, .entitlementGood])
        #expect(
            found[0].detail == "no entitlements file is named (in Debug)" && found[1].detail.hasSuffix("(in Release)"))
    }

    // MARK: - Equivalent forms

    @Test func `keys may be generated from build settings`() throws {
        let project = try PizzaProject()
        let keys = ["NSSupportsLiveActivities", "NSSupportsLiveActivitiesFrequentUpdates"]
        try project.change(
            PizzaProject.file, Self.own, keys.map { "INFOPLIST_KEY_\($0) = YES;" }.joined())
        #expect(project.faults().map { $0.prefix(18) } == ["background-absent "])
    }

    @Test func `binary property lists and a project in XML are read`() throws {
        let project = try PizzaProject()
        for name in [PizzaProject.appList, PizzaProject.entitlements] {
            let list = try PropertyListSerialization.propertyList(
                from: Data(contentsOf: URL(fileURLWithPath: project.path(name))), format: nil)
            try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
                .write(to: URL(fileURLWithPath: project.path(name)))
        }
        #expect(project.faults() == [])
        try Data("bplist00 and no more".utf8).write(to: URL(fileURLWithPath: project.path(PizzaProject.appList)))
        #expect(project.faults().map { $0.prefix(35) } == ["project-unreadable App/Info.plist: "])
        try project.write(
            "<?xml version=\"1.0\"?>\n<plist><dict><key>rootObject</key><string>A</string></dict></plist>",
            to: PizzaProject.file)
        #expect(
            project.faults() == [
                "project-unreadable PizzaApp.xcodeproj/project.pbxproj:1: the file does not describe "
                    + "a project"
            ])
    }

    /// Bases the app's configurations on a file of settings.
    private func base(_ project: PizzaProject, on file: String) throws {
        try project.change(
            PizzaProject.file, "\t\t\tbuildSettings = {\n\t\t\t\tCODE_SIGN_STYLE = Automatic;",
            "\t\t\tbaseConfigurationReference = 151E70300000000000000099;\n"
                + "\t\t\tbuildSettings = {\n\t\t\t\tCODE_SIGN_STYLE = Automatic;")
        try project.change(
            PizzaProject.file, "/* Begin PBXFileReference section */",
            "151E70300000000000000099 = {isa = PBXFileReference; path = \(file); sourceTree = SOURCE_ROOT; };")
    }

    @Test func `settings come from files too, with what they include, under those of the project`() throws {
        let project = try PizzaProject()
        try project.change(PizzaProject.file, "\t\t\t\tCODE_SIGN_ENTITLEMENTS = App/PizzaApp.entitlements;\n", "")
        try base(project, on: "App/App.xcconfig")
        let missing = project.faults().filter { $0.hasPrefix("project-setting-unknown") }
        #expect(missing.count == 1 && missing[0].contains("App/App.xcconfig is not in the folder"), "\(missing)")
        try project.write(
            "#include \"Names.xcconfig\" // a name\n#include? \"None.xcconfig\"\n#include \"App.xcconfig\"\n\n"
                + "CODE_SIGN_ENTITLEMENTS[sdk=iphoneos*] = $(SRCROOT)/App/$(NAME).entitlements\n"
                + "CODE_SIGN_ENTITLEMENTS[sdk=macosx*] = None\n", to: "App/App.xcconfig")
        try project.write("NAME = $(TARGET_NAME)\n", to: "App/Names.xcconfig")
        #expect(project.findings().filter { $0.check == .entitlement }.map(\.id) == [.entitlementGood])
    }

    @Test func `thousands of includes end: so many files are read, and so many bytes`() throws {
        let project = try PizzaProject()
        try base(project, on: "App/App.xcconfig")
        try project.write(
            String(repeating: "#include? \"None.xcconfig\"\n#include \"Small.xcconfig\"\n", count: 3_000),
            to: "App/App.xcconfig")
        try project.write("NAME = a\n", to: "App/Small.xcconfig")
        let cut = project.findings().filter { $0.id == .projectCut }.map(\.detail)
        #expect(cut.count == 1 && cut[0].hasPrefix("after 2000 files with "), "\(cut)")
        let few = ProjectReader.facts(project.path, mostBytes: 100_000).problems.filter { $0.id == .projectCut }
        #expect(few.count == 1 && few[0].detail != cut[0], "\(few)")
    }
}
