import JSONText

/// Finds schemas that contain themselves in such a way that they cannot be checked or that nothing fits them.
struct Recursion {
    private let schema: ContractSchema
    private let places: [Int: JSONPointer]

    init(_ schema: ContractSchema, _ places: [JSONPointer: Int]) {
        self.schema = schema
        self.places = Dictionary(places.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first })
    }

    func check() throws(ContractError) {
        for id in schema.nodes.indices { try follow(id) }
        let finite = finiteNodes
        if let endless = schema.nodes.indices.first(where: { !finite.contains($0) && schema.nodes[$0].form != .never }),
            let place = places[endless]
        {
            throw ContractError(place, "no value fits: every value would have to contain another of the same kind")
        }
    }

    /// Throws if a schema refers to itself at the same place of a value. Its check would never end.
    private func follow(_ start: Int) throws(ContractError) {
        var seen: Set<Int> = []
        var next = alternatives(start)
        while let id = next.popLast() {
            guard id != start else {
                throw ContractError(places[start] ?? .root, "the schema refers to itself without a value in between")
            }
            if seen.insert(id).inserted { next += alternatives(id) }
        }
    }

    private func alternatives(_ id: Int) -> [Int] {
        switch schema.nodes[id].form {
        case .direct, .never: []
        case .reference(let target): [target]
        case .anyOf(let branches), .oneOf(let branches): branches
        }
    }

    /// Schemas that some value of finite depth fits, found from the leaves up.
    private var finiteNodes: Set<Int> {
        var finite: Set<Int> = []
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            for (id, node) in schema.nodes.enumerated() where !finite.contains(id) && isFinite(node, finite) {
                finite.insert(id)
                hasGrown = true
            }
        }
        return finite
    }

    private func isFinite(_ node: SchemaNode, _ finite: Set<Int>) -> Bool {
        switch node.form {
        case .never: return false
        case .reference(let target): return finite.contains(target)
        case .anyOf(let branches), .oneOf(let branches): return branches.contains(where: finite.contains)
        case .direct: break
        }
        let types = node.types ?? node.swift?.jsonTypes ?? [.null]
        if types.contains(where: { $0 != .object && $0 != .array }) { return true }
        if types.contains(.object) {
            let cases = node.swift == .cases ? node.properties.values.contains(where: finite.contains) : true
            if cases, node.required.allSatisfy({ node.properties[$0].map(finite.contains) ?? true }) { return true }
        }
        guard types.contains(.array) else { return false }
        let least = node.itemCount.minimum
        return node.prefix.prefix(least).allSatisfy(finite.contains)
            && (least <= node.prefix.count || node.items.map(finite.contains) ?? true)
    }
}

extension ContractSchema {
    /// Returns whether an object can fit a schema.
    func takesObjects(_ id: Int) -> Bool {
        let node = nodes[id]
        return switch node.form {
        case .never: false
        case .reference(let target): takesObjects(target)
        case .anyOf(let branches), .oneOf(let branches): branches.contains(where: takesObjects)
        case .direct: (node.types ?? node.swift?.jsonTypes ?? [.object]).contains(.object)
        }
    }
}
