import Foundation
import XcodeProjects

/// A reader of the Xcode projects in a folder. It changes nothing and reads nothing outside of the folder.
struct ProjectReader {
    /// Maximum number of reads, because thousands of targets or files that include each other would not end.
    private static let mostReads = 2_000

    private let folder: ProjectFolder
    private let mostBytes: Int
    private var problems: [Finding] = []
    private var reads = 0
    private var bytes = 0
    private var isExhausted = false

    /// Returns the facts about a folder.
    ///
    /// - Parameters:
    ///   - path: A folder, or an .xcodeproj in it.
    ///   - app: Bundle ID of the only app to report.
    ///   - mostBytes: Maximum total size. The file that exceeds it is the last one read.
    static func facts(_ path: String, app: String? = nil, mostBytes: Int = 32 << 20) -> ProjectFacts {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        let named = path.hasSuffix(".xcodeproj") ? URL(fileURLWithPath: path).lastPathComponent : nil
        let base = named == nil ? path : URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard let folder = ProjectFolder(base) else {
            return ProjectFacts(problems: [Finding(.projectAbsent, "there is no folder \(base)")])
        }
        var reader = ProjectReader(folder, mostBytes: mostBytes)
        let apps = reader.apps(named, of: path)
        let chosen = apps.filter { facts in app == nil || facts.app.builds.contains { $0.bundleID == app } }
        if chosen.isEmpty, reader.problems.allSatisfy({ $0.outcome != .failed }) {
            reader.problems.append(
                Finding(.projectWithoutApp, app.map { "no app in \(path) is \($0)" } ?? "there is no app in \(path)"))
        }
        return ProjectFacts(problems: reader.problems, apps: chosen)
    }

    private init(_ folder: ProjectFolder, mostBytes: Int) {
        self.folder = folder
        self.mostBytes = mostBytes
    }

    private mutating func apps(_ named: String?, of path: String) -> [ProjectFacts.AppFacts] {
        let contents = folder.contents()
        let projects = contents.projects.filter { named == nil || $0 == named }
        if contents.isCut, named == nil { problems.append(Finding(.projectCut, path)) }
        if projects.isEmpty { problems.append(Finding(.projectAbsent, "there is no .xcodeproj in \(path)")) }
        for file in contents.privacyManifests { _ = list(file) }
        return projects.flatMap { name -> [ProjectFacts.AppFacts] in
            project(name + "/project.pbxproj").map { apps(in: $0) } ?? []
        }
    }

    // MARK: - Files

    private mutating func data(_ path: String, namedAt place: Finding.Place?) -> Data? {
        let file = ProjectFolder.normal(path) ?? path
        do {
            return try read(file)
        } catch {
            switch error {
            case .absent:
                problem(.projectFileAbsent, "there is no \(file)", at: place ?? Finding.Place(file: file))
            case .outside:
                problem(.projectFileAbsent, "\(path) is outside of the folder", at: place ?? Finding.Place(file: file))
            case .unreadable(let why):
                problem(.projectUnreadable, why, at: Finding.Place(file: file))
            }
        }
        return nil
    }

    /// Reads a file of the folder. Returns `nil` if a limit is reached.
    private mutating func read(_ path: String) throws(ProjectFolder.Failure) -> Data? {
        guard !isExhausted else { return nil }
        guard reads < Self.mostReads, bytes < mostBytes else {
            isExhausted = true
            problems.append(Finding(.projectCut, "after \(reads) files with \(bytes >> 20) MB"))
            return nil
        }
        reads += 1
        let data = try folder.data(path)
        bytes += data.count
        return data
    }

    /// Records a problem once, although several configurations name the same file.
    private mutating func problem(_ id: Finding.ID, _ detail: String, at place: Finding.Place) {
        let isKnown = problems.contains {
            $0.id == id && $0.detail == detail && $0.place?.file == place.file && $0.place?.key == place.key
        }
        if !isKnown { problems.append(Finding(id, detail, at: place)) }
    }

    private mutating func list(_ path: String, namedAt place: Finding.Place? = nil) -> BuildFacts.List {
        guard let data = data(path, namedAt: place) else { return .unread }
        let file = ProjectFolder.normal(path) ?? path
        do {
            return .read(try ListFacts(file: file, data))
        } catch {
            problem(.projectUnreadable, error.what, at: Finding.Place(file: file, line: error.line))
            return .unread
        }
    }

