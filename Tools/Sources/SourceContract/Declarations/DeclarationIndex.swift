import SwiftSyntax

/// All types of all files, by the place of their declaration.
struct DeclarationIndex {
    private(set) var all: [Declaration] = []
    private(set) var top: [String: [Int]] = [:]
    private var extensions: [(node: ExtensionDeclSyntax, condition: Syntax?)] = []

    init(_ trees: [SourceFileSyntax]) {
        for tree in trees { collect(tree.statements.map { Syntax($0.item) }, in: nil, isExtension: false, nil) }
        takeExtensions()
    }

    // MARK: - Collecting

    private mutating func collect(_ items: [Syntax], in parent: Int?, isExtension: Bool, _ condition: Syntax?) {
        for item in items {
            if let directive = item.as(IfConfigDeclSyntax.self) {
                collect(directive, in: parent, isExtension: isExtension, condition)
            } else if let node = item.as(ExtensionDeclSyntax.self) {
                extensions.append((node, condition))
            } else if let node = item.as(DeclSyntax.self) {
                collect(node, in: parent, isExtension: isExtension, condition)
            }
        }
    }

    private mutating func collect(
        _ directive: IfConfigDeclSyntax, in parent: Int?, isExtension: Bool, _ condition: Syntax?
    ) {
        let (isDecided, clause) = Condition.clause(of: directive)
        let clauses = isDecided ? [clause].compactMap { $0 } : Array(directive.clauses)
        for clause in clauses {
            let items: [Syntax] =
                switch clause.elements {
                case .statements(let list): list.map { Syntax($0.item) }
                case .decls(let list): list.map { Syntax($0.decl) }
                default: []
                }
            collect(items, in: parent, isExtension: isExtension, isDecided ? condition : Syntax(directive))
        }
    }

    private mutating func collect(_ node: DeclSyntax, in parent: Int?, isExtension: Bool, _ condition: Syntax?) {
        if let parent {
            all[parent].members.append(
                Declaration.Member(node: node, isInExtension: isExtension, condition: condition))
        }
        guard var declaration = Declaration(node, parent: parent, condition: condition) else { return }
        declaration.isInExtension = isExtension
        let id = add(declaration)
        guard let group = node.asProtocol((any DeclGroupSyntax).self) else { return }
        collect(group.memberBlock.members.map { Syntax($0.decl) }, in: id, isExtension: false, condition)
    }

    private mutating func add(_ declaration: Declaration) -> Int {
        let id = all.count
        all.append(declaration)
        if let parent = declaration.parent {
            all[parent].children[declaration.name, default: []].append(id)
        } else {
            top[declaration.name, default: []].append(id)
        }
        return id
    }

    // MARK: - Extensions

    /// Applies extensions. An extension may extend a type that another extension declares, so they are applied until
    /// none is left that can be.
    private mutating func takeExtensions() {
        var isLast = false
        while !extensions.isEmpty {
            let waiting = extensions
            extensions = []
            var left: [(node: ExtensionDeclSyntax, condition: Syntax?)] = []
            for (node, condition) in waiting {
                let names = node.extendedType.pathNames
                if let id = find(names, from: node) ?? (isLast ? foreign(names, node) : nil) {
                    take(node, condition, into: id)
                } else {
                    left.append((node, condition))
                }
            }
            isLast = left.count == waiting.count
            extensions += left
        }
    }

    private mutating func take(_ node: ExtensionDeclSyntax, _ condition: Syntax?, into id: Int) {
        all[id].inherited += node.inheritanceClause?.inheritedTypes.map(\.type) ?? []
        collect(node.memberBlock.members.map { Syntax($0.decl) }, in: id, isExtension: true, condition)
    }

    private mutating func foreign(_ names: [String], _ node: ExtensionDeclSyntax) -> Int {
        let hasModule = names.count > 1 && StandardTypes.modules.contains(names[0])
        let name = names.dropFirst(hasModule ? 1 : 0).joined(separator: ".")
        if let known = top[name]?.first(where: { all[$0].kind == .foreign }) { return known }
        return add(
            Declaration(
                kind: .foreign, name: name, parent: nil, node: DeclSyntax(node), isPrivate: false, generics: [],
                condition: nil))
    }

    private func find(_ names: [String], from node: ExtensionDeclSyntax) -> Int? {
        guard let first = names.first, var id = visible(top[first] ?? [], from: Syntax(node)).first else { return nil }
        for name in names.dropFirst() {
            guard let next = visible(all[unaliased(id)].children[name] ?? [], from: Syntax(node)).first else {
                return nil
            }
            id = next
        }
        let found = unaliased(id)
        return all[found].kind == .alias ? nil : found
    }

    /// Returns the type of these files that a plain alias stands for.
    private func unaliased(_ id: Int) -> Int {
        var id = id
        for _ in 0..<8 {
            guard let alias = all[id].node.as(TypeAliasDeclSyntax.self) else { return id }
            let names = alias.initializer.value.pathNames
            guard let first = names.first else { return id }
            let near = all[id].parent.flatMap { all[$0].children[first] } ?? []
            guard var next = (near.isEmpty ? top[first] ?? [] : near).first(where: { $0 != id }) else { return id }
            for name in names.dropFirst() {
                guard let child = all[next].children[name]?.first else { return id }
                next = child
            }
            id = next
        }
        return id
    }

    // MARK: - Looking up

    /// Returns the declarations that are visible in a node's file. A file's own private types hide those of other
    /// files.
    func visible(_ ids: [Int], from node: Syntax) -> [Int] {
        let seen = ids.filter { !all[$0].isPrivate || all[$0].node.root.id == node.root.id }
        let own = seen.filter { all[$0].isPrivate }
        return own.isEmpty ? seen : own
    }

    func path(_ id: Int) -> [String] { (all[id].parent.map(path) ?? []) + [all[id].name] }

    /// Returns the names of the generic parameters of a type and of the types around it, the outermost first.
    func generics(_ id: Int) -> [String] { (all[id].parent.map(generics) ?? []) + all[id].generics }
}

extension TypeSyntax {
    /// The names in `A.B.C`, without generic arguments; empty for any other type.
    var pathNames: [String] {
        if let type = self.as(IdentifierTypeSyntax.self) { return [type.name.plainText] }
        if let type = self.as(MemberTypeSyntax.self) {
            let base = type.baseType.pathNames
            return base.isEmpty ? [] : base + [type.name.plainText]
        }
        if let type = self.as(AttributedTypeSyntax.self) { return type.baseType.pathNames }
        return []
    }

    /// The protocols and the class that an inherited type names, with compositions split.
    var inheritedTypes: [TypeSyntax] {
        if let type = self.as(CompositionTypeSyntax.self) { return type.elements.flatMap(\.type.inheritedTypes) }
        if let type = self.as(AttributedTypeSyntax.self) { return type.baseType.inheritedTypes }
        if let type = self.as(TupleTypeSyntax.self), type.elements.count == 1 {
            return type.elements.flatMap(\.type.inheritedTypes)
        }
        return [self]
    }
}
