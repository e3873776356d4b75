import JSONText

/// A JSON Schema as it is checked: read once, when the contract is. Schemas lie in one array and name each other by
/// their places in it, so that one may contain itself.
struct ContractSchema: Sendable, Equatable {
    var nodes: [SchemaNode]
    let root: Int

    /// The schema that says what stands at a place of the document, where one way leads there.
    func node(at pointer: JSONPointer) -> SchemaNode? {
        var node = resolved(root)
        for token in pointer.tokens {
            guard let next = node.properties[token] else { return nil }
            node = resolved(next)
        }
        return node
    }

    /// Behind references; no reference leads in a circle.
    func resolved(_ id: Int) -> SchemaNode {
        var node = nodes[id]
        while case .reference(let target) = node.form { node = nodes[target] }
        return node
    }
}

/// One schema.
struct SchemaNode: Sendable, Equatable {
    enum Form: Sendable, Equatable {
        /// What the keywords below say.
        case direct
        /// `false`: nothing fits.
        case never
        case reference(Int)
        case anyOf([Int])
        case oneOf([Int])
    }

    enum Additional: Sendable, Equatable {
        case allowed
        case refused
        case schema(Int)
    }

    var form = Form.direct
    /// `nil`: any type.
    var types: Set<JSONType>?
    var swift: SwiftType?
    /// What `enum` lists.
    var values: [JSONValue]?
    var constant: JSONValue?

    var properties: [String: Int] = [:]
    /// The names of the properties in the order of the contract: for messages.
    var names: [String] = []
    var required: [String] = []
    var additional = Additional.allowed
    var memberCount = Bounds()

    var prefix: [Int] = []
    var items: Int?
    var itemCount = Bounds()
    var areItemsUnique = false

    var length = Bounds()

    var minimum: JSONNumber?
    var maximum: JSONNumber?
    var exclusiveMinimum: JSONNumber?
    var exclusiveMaximum: JSONNumber?

    /// How many there may be.
    struct Bounds: Sendable, Equatable {
        var minimum = 0
        var maximum = Int.max

        func words(_ one: String, _ many: String) -> String {
            func count(_ number: Int) -> String { "\(number) \(number == 1 ? one : many)" }
            if minimum == maximum { return "exactly \(count(minimum))" }
            if maximum == Int.max { return "at least \(count(minimum))" }
            return minimum == 0 ? "at most \(count(maximum))" : "\(minimum) to \(count(maximum))"
        }

        func contains(_ number: Int) -> Bool { number >= minimum && number <= maximum }
    }

    /// Whether `null` may stand here: a Swift type that is not optional has none.
    var takesNull: Bool { types?.contains(.null) ?? (swift == nil) }

    /// A Swift struct, which passes over members that it does not have; not a dictionary.
    var isStruct: Bool {
        if case .schema = additional { return false }
        return !properties.isEmpty
    }
}
