import XcodeProjects

/// Everything around a project that its rules look at.
struct ProjectSurroundings: Sendable {
    /// Every text file of the repository, by its path from the root.
    var files: Set<String>
    /// The modules of the package.
    var modules: Set<String>
    var text: @Sendable (_ path: String) -> String?
}

extension ProjectSurroundings {
    init(_ repository: Repository) {
        files = Set(repository.sources.map(\.path))
        modules = Set(repository.folders(of: "Sources"))
        text = { repository.text(of: $0) }
    }

    func hasFolder(_ path: String) -> Bool { files.contains { $0.hasPrefix(path + "/") } }
}

extension XcodeProject {
    init(_ source: Source) throws(PropertyListError) {
        self.init(path: source.path, try PropertyListReader.read(source.text))
    }

    func finding(_ line: Int, _ what: String, _ remedy: String) -> Finding {
        Finding(path, line: line, what, remedy)
    }
}

/// A rule for an Xcode project. Xcode is not available here, so its errors have to be found without it.
struct ProjectRule: CustomStringConvertible, Sendable {
    let description: String
    let check: @Sendable (XcodeProject, ProjectSurroundings) -> [Finding]

    static let all = [
        references, kinds, files, members, settings, propertyLists, embedding, products, imports, schemes,
    ]
}

// Rules about references between the objects of a project, and to files.
extension ProjectRule {
    static let references = ProjectRule(description: "ids lead somewhere") { project, _ in
        var findings: [Finding] = []
        if project[project.rootID]?.isa != "PBXProject" {
            findings.append(project.finding(1, "rootObject names no PBXProject", "name the project's object"))
        }
        for object in project.objects {
            if !XcodeProject.isID(object.id) {
                findings.append(
                    project.finding(
                        object.line, "\(object.id) is no id", "give the object 24 hexadecimal digits, in capitals"))
            }
            for (id, line) in ids(in: object.fields) where project[id] == nil {
                findings.append(project.finding(line, "\(id) is not defined", "define the object, or do not name it"))
            }
        }
        let reached = reached(from: project.rootID, in: project)
        return findings
            + project.objects.filter { !reached.contains($0.id) }.map {
                project.finding(
                    $0.line, "nothing leads from the project to \($0.id) (\($0.isa))", "name the object, or delete it")
            }
    }

    /// Returns everything that looks like an id, keys of inner tables included.
    private static func ids(in value: PropertyValue, besides left: Set<String> = []) -> [(id: String, line: Int)] {
        switch value.form {
        case .text(let text): XcodeProject.isID(text) ? [(text, value.line)] : []
        case .list(let values): values.flatMap { ids(in: $0, besides: left) }
        case .table(let entries):
            entries.filter { !left.contains($0.key) }.flatMap { key, value in
                (XcodeProject.isID(key) ? [(key, value.line)] : []) + ids(in: value, besides: left)
            }
        }
    }

    /// Returns the objects that are reachable from the root. The project's attributes of targets and the fields of a
    /// proxy do not count as references.
    private static func reached(from root: String, in project: XcodeProject) -> Set<String> {
        var reached: Set<String> = []
        var open = [root]
        while let id = open.popLast() {
            guard let object = project[id], reached.insert(id).inserted else { continue }
            open += ids(in: object.fields, besides: ["attributes", "remoteGlobalIDString", "containerPortal"]).map(\.id)
        }
        return reached
    }

    /// Kinds of objects that a field may name.
    private static let meant: [String: Set<String>] = [
        "buildConfigurationList": ["XCConfigurationList"],
        "buildConfigurations": ["XCBuildConfiguration"],
        "buildPhases": [
            "PBXCopyFilesBuildPhase", "PBXFrameworksBuildPhase", "PBXResourcesBuildPhase", "PBXSourcesBuildPhase",
        ],
        "children": ["PBXFileReference", "PBXGroup"],
        "containerPortal": ["PBXProject"],
        "dependencies": ["PBXTargetDependency"],
        "fileRef": ["PBXFileReference"],
        "files": ["PBXBuildFile"],
        "mainGroup": ["PBXGroup"],
        "package": ["XCLocalSwiftPackageReference"],
        "packageProductDependencies": ["XCSwiftPackageProductDependency"],
        "packageReferences": ["XCLocalSwiftPackageReference"],
        "productRef": ["XCSwiftPackageProductDependency"],
        "productReference": ["PBXFileReference"],
        "productRefGroup": ["PBXGroup"],
        "remoteGlobalIDString": ["PBXNativeTarget"],
        "target": ["PBXNativeTarget"],
        "targetProxy": ["PBXContainerItemProxy"],
        "targets": ["PBXNativeTarget"],
    ]

