/// An Xcode project: objects that refer to each other by ids of 24 hexadecimal digits.
package struct XcodeProject: Sendable {
    package struct Object: Sendable {
        package let id: String
        package let fields: PropertyValue

        package var isa: String { fields["isa"]?.text ?? "" }
        package var line: Int { fields.line }
    }

    /// Path of `project.pbxproj`, relative to the folder that all paths start from.
    package let path: String
    package let rootID: String
    package let objects: [Object]
    private let byID: [String: Object]

    /// Creates a project.
    ///
    /// - Parameters:
    ///   - path: Path of `project.pbxproj`.
    ///   - list: Contents of that file.
    package init(path: String, _ list: PropertyValue) {
        self.path = path
        rootID = list["rootObject"]?.text ?? ""
        let objects = list["objects"]?.table.map { Object(id: $0.key, fields: $0.value) } ?? []
        self.objects = objects
        byID = Dictionary(objects.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Folder of the project, where the paths of its files begin.
    package var folder: String { path.split(separator: "/").dropLast(2).joined(separator: "/") }
    /// Name of the project's folder, such as `PizzaApp.xcodeproj`.
    package var name: String { path.split(separator: "/").dropLast().last.map(String.init) ?? "" }

    package subscript(id: String?) -> Object? { id.flatMap { byID[$0] } }

    /// Returns the object that a field refers to, or each object of a list.
    package func objects(_ field: String, of object: Object?) -> [Object] {
        guard let value = object?.fields[field] else { return [] }
        return (value.list + [value]).compactMap { self[$0.text] }
    }

    // MARK: - Targets

    package enum Role: String, Sendable {
        case app = "com.apple.product-type.application"
        case `extension` = "com.apple.product-type.app-extension"
    }

    package struct Target: Sendable {
        package let object: Object
        package let name: String
        /// Role by product type; `nil` for a product type without rules.
        package let role: Role?
    }

    package var targets: [Target] {
        objects("targets", of: self[rootID]).map { object in
            Target(
                object: object, name: object.fields["name"]?.text ?? "",
                role: object.fields["productType"]?.text.flatMap(Role.init(rawValue:)))
        }
    }

    /// Returns the files in all build phases of one kind.
    package func buildFiles(_ phase: String, of target: Target) -> [Object] {
        objects("buildPhases", of: target.object).filter { $0.isa == phase }.flatMap { objects("files", of: $0) }
    }

    package struct Configuration: Sendable {
        package let name: String
        package let line: Int
        /// Settings of the target, merged over those of the project.
        package let settings: [String: PropertyValue]
    }

    /// Returns one configuration for each that the target has.
    package func configurations(of target: Target) -> [Configuration] {
        let shared = Self.named(configurations(of: self[rootID]))
        return configurations(of: target.object).map { object in
            let name = object.fields["name"]?.text ?? ""
            let inherited = shared[name].map(Self.settings) ?? [:]
            return Configuration(
                name: name, line: object.line, settings: inherited.merging(Self.settings(of: object)) { $1 })
        }
    }

    package func configurations(of object: Object?) -> [Object] {
        objects("buildConfigurations", of: objects("buildConfigurationList", of: object).first)
    }

    private static func named(_ objects: [Object]) -> [String: Object] {
        Dictionary(objects.map { ($0.fields["name"]?.text ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func settings(of object: Object) -> [String: PropertyValue] {
        let entries = object.fields["buildSettings"]?.table ?? []
        return Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: - Paths

    /// Returns the path of a group or a file, or `nil` if it is in no group or not relative to its group.
    package func path(of object: Object) -> String? {
        var parts: [String] = []
        var object = object
        var passed: Set<String> = []
        while passed.insert(object.id).inserted, object.fields["sourceTree"]?.text == "<group>" {
            if let own = object.fields["path"]?.text { parts.append(own) }
            if object.id == self[rootID]?.fields["mainGroup"]?.text {
                return ([folder] + parts.reversed()).filter { !$0.isEmpty }.joined(separator: "/")
            }
            guard let parent = groups(of: object.id).first else { return nil }
            object = parent
        }
        return nil
    }

    package func groups(of id: String) -> [Object] {
        objects.filter { $0.isa == "PBXGroup" && $0.fields["children"]?.list.contains { $0.text == id } == true }
    }

    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (48...57).contains($0) || (65...70).contains($0) }
    }
}
