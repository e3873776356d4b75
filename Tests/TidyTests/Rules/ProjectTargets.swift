import Foundation
import XcodeProjects

// Rules about the members of a project's targets, and their build settings.
extension ProjectRule {
    /// Returns the folders beside the project whose Swift files belong to a target.
    private static func folders(of role: XcodeProject.Role) -> [String] {
        switch role {
        case .app: ["App", "Shared"]
        case .extension: ["Shared", "Widget"]
        }
    }

    private static func sources(of target: XcodeProject.Target, in project: XcodeProject) -> [(path: String, line: Int)]
    {
        project.buildFiles("PBXSourcesBuildPhase", of: target).map { file in
            let reference = project.objects("fileRef", of: file).first
            return (reference.flatMap { project.path(of: $0) } ?? "", file.line)
        }
    }

    static let members = ProjectRule(description: "Swift files are in the targets of their folder") { project, around in
        let all = around.files.filter { $0.hasPrefix(project.folder + "/") && $0.hasSuffix(".swift") }.sorted()
        func isIn(_ path: String, _ folders: [String]) -> Bool {
            folders.contains { path.hasPrefix("\(project.folder)/\($0)/") }
        }
        let known = Set(project.targets.compactMap(\.role).flatMap(folders))
        let strays = all.filter { !isIn($0, known.sorted()) }.map {
            Finding($0, "lies in no folder of a target", "move it to \(known.sorted().joined(separator: ", "))")
        }
        return strays
            + project.targets.flatMap { target -> [Finding] in
                guard let role = target.role else {
                    return [project.finding(target.object.line, "\(target.name) has an unknown type", "add a role")]
                }
                let has = sources(of: target, in: project)
                let lost = all.filter { path in isIn(path, folders(of: role)) && !has.contains { $0.path == path } }
                    .map { Finding($0, "is not in the target \(target.name)", "add it to the target's sources") }
                let wrong = has.enumerated().filter { index, file in
                    !isIn(file.path, folders(of: role)) || !file.path.hasSuffix(".swift")
                        || has.prefix(index).contains { $0.path == file.path }
                }
                return lost
                    + wrong.map {
                        project.finding(
                            $0.element.line, "\(target.name) must not have \($0.element.path), or not twice",
                            "take it out of the target's sources")
                    }
            }
    }

    // MARK: - Settings

    private static let wanted = [
        "CODE_SIGN_STYLE": "Automatic", "IPHONEOS_DEPLOYMENT_TARGET": "16.2", "SDKROOT": "iphoneos",
        "SWIFT_DEFAULT_ACTOR_ISOLATION": "MainActor", "SWIFT_VERSION": "6.0",
    ]

    static let settings = ProjectRule(description: "configurations have the settings") { project, _ in
        let lists = [project[project.rootID]] + project.targets.map(\.object)
        let unnamed = lists.compactMap(\.self).filter {
            Set(project.configurations(of: $0).map { $0.fields["name"]?.text }) != ["Debug", "Release"]
        }
        let teams = project.objects.compactMap { $0.fields["buildSettings"]?["DEVELOPMENT_TEAM"]?.line }
        return unnamed.map { project.finding($0.line, "has not Debug and Release", "give it both configurations") }
            + teams.map { project.finding($0, "names a team", "leave it out: each has their own") }
            + project.targets.flatMap { target in
                project.configurations(of: target).flatMap { configuration in
                    mistakes(of: configuration, target).map {
                        project.finding(configuration.line, "\(target.name), \(configuration.name): \($0)", "set it")
                    }
                }
            }
    }

    private static func mistakes(
        of configuration: XcodeProject.Configuration, _ target: XcodeProject.Target
    ) -> [String] {
        let wrong = wanted.sorted { $0.key < $1.key }.filter { configuration.settings[$0.key]?.text != $0.value }
            .map { "\($0.key) is not \($0.value)" }
        // The widget's source and the app's each have a `@main` structure, and a target may compile only one of them.
        let conditions = configuration.settings["SWIFT_ACTIVE_COMPILATION_CONDITIONS"]?.text ?? ""
        let isSet = conditions.split(separator: " ").contains("WIDGET_EXTENSION")
        guard isSet != (target.role == .extension) else { return wrong }
        return wrong + ["WIDGET_EXTENSION is \(isSet ? "set" : "not set")"]
    }

    // MARK: - Property lists

    static let propertyLists = ProjectRule(description: "property lists say what iOS asks for") { project, around in
        project.targets.flatMap { target in
            project.configurations(of: target).flatMap { configuration -> [Finding] in
                lists(of: target.role).flatMap { setting, isRight -> [Finding] in
                    let place = "\(target.name), \(configuration.name)"
                    guard let value = configuration.settings[setting], let name = value.text else {
                        return [project.finding(configuration.line, "\(place): has no \(setting)", "name the file")]
                    }
                    let path = "\(project.folder)/\(name)"
                    guard let text = around.text(path) else {
                        return [project.finding(value.line, "\(place): there is no \(path)", "mend \(setting)")]
                    }
                    let list = try? PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
                    guard let list = list as? [String: Any] else {
                        return [Finding(path, "is no property list", "write it as one")]
                    }
                    return isRight(list).map { Finding(path, "does not have \($0)", "add it") }
                }
            }
        }
    }