    static let kinds = ProjectRule(description: "fields name objects of their kind") { project, _ in
        project.objects.flatMap { object in
            object.fields.table.flatMap { field, value -> [Finding] in
                guard let meant = meant[field] else { return [] }
                let values = value.text == nil ? value.list : [value]
                let kinds = meant.sorted().joined(separator: " or ")
                return values.filter { !meant.contains(project[$0.text]?.isa ?? "") }.map {
                    project.finding(
                        $0.line, "`\(field)` names \($0.text ?? "no id"), which is no \(kinds)", "name one that is")
                }
            }
        }
    }

    static let files = ProjectRule(description: "files lie where the groups say") { project, around in
        let products = project.targets.flatMap { project.objects("productReference", of: $0.object) }.map(\.id)
        let main = project[project.rootID]?.fields["mainGroup"]?.text
        return project.objects.filter { ["PBXFileReference", "PBXGroup"].contains($0.isa) }.flatMap {
            object -> [Finding] in
            let count = project.groups(of: object.id).count
            if count != 1, object.id != main {
                return [project.finding(object.line, "\(object.id) is in \(count) groups", "put it into one")]
            }
            if products.contains(object.id), object.fields["sourceTree"]?.text == "BUILT_PRODUCTS_DIR" { return [] }
            guard let path = project.path(of: object) else {
                return [
                    project.finding(
                        object.line, "\(object.id) does not lie in the folder of its group",
                        "give it `sourceTree = \"<group>\"`")
                ]
            }
            let isThere = object.isa == "PBXGroup" ? around.hasFolder(path) : around.files.contains(path)
            return isThere
                ? [] : [project.finding(object.line, "there is no \(path)", "mend the path, or delete the reference")]
        }
    }

    static let embedding = ProjectRule(description: "the app carries its extensions") { project, _ in
        let apps = project.targets.filter { $0.role == .app }
        return project.targets.filter { $0.role == .extension }.flatMap { target -> [Finding] in
            func finding(_ what: String, _ remedy: String) -> Finding {
                project.finding(target.object.line, "\(target.name) \(what)", remedy)
            }
            var findings: [Finding] = []
            let dependencies = apps.flatMap { project.objects("dependencies", of: $0.object) }.filter {
                $0.fields["target"]?.text == target.object.id
                    && project.objects("targetProxy", of: $0).contains {
                        $0.fields["remoteGlobalIDString"]?.text == target.object.id
                            && $0.fields["remoteInfo"]?.text == target.name && $0.fields["proxyType"]?.text == "1"
                    }
            }
            if dependencies.isEmpty {
                findings.append(finding("is no dependency of an app", "add a PBXTargetDependency, with its proxy"))
            }
            let product = target.object.fields["productReference"]?.text
            let copies = apps.flatMap { project.objects("buildPhases", of: $0.object) }.filter {
                $0.isa == "PBXCopyFilesBuildPhase" && $0.fields["dstSubfolderSpec"]?.text == "13"
                    && project.objects("files", of: $0).contains { $0.fields["fileRef"]?.text == product }
            }
            if copies.isEmpty {
                findings.append(
                    finding("is not copied into an app", "add its product to a copy phase with `dstSubfolderSpec = 13`")
                )
            }
            let names = apps.flatMap { identifiers($0, in: project) }
            for name in identifiers(target, in: project) where !names.contains(where: { name.hasPrefix($0 + ".") }) {
                findings.append(finding("has the bundle id \(name)", "begin it with the app's, and a dot"))
            }
            return findings
        }
    }

    private static func identifiers(_ target: XcodeProject.Target, in project: XcodeProject) -> [String] {
        project.configurations(of: target).map { $0.settings["PRODUCT_BUNDLE_IDENTIFIER"]?.text ?? "" }
    }
}
