/// A project of Xcode: objects that name each other by ids of 24 hexadecimal digits.
struct XcodeProject {
    struct Object: Sendable {
        let id: String
        let fields: PropertyValue

        var isa: String { fields["isa"]?.text ?? "" }
        var line: Int { fields.line }
    }

    /// Of `project.pbxproj`, from the repository's root.
    let path: String
    let rootID: String
    let objects: [Object]
    private let byID: [String: Object]

    init(_ source: Source) throws(PropertyListError) {
        let list = try PropertyListReader.read(source.text)
        path = source.path
        rootID = list["rootObject"]?.text ?? ""
        let objects = list["objects"]?.table.map { Object(id: $0.key, fields: $0.value) } ?? []
        self.objects = objects
        byID = Dictionary(objects.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Where the project lies, and what its paths begin at.
    var folder: String { path.split(separator: "/").dropLast(2).joined(separator: "/") }
    /// `PizzaApp.xcodeproj`
    var name: String { path.split(separator: "/").dropLast().last.map(String.init) ?? "" }

    subscript(id: String?) -> Object? { id.flatMap { byID[$0] } }

    /// What a field names: one object, or each of a list.
    func objects(_ field: String, of object: Object?) -> [Object] {
        guard let value = object?.fields[field] else { return [] }
        return (value.list + [value]).compactMap { self[$0.text] }
    }

    func finding(_ line: Int, _ what: String, _ remedy: String) -> Finding {
        Finding(path, line: line, what, remedy)
    }

    // MARK: - Targets

    enum Role: String {
        case app = "com.apple.product-type.application"
        case `extension` = "com.apple.product-type.app-extension"
    }

    struct Target {
        let object: Object
        let name: String
        /// `nil`: none that the rules know.
        let role: Role?
    }

    var targets: [Target] {
        objects("targets", of: self[rootID]).map { object in
            Target(
                object: object, name: object.fields["name"]?.text ?? "",
                role: object.fields["productType"]?.text.flatMap(Role.init(rawValue:)))
        }
    }

    /// What the phases of a kind take in.
    func buildFiles(_ phase: String, of target: Target) -> [Object] {
        objects("buildPhases", of: target.object).filter { $0.isa == phase }.flatMap { objects("files", of: $0) }
    }

    struct Configuration {
        let name: String
        let line: Int
        /// The target's own over those of the project.
        let settings: [String: PropertyValue]
    }

    /// One for each configuration that the target has.
    func configurations(of target: Target) -> [Configuration] {
        let shared = Self.named(configurations(of: self[rootID]))
        return configurations(of: target.object).map { object in
            let name = object.fields["name"]?.text ?? ""
            let inherited = shared[name].map(Self.settings) ?? [:]
            return Configuration(
                name: name, line: object.line, settings: inherited.merging(Self.settings(of: object)) { $1 })
        }
    }

    func configurations(of object: Object?) -> [Object] {
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

    /// Where the groups that it is in put a group or a file; `nil`: in no group, or elsewhere than in its folder.
    func path(of object: Object) -> String? {
        guard object.fields["sourceTree"]?.text == "<group>" else { return nil }
        let own = object.fields["path"]?.text.map { [$0] } ?? []
        guard object.id != self[rootID]?.fields["mainGroup"]?.text else {
            return ([folder] + own).joined(separator: "/")
        }
        guard let parent = groups(of: object.id).first, let above = path(of: parent) else { return nil }
        return ([above] + own).joined(separator: "/")
    }

    func groups(of id: String) -> [Object] {
        objects.filter { $0.isa == "PBXGroup" && $0.fields["children"]?.list.contains { $0.text == id } == true }
    }

    static func isID(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (48...57).contains($0) || (65...70).contains($0) }
    }
}