    private mutating func project(_ path: String) -> XcodeProject? {
        guard let data = data(path, namedAt: nil) else { return nil }
        do {
            let isXML = ["bplist", "<?xml", "<!DOCTYPE", "<plist"].contains { data.starts(with: Data($0.utf8)) }
            let list =
                isXML
                ? PropertyValue(try ListFacts(file: path, data).values)
                : try PropertyListReader.read(String(decoding: data, as: UTF8.self), .lenient)
            let project = XcodeProject(path: path, list)
            guard project[project.rootID]?.isa == "PBXProject" else {
                problem(
                    .projectUnreadable,
                    "the file does not describe "
                        + "a project", at: Finding.Place(file: path, line: 1))
                return nil
            }
            return project
        } catch let error as ListFacts.Unread {
            problem(.projectUnreadable, error.what, at: Finding.Place(file: path, line: error.line))
        } catch let error as PropertyListError {
            problem(.projectUnreadable, error.what, at: Finding.Place(file: path, line: error.line))
        } catch {
            problem(.projectUnreadable, "\(error)", at: Finding.Place(file: path))
        }
        return nil
    }

    // MARK: - Targets

    private mutating func apps(in project: XcodeProject) -> [ProjectFacts.AppFacts] {
        var apps: [(target: XcodeProject.Target, facts: ProjectFacts.TargetFacts)] = []
        var widgets: [(target: XcodeProject.Target, facts: ProjectFacts.TargetFacts)] = []
        var isUnread = false
        for target in project.targets {
            guard let role = target.role else { continue }
            let facts = facts(of: target, in: project)
            guard facts.builds.contains(where: \.isForPhones) else { continue }
            switch role {
            case .app: apps.append((target, facts))
            case .extension:
                if facts.builds.contains(where: \.info.isUnread) { isUnread = true }
                if facts.builds.contains(where: \.isWidget) { widgets.append((target, facts)) }
            }
        }
        return apps.map { app in
            let products = project.embedded(in: app.target)
            let own = widgets.filter { products.contains($0.target.object.fields["productReference"]?.text ?? "") }
            return ProjectFacts.AppFacts(
                app: app.facts, widgets: (own.isEmpty ? widgets : own).map(\.facts), carriesWidgets: !own.isEmpty,
                hasUnreadExtension: isUnread)
        }
    }

    private mutating func facts(
        of target: XcodeProject.Target, in project: XcodeProject
    ) -> ProjectFacts.TargetFacts {
        let shared = project.configurations(of: project[project.rootID])
        let builds = project.configurations(of: target.object).map { object -> BuildFacts in
            let name = object.fields["name"]?.text ?? ""
            let layers =
                ([object] + shared.filter { $0.fields["name"]?.text == name }.prefix(1)).flatMap {
                    [Self.settings(of: $0), base(of: $0, in: project)]
                } + [Self.known(target, configuration: name)]
            let settings = BuildSettings(layers, configuration: name)
            var build = BuildFacts(
                file: project.path, line: object.line, configuration: name, settings: settings, info: .unnamed,
                entitlements: .unnamed)
            if target.role == .app || build.isForPhones {
                build.info = list(namedBy: "INFOPLIST_FILE", build, in: project)
                build.entitlements = list(namedBy: "CODE_SIGN_ENTITLEMENTS", build, in: project)
            }
            return build
        }
        return ProjectFacts.TargetFacts(
            file: project.path, name: target.name, line: target.object.line, builds: builds)
    }

    private mutating func list(
        namedBy setting: String, _ build: BuildFacts, in project: XcodeProject
    ) -> BuildFacts.List {
        guard build.settings.isSet(setting) else { return .unnamed }
        guard let path = build.settings.value(setting) else {
            problem(.projectSettingUnknown, "it depends on unknown settings", at: build.place(setting))
            return .unread
        }
        return list(Self.path(path, in: project), namedAt: build.place(setting))
    }

    private static func path(_ path: String, in project: XcodeProject) -> String {
        path.hasPrefix("/") || project.folder.isEmpty ? path : project.folder + "/" + path
    }

    // MARK: - Settings

    /// Returns the settings that Xcode itself defines and that occur in file names.
    private static func known(_ target: XcodeProject.Target, configuration: String) -> [String: String] {
        [
            "CONFIGURATION": configuration, "PRODUCT_NAME": "$(TARGET_NAME)", "PROJECT_DIR": ".", "SOURCE_ROOT": ".",
            "SRCROOT": ".", "TARGET_NAME": target.name,
        ]
    }

