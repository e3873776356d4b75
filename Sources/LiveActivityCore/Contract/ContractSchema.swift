import JSONText

/// JSON Schema in checkable form, read once with its contract.
///
/// Schemas are in one array and refer to each other by index, so that a schema may contain itself.
struct ContractSchema: Sendable, Equatable {
    var nodes: [SchemaNode]
    let root: Int

    /// Returns the schema of the value at a place of the document; `nil` if no chain of properties reaches it.
    func node(at pointer: JSONPointer) -> SchemaNode? {
        var node = resolved(root)
        for token in pointer.tokens {
            guard let next = node.properties[token] else { return nil }
            node = resolved(next)
        }
        return node
    }

    /// Returns the schema behind any references. References never form a cycle.
    func resolved(_ id: Int) -> SchemaNode {
        var node = nodes[id]
        while case .reference(let target) = node.form { node = nodes[target] }
        return node
    }
}

struct SchemaNode: Sendable, Equatable {
    enum Form: Sendable, Equatable {
        /// The value is checked against the keywords below.
        case direct
        /// The schema `false`, which nothing fits.
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
    /// Accepted types; `nil` if all are.
    var types: Set<JSONType>?
    var swift: SwiftType?
    /// Values that `enum` lists.
    var values: [JSONValue]?
    var constant: JSONValue?

    var properties: [String: Int] = [:]
    /// Names of the properties in the contract's order, for messages.
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

    /// Range of an accepted count.
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

    /// `true` if `null` fits. It does not fit a Swift type that is not optional.
    var takesNull: Bool { types?.contains(.null) ?? (swift == nil) }

    /// `true` if the schema describes a Swift struct, which ignores unknown members, and not a dictionary.
    var isStruct: Bool {
        if case .schema = additional { return false }
        return !properties.isEmpty
    }
}
