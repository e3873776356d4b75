import Testing
import XcodeProjects

/// Rules for `Examples/PizzaApp/PizzaApp.xcodeproj` as far as they can be checked without Xcode. Each rule is also
/// tested on a project that breaks it.
struct ProjectTests {
    private static let path = "Examples/PizzaApp/PizzaApp.xcodeproj/project.pbxproj"
    private static let scheme = "Examples/PizzaApp/PizzaApp.xcodeproj/xcshareddata/xcschemes/PizzaApp.xcscheme"
    private static let surroundings = ProjectSurroundings(Repository.here)

    @Test(arguments: ProjectRule.all) func `the project keeps to the rule`(_ rule: ProjectRule) throws {
        let project = try XcodeProject(Source(Self.path, try #require(Self.surroundings.text(Self.path))))
        let findings = rule.check(project, Self.surroundings).sorted().map(\.description).joined(separator: "\n")
        #expect(findings.isEmpty, "\(findings)")
    }

    // MARK: - Broken projects

    /// A change to one file, and a part of the rule's finding.
    struct Broken: CustomStringConvertible, Sendable {
        let rule: ProjectRule
        let file: String
        let old: String
        let new: String
        let says: String

        init(_ rule: ProjectRule, _ old: String, _ new: String, in file: String = path, _ says: String) {
            (self.rule, self.file, self.old, self.new, self.says) = (rule, file, old, new, says)
        }

        var description: String { "\(rule.description): \(says)" }
    }

    private static let manifest = "Package.swift"
    private static let appList = "Examples/PizzaApp/App/Info.plist"
    private static let widgetList = "Examples/PizzaApp/Widget/Info.plist"
    private static let entitlements = "Examples/PizzaApp/App/PizzaApp.entitlements"
    private static let shared = "Examples/PizzaApp/Shared/OrderTrackingAttributes.swift"

    static let broken: [Broken] = [
        Broken(.references, "rootObject = 151E701", "rootObject = 151E702", "rootObject names no PBXProject"),
        Broken(.references, "fileRef = 151E70300000000000000001", "fileRef = 151E70300000000000000099", "not defined"),
        Broken(
            .references, "151E70400000000000000002 = {", "151E70400000000000000099 = {",
            "151E70400000000000000099 is not defined"),
        Broken(.references, "remoteGlobalIDString = 151E704", "remoteGlobalIDString = 151E70F", "is not defined"),
        Broken(.references, "\t\t\t\t151E70700000000000000002 /* PBXTargetDependency */,\n", "", "nothing leads"),
        Broken(.references, "\t\t151E70700000000000000001 /*", "\t\t151e70700000000000000001 /*", "is no id"),
        Broken(.kinds, "fileRef = 151E70300000000000000001", "fileRef = 151E70200000000000000002", "PBXFileReference"),
        Broken(.kinds, "mainGroup = 151E70200000000000000001", "mainGroup = Main", "`mainGroup` names Main"),
        Broken(.files, "path = Backend.swift", "path = Backends.swift", "there is no Examples/PizzaApp/App/Backends"),
        Broken(.files, "path = Widget;", "path = Widgets;", "there is no Examples/PizzaApp/Widgets"),
        Broken(.files, "\t\t\t\t151E70300000000000000006 /* PizzaApp.entitlements */,\n", "", "is in 0 groups"),
        Broken(
            .files, "path = Orders.swift; sourceTree = \"<group>\"", "path = Orders.swift; sourceTree = SOURCE_ROOT",
            "does not lie"),
        Broken(
            .members, "\t\t\t\t151E70600000000000000006 /* OrderTrackingAttributes.swift in Sources */,\n", "",
            "OrderTrackingAttributes.swift:1: is not in the target PizzaWidgets"),
        Broken(
            .members, "\t\t\t\t151E70600000000000000007 ", "\t\t\t\t151E70600000000000000003 ",
            "PizzaWidgets must not have Examples/PizzaApp/App/Orders.swift"),
        Broken(
            .members, "\t\t\t\t151E70600000000000000002 ", "\t\t\t\t151E70600000000000000001 ",
            "PizzaApp must not have Examples/PizzaApp/App/Backend.swift, or not twice"),
        Broken(
            .members, "fileRef = 151E70300000000000000004", "fileRef = 151E70300000000000000005",
            "PizzaApp must not have Examples/PizzaApp/App/Info.plist"),
        Broken(.members, "product-type.application\"", "product-type.tool\"", "PizzaApp has an unknown type"),
        Broken(.settings, "SWIFT_VERSION = 6.0;", "SWIFT_VERSION = 5.0;", "PizzaApp, Debug: SWIFT_VERSION"),
        Broken(.settings, "IPHONEOS_DEPLOYMENT_TARGET = 16.2;", "", "IPHONEOS_DEPLOYMENT_TARGET is not 16.2"),
        Broken(
            .settings, "CODE_SIGN_STYLE = Automatic;", "CODE_SIGN_STYLE = Automatic; DEVELOPMENT_TEAM = ABCDE12345;",
            "names a team"),
        Broken(.settings, "(inherited) WIDGET_EXTENSION", "(inherited)", "WIDGET_EXTENSION is not set"),
        Broken(.settings, "DEBUG $(inherited)", "DEBUG WIDGET_EXTENSION", "WIDGET_EXTENSION is set"),
        Broken(.settings, "\t\t\tname = Release;", "\t\t\tname = Beta;", "has not Debug and Release"),
        Broken(.propertyLists, "INFOPLIST_FILE = App/Info.plist;", "", "PizzaApp, Debug: has no INFOPLIST_FILE"),
        Broken(.propertyLists, "= Widget/Info.plist", "= Info.plist", "there is no Examples/PizzaApp/Info.plist"),
        Broken(.propertyLists, "= App/PizzaApp.entitlements", "= App/A.entitlements", "mend CODE_SIGN_ENTITLEMENTS"),
        Broken(.propertyLists, "</plist>", "", in: appList, "is no property list"),
        Broken(
            .propertyLists, "<key>NSSupportsLiveActivities</key>\n\t<true/>",
            "<key>NSSupportsLiveActivities</key>\n\t<false/>", in: appList, "does not have NSSupportsLiveActivities"),
        Broken(.propertyLists, "FrequentUpdates", "Frequently", in: appList, "LiveActivitiesFrequentUpdates"),
        Broken(.propertyLists, "remote-notification", "fetch", in: appList, "UIBackgroundModes remote-notification"),
        Broken(.propertyLists, "widgetkit-", "intents-", in: widgetList, "does not have NSExtension"),
        Broken(.propertyLists, "aps-environment", "environment", in: entitlements, "does not have aps-environment"),
        Broken(
            .embedding, "\t\t\t\t151E70700000000000000002 /* PBXTargetDependency */,\n", "",
            "is no dependency of an app"),
        Broken(.embedding, "remoteInfo = PizzaWidgets", "remoteInfo = PizzaWidget", "is no dependency of an app"),
        Broken(.embedding, "dstSubfolderSpec = 13", "dstSubfolderSpec = 10", "is not copied into an app"),
        Broken(.embedding, "fileRef = 151E70300000000000000012", "fileRef = 151E70300000000000000011", "is not copied"),
        Broken(.embedding, "IDENTIFIER).widgets", "IDENTIFIER)-widgets", "has the bundle id"),
        Broken(.products, "productName = LiveActivityClient", "productName = LiveClient", "no library LiveClient"),
        Broken(.products, "\"LiveActivityClient\"", "\"Client\"", in: manifest, "no library LiveActivityClient"),
        Broken(.products, "\t\t\t\t151E70900000000000000003 /", "\t\t\t\t151E70900000000000000002 /", "alone"),
        Broken(.products, "productRef = 151E70900000000000000002", "productRef = 1", "other libraries than it links"),
        Broken(.products, "relativePath = ../..", "relativePath = ../../..", "is not this repository"),
        Broken(.products, "relativePath = ../..", "relativePath = ../../Tools", "is not this repository"),
        Broken(
            .imports, "import Live", "import APNSClient\nimport Live", in: shared,
            "imports APNSClient, which LiveActivityAttributes does not bring"),
        Broken(.schemes, "= \"151E704", "= \"151E705", in: scheme, "names no target"),
        Broken(.schemes, "BlueprintName = \"PizzaApp\"", "BlueprintName = \"Pizza\"", in: scheme, "names no target"),
        Broken(.schemes, "\"PizzaApp.app\"", "\"Pizza.app\"", in: scheme, "names no target"),
        Broken(.schemes, "container:PizzaApp", "container:Pizza", in: scheme, "names no target"),
        Broken(.schemes, "<BuildableReference", "<Reference", in: scheme, "builds nothing"),
    ]

    @Test(arguments: broken) func `a broken project is found`(_ broken: Broken) throws {
        let text = try #require(Self.surroundings.text(broken.file))
        try #require(text.contains(broken.old), "the project has changed: `\(broken.old)`")
        let changed = text.replacingAll(broken.old, by: broken.new)
        var around = Self.surroundings
        around.text = { $0 == broken.file ? changed : Self.surroundings.text($0) }
        let project = try XcodeProject(Source(Self.path, try #require(around.text(Self.path))))
        let findings = broken.rule.check(project, around).map(\.description)
        #expect(findings.contains { $0.contains(broken.says) }, "\(findings.joined(separator: "\n"))")
    }

    @Test func `every rule has a broken project`() {
        #expect(Set(Self.broken.map(\.rule.description)) == Set(ProjectRule.all.map(\.description)))
    }

    @Test func `a file that nobody has, and a scheme that nobody shares, are found`() throws {
        let project = try XcodeProject(Source(Self.path, try #require(Self.surroundings.text(Self.path))))
        var around = Self.surroundings
        around.files.insert("Examples/PizzaApp/App/New.swift")
        around.files.insert("Examples/PizzaApp/New/New.swift")
        around.files.remove(Self.scheme)
        let members = ProjectRule.members.check(project, around).map(\.path)
        #expect(members.sorted() == ["Examples/PizzaApp/App/New.swift", "Examples/PizzaApp/New/New.swift"])
        #expect(ProjectRule.schemes.check(project, around).map(\.what) == ["has no shared scheme"])
    }
}

/// The parser of property lists.
struct PropertyListTests {
    @Test func `texts, lists and tables are read, with their lines`() throws {
        let list = try PropertyListReader.read(
            """
            // !$*UTF8*$!
            {
            \ta = b.c/d_$:1 /* a word */;
            \t"e f" = "g \\"h\\" \\\\ \\n";
            \ti = (1, "j", (), {}, );
            }
            """)
        #expect(list.line == 2 && list.table.map(\.key) == ["a", "e f", "i"])
        #expect(list["a"]?.text == "b.c/d_$:1" && list["a"]?.line == 3)
        #expect(list["e f"]?.text == "g \"h\" \\ \n")
        #expect(list["i"]?.list.map(\.text) == ["1", "j", nil, nil] && list["i"]?.list.map(\.line) == [5, 5, 5, 5])
        #expect(list["k"] == nil && list["a"]?.list.isEmpty == true && list["a"]?.table.isEmpty == true)
    }

    @Test(arguments: [
        ("{\na = b\n}", 3, "`;` is missing after the value of a"), ("{\na b;\n}", 2, "`=` is missing after the key a"),
        ("{\na = (\nb\nc);\n}", 4, "`,` is missing after a value of a list"), ("{\n", 2, "the list has no end"),
        ("{ a = b;\na = c; }", 2, "the key a appears twice"), ("{\n} x", 2, "text follows the end of the list"),
        ("{\n/* a\n}", 2, "a comment has no end"), ("{\na = \"b;\n}", 2, "a quoted text has no end"),
        ("{ a = b-c; }", 1, "`;` is missing after the value of a"), ("{ a = ; }", 1, "`;` is not expected here"),
        ("{ a = <00>; }", 1, "`<` is not expected here"), ("{ a = (,); }", 1, "`,` is not expected here"),
        ("{ a = \"\\q\"; }", 1, #"only \\, \", \n and \t may follow a backslash"#), ("", 1, "the list has no end"),
    ])
    func `a mistake is an error with its line`(text: String, line: Int, what: String) {
        #expect(throws: PropertyListError(line: line, what: what)) { try PropertyListReader.read(text) }
    }
}

extension String {
    fileprivate func replacingAll(_ old: String, by new: String) -> String {
        var (text, rest) = ("", self[...])
        while let range = rest.firstRange(of: old) {
            text += rest[..<range.lowerBound] + new
            rest = rest[range.upperBound...]
        }
        return text + rest
    }
}