    private static func settings(of configuration: XcodeProject.Object) -> [String: String] {
        let entries = configuration.fields["buildSettings"]?.table ?? []
        return Dictionary(
            entries.map { ($0.key, $0.value.text ?? $0.value.list.compactMap(\.text).joined(separator: " ")) },
            uniquingKeysWith: { $1 })
    }

    /// Returns the settings in the file that a configuration is based on.
    private mutating func base(of configuration: XcodeProject.Object, in project: XcodeProject) -> [String: String] {
        let path: String
        if let file = project[configuration.fields["baseConfigurationReference"]?.text] {
            let own = file.fields["path"]?.text ?? ""
            let isOfRoot = file.fields["sourceTree"]?.text == "SOURCE_ROOT"
            path = (isOfRoot ? nil : project.path(of: file)) ?? Self.path(own, in: project)
        } else if let anchor = project[configuration.fields["baseConfigurationReferenceAnchor"]?.text],
            let relative = configuration.fields["baseConfigurationReferenceRelativePath"]?.text
        {
            path = (project.path(of: anchor) ?? project.folder) + "/" + relative
        } else {
            return [:]
        }
        // CocoaPods writes these files, and they are often missing. They set none of the keys that are checked.
        guard !path.split(separator: "/").contains("Pods") else { return [:] }
        let place = Finding.Place(file: project.path, line: configuration.line, key: "baseConfigurationReference")
        return settings(inFile: path, namedAt: place, within: [])
    }

    /// Returns the settings in a file, including those of its includes.
    ///
    /// - Parameters:
    ///   - isOptional: `true` if the file may be missing.
    ///   - within: Files that include this one.
    private mutating func settings(
        inFile path: String, namedAt place: Finding.Place, isOptional: Bool = false, within: [String]
    ) -> [String: String] {
        let file = ProjectFolder.normal(path)
        if let file, within.count >= 8 || within.contains(file) { return [:] }
        let data: Data
        do {
            guard let read = try read(file ?? path) else { return [:] }
            data = read
        } catch {
            if !isOptional {
                problem(.projectSettingUnknown, "\(path) is not in the folder, or cannot be read", at: place)
            }
            return [:]
        }
        var settings: [String: String] = [:]
        for line in SettingsFile.lines(String(decoding: data, as: UTF8.self)) {
            switch line {
            case .setting(let key, let value): settings[key] = value
            case .include(let name, let isOptional):
                guard let file else { continue }
                let beside = (file.split(separator: "/").dropLast() + [Substring(name)]).joined(separator: "/")
                settings.merge(
                    self.settings(
                        inFile: beside, namedAt: Finding.Place(file: file, key: "#include"),
                        isOptional: isOptional || name.contains("Pods/"), within: within + [file])
                ) { $1 }
            }
        }
        return settings
    }
}

extension BuildFacts {
    /// `true` if the target is built for iPhone, and not for a Mac, a watch or a television.
    fileprivate var isForPhones: Bool {
        if let platforms = settings.value("SUPPORTED_PLATFORMS") {
            return platforms.split(separator: " ").contains("iphoneos")
        }
        guard let kit = settings.value("SDKROOT") else { return settings.isSet("IPHONEOS_DEPLOYMENT_TARGET") }
        return kit == "auto" || kit.hasPrefix("iphoneos")
    }

    fileprivate var isWidget: Bool {
        let point = (info.facts?.values["NSExtension"] as? [String: Any])?["NSExtensionPointIdentifier"] as? String
        return point == "com.apple.widgetkit-extension"
    }
}

extension XcodeProject {
    /// Returns the products that a target copies to the folder of extensions.
    fileprivate func embedded(in target: Target) -> Set<String> {
        let copies = objects("buildPhases", of: target.object).filter {
            $0.isa == "PBXCopyFilesBuildPhase"
                && ($0.fields["dstSubfolderSpec"]?.text == "13" || $0.fields["dstSubfolder"]?.text == "PlugIns")
        }
        return Set(copies.flatMap { objects("files", of: $0) }.compactMap { $0.fields["fileRef"]?.text })
    }
}

extension PropertyValue {
    /// Creates a value from a project in XML. Its lines are unknown, so each is line 1.
    fileprivate init(_ value: Any) {
        switch value {
        case let table as [String: Any]:
            self.init(.table(table.sorted { $0.key < $1.key }.map { ($0.key, PropertyValue($0.value)) }), line: 1)
        case let list as [Any]: self.init(.list(list.map { PropertyValue($0) }), line: 1)
        default: self.init(.text(value as? String ?? "\(value)"), line: 1)
        }
    }
}