    /// Returns the settings that name a list, and a check of its content.
    private static func lists(of role: XcodeProject.Role?) -> [(String, ([String: Any]) -> [String])] {
        switch role {
        case .app:
            [
                (
                    "INFOPLIST_FILE",
                    { list in
                        let modes = list["UIBackgroundModes"] as? [String] ?? []
                        return ["NSSupportsLiveActivities", "NSSupportsLiveActivitiesFrequentUpdates"].filter {
                            list[$0] as? Bool != true
                        } + (modes.contains("remote-notification") ? [] : ["UIBackgroundModes remote-notification"])
                    }
                ),
                (
                    "CODE_SIGN_ENTITLEMENTS",
                    { $0["aps-environment"] as? String == "development" ? [] : ["aps-environment"] }
                ),
            ]
        case .extension:
            [
                (
                    "INFOPLIST_FILE",
                    { list in
                        let point = (list["NSExtension"] as? [String: Any])?["NSExtensionPointIdentifier"] as? String
                        return point == "com.apple.widgetkit-extension" ? [] : ["NSExtension of a widget"]
                    }
                )
            ]
        case nil: []
        }
    }

    // MARK: - The package

    /// Returns the only library of the package that a target links.
    private static func product(of role: XcodeProject.Role) -> String {
        switch role {
        case .app: "LiveActivityClient"
        case .extension: "LiveActivityAttributes"
        }
    }

    private static let libraries = Pattern(#"\.library\(\s*name: "(\w+)""#)

    static let products = ProjectRule(description: "targets link libraries of this package") { project, around in
        let there = Set(libraries.matches(in: around.text("Package.swift") ?? "").map(\.text))
        let packages = project.objects.filter { $0.isa == "XCLocalSwiftPackageReference" }
        let outside = packages.filter { root(of: $0, in: project) != "" }.map {
            project.finding($0.line, "the package is not this repository", "mend `relativePath`")
        }
        return outside
            + project.targets.flatMap { target -> [Finding] in
                let named = project.objects("packageProductDependencies", of: target.object)
                let names = named.map { $0.fields["productName"]?.text ?? "" }
                let linked = project.buildFiles("PBXFrameworksBuildPhase", of: target).compactMap {
                    $0.fields["productRef"]?.text
                }
                var findings = names.filter { !there.contains($0) }.map {
                    project.finding(target.object.line, "Package.swift has no library \($0)", "add it to `products`")
                }
                if let role = target.role, names != [product(of: role)] {
                    findings.append(
                        project.finding(
                            target.object.line, "\(target.name) links \(names.joined(separator: ", "))",
                            "link \(product(of: role)) alone"))
                }
                if linked != named.map(\.id) {
                    findings.append(
                        project.finding(
                            target.object.line, "\(target.name) names other libraries than it links",
                            "give each a PBXBuildFile in the frameworks phase"))
                }
                return findings
            }
    }

    /// Returns the folder of a package from the repository's root; `nil` if it is outside.
    private static func root(of package: XcodeProject.Object, in project: XcodeProject) -> String? {
        var parts = project.folder.split(separator: "/").map(String.init)
        for part in (package.fields["relativePath"]?.text ?? "").split(separator: "/") {
            if part == ".." {
                guard parts.popLast() != nil else { return nil }
            } else {
                parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }

    static let imports = ProjectRule(description: "targets import what they link") { project, around in
        let manifest = around.text("Package.swift") ?? ""
        return project.targets.flatMap { target -> [Finding] in
            guard let role = target.role else { return [] }
            let given = modules(of: product(of: role), manifest)
            return sources(of: target, in: project).flatMap { file -> [Finding] in
                guard let text = around.text(file.path) else { return [] }
                return Arrows.imported(by: Source(file.path, text)).filter {
                    around.modules.contains($0.text) && !given.contains($0.text)
                }.map {
                    Finding(
                        file.path, line: $0.line, "imports \($0.text), which \(product(of: role)) does not bring",
                        "import what the target \(target.name) links")
                }
            }
        }
    }

    private static func modules(of product: String, _ manifest: String) -> Set<String> {
        let targets = Pattern(#"\.library\(\s*name: ""# + product + #"",\s*targets: \[([^\]]*)\]"#)
        let names = targets.matches(in: manifest).first?.text ?? ""
        return Set(names.split { !$0.isLetter && !$0.isNumber }.map(String.init))
    }

    // MARK: - Schemes

    private static let buildables = Pattern(#"<BuildableReference([^>]*)>"#)

    static let schemes = ProjectRule(description: "schemes name targets") { project, around in
        let folder = "\(project.folder)/\(project.name)/xcshareddata/xcschemes/"
        let paths = around.files.filter { $0.hasPrefix(folder) && $0.hasSuffix(".xcscheme") }.sorted()
        guard !paths.isEmpty else { return [project.finding(1, "has no shared scheme", "share one")] }
        return paths.flatMap { path -> [Finding] in
            let found = buildables.matches(in: around.text(path) ?? "")
            guard !found.isEmpty else { return [Finding(path, "builds nothing", "name a target")] }
            return found.flatMap { reference -> [Finding] in
                func value(_ name: String) -> String? {
                    Pattern(name + #" = "([^"]*)""#).matches(in: reference.text).first?.text
                }
                let target = project.targets.first { $0.object.id == value("BlueprintIdentifier") }
                let product = target.flatMap { project.objects("productReference", of: $0.object).first }
                let isRight =
                    target != nil && value("BlueprintName") == target?.name
                    && value("BuildableName") == product?.fields["path"]?.text
                    && value("ReferencedContainer") == "container:\(project.name)"
                return isRight
                    ? []
                    : [
                        Finding(
                            path, line: reference.line, "names no target of \(project.name)",
                            "give its id, its name, its product and the project's name")
                    ]
            }
        }
    }
}
