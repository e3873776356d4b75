import JSONText
import SwiftSyntax

/// Reads types from parsed files. Problems are collected, so that one run reports all of them.
struct ContractSource {
    let files: ParsedFiles
    let index: DeclarationIndex
    /// JSON Schemas that the caller gives for types, by name.
    let schemas: [String: JSONValue]
    private(set) var problems: [SourceProblem] = []
    private(set) var warnings: [SourceWarning] = []
    private(set) var definitions: [Instance: Definition] = [:]
    /// The types in order of discovery.
    private(set) var order: [Instance] = []

    init(_ files: ParsedFiles, _ index: DeclarationIndex, schemas: [String: JSONValue]) {
        self.files = files
        self.index = index
        self.schemas = schemas
    }

    mutating func note(_ node: some SyntaxProtocol, _ kind: SourceProblem.Kind) {
        let problem = SourceProblem(place: files.place(of: node), kind: kind)
        if !problems.contains(problem) { problems.append(problem) }
    }

    mutating func note(_ problem: TypeProblem) { note(problem.node, problem.kind) }

    mutating func warn(_ node: some SyntaxProtocol, _ words: String) {
        let warning = SourceWarning(place: files.place(of: node), words: words)
        if !warnings.contains(warning) { warnings.append(warning) }
    }

    /// Largest number of types in a contract, because generic types can nest without end.
    private static let maximumTypes = 1_000
    /// Largest depth of nested generic arguments.
    private static let maximumArgumentDepth = 16

    /// Reads a type and all types that it contains.
    mutating func read(_ start: Instance) {
        var waiting = [start]
        while let next = waiting.popLast() {
            guard definitions[next] == nil else { continue }
            guard order.count < Self.maximumTypes, next.arguments.allSatisfy({ depth($0) < Self.maximumArgumentDepth })
            else {
                note(index.all[next.declaration].node, .endlessGenerics(index.all[next.declaration].name))
                return
            }
            order.append(next)
            // Set before its fields are read, for types that contain themselves.
            definitions[next] = .object([])
            guard let definition = definition(of: next) else { continue }
            definitions[next] = definition
            waiting += definition.shapes.flatMap(instances).reversed()
        }
    }

    private func depth(_ shape: Shape) -> Int {
        switch shape {
        case .scalar, .given: 0
        case .optional(let inner), .array(let inner), .set(let inner), .range(_, let inner): 1 + depth(inner)
        case .dictionary(let key, let value): 1 + max(depth(key), depth(value))
        case .sequence(let shapes): 1 + (shapes.map(depth).max() ?? 0)
        case .named(let instance): 1 + (instance.arguments.map(depth).max() ?? 0)
        }
    }

    private func instances(in shape: Shape) -> [Instance] {
        switch shape {
        case .scalar, .given: []
        case .optional(let inner), .array(let inner), .set(let inner), .range(_, let inner): instances(in: inner)
        case .dictionary(let key, let value): instances(in: key) + instances(in: value)
        case .sequence(let shapes): shapes.flatMap(instances)
        case .named(let instance): [instance]
        }
    }

    /// Returns the scope in which the members of a type look up names.
    func scope(of instance: Instance) -> Scope {
        let names = index.generics(instance.declaration)
        return Scope(
            declaration: instance.declaration,
            // The inner of two parameters with the same name hides the outer.
            parameters: Dictionary(zip(names, instance.arguments), uniquingKeysWith: { $1 }))
    }
}

extension Definition {
    var shapes: [Shape] {
        switch self {
        case .object(let fields): fields.map(\.shape)
        case .cases(let cases): cases.flatMap { $0.fields.map(\.shape) }
        case .raw, .anyRaw, .given: []
        }
    }
}
