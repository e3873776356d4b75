import SwiftSyntax

/// Resolving the names of types.
extension ContractSource {
    func resolve(_ type: TypeSyntax, _ scope: Scope) throws(TypeProblem) -> Resolved {
        if let type = type.as(IdentifierTypeSyntax.self) {
            let arguments = try arguments(type.genericArgumentClause, scope)
            return try resolve(type.name.plainText, arguments, TypeSyntax(type), scope)
        }
        if let type = type.as(MemberTypeSyntax.self) { return try resolve(member: type, scope) }
        if let type = type.as(OptionalTypeSyntax.self) { return try optional(type.wrappedType, scope) }
        if let type = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            return try optional(type.wrappedType, scope)
        }
        if let type = type.as(ArrayTypeSyntax.self) { return Resolved(.array(try resolve(type.element, scope).shape)) }
        if let type = type.as(DictionaryTypeSyntax.self) {
            let (key, value) = (try resolve(type.key, scope).shape, try resolve(type.value, scope).shape)
            return try dictionary([key, value], TypeSyntax(type.key))
        }
        if let type = type.as(AttributedTypeSyntax.self) { return try resolve(type.baseType, scope) }
        if let type = type.as(TupleTypeSyntax.self) {
            guard type.elements.count == 1, let inner = type.elements.first?.type else {
                throw TypeProblem(type, .tuple)
            }
            return try resolve(inner, scope)
        }
        if type.is(FunctionTypeSyntax.self) { throw TypeProblem(type, .function) }
        if type.is(SomeOrAnyTypeSyntax.self) || type.is(CompositionTypeSyntax.self) {
            throw TypeProblem(type, .existential(type.trimmedDescription))
        }
        throw TypeProblem(type, .notDecodable(type.trimmedDescription))
    }

    private func optional(_ wrapped: TypeSyntax, _ scope: Scope) throws(TypeProblem) -> Resolved {
        Resolved(StandardTypes.optional(try resolve(wrapped, scope).shape), isOptional: true)
    }

    private func arguments(
        _ clause: GenericArgumentClauseSyntax?, _ scope: Scope
    ) throws(TypeProblem) -> [Resolved] {
        var resolved: [Resolved] = []
        for argument in clause?.arguments ?? [] {
            guard let type = argument.argument.as(TypeSyntax.self) else {
                throw TypeProblem(argument, .notDecodable(argument.trimmedDescription))
            }
            resolved.append(try resolve(type, scope))
        }
        return resolved
    }

    /// Resolves a plain name: of a generic parameter, of a type around or beside, or of one that every app has.
    private func resolve(
        _ name: String, _ arguments: [Resolved], _ node: TypeSyntax, _ scope: Scope
    ) throws(TypeProblem) -> Resolved {
        if let given = scope.aliasArguments[name] { return given }
        var level = scope.declaration
        var (isExtended, isOutside) = (false, false)
        while let id = level {
            let declaration = index.all[id]
            if !isOutside, let found = try choose(declaration.children[name] ?? [], name, node, scope) {
                return try use(found, arguments, node, scope)
            }
            if declaration.generics.contains(name) {
                guard let shape = scope.parameters[name] else { throw TypeProblem(node, .unknownType(name)) }
                return Resolved(shape, isOptional: false)
            }
            let isItself = declaration.name == name || (name == "Self" && id == scope.declaration)
            if isItself, !isOutside, declaration.kind != .foreign {
                return try use(id, arguments, node, scope)
            }
            // An extension of `A.B` sees the content of `B`, but only the generic parameters of `A`.
            isOutside = isOutside || isExtended
            isExtended = declaration.isInExtension
            level = declaration.parent
        }
        let declared = (index.top[name] ?? []).filter { index.all[$0].kind != .foreign }
        if let found = try choose(declared, name, node, scope) { return try use(found, arguments, node, scope) }
        return try standard(name, arguments, node)
    }

    private func standard(
        _ name: String, _ arguments: [Resolved], _ node: TypeSyntax
    ) throws(TypeProblem) -> Resolved {
        if arguments.isEmpty, let shape = StandardTypes.plain(name) { return Resolved(shape) }
        if let arity = StandardTypes.arity(name) {
            if name == "Dictionary", arguments.count == 2 { return try dictionary(arguments.map(\.shape), node) }
            guard let shape = StandardTypes.generic(name, arguments.map(\.shape)) else {
                throw TypeProblem(node, .noArguments(name, arity))
            }
            return Resolved(shape)
        }
        if let given = given(name) { return given }
        throw TypeProblem(node, StandardTypes.notCodable.contains(name) ? .notDecodable(name) : .unknownType(name))
    }

    /// Returns a type from another module if the caller gives its schema.
    private func given(_ name: String) -> Resolved? {
        schemas[name].map { _ in Resolved(.given(name)) }
    }

    private func dictionary(_ shapes: [Shape], _ node: TypeSyntax) throws(TypeProblem) -> Resolved {
        if case .named(let key) = shapes[0], protocols(of: key.declaration).contains("CodingKeyRepresentable") {
            throw TypeProblem(node, .dictionaryKey(index.all[key.declaration].name))
        }
        return Resolved(.dictionary(key: shapes[0], value: shapes[1]))
    }

    /// Returns the declaration that a name refers to, out of several.
    func choose(
        _ ids: [Int], _ name: String, _ node: some SyntaxProtocol, _ scope: Scope
    ) throws(TypeProblem) -> Int? {
        let seen = index.visible(ids, from: scope.origin ?? Syntax(node))
        guard seen.count < 2 else {
            let isConditional = seen.contains { index.all[$0].condition != nil }
            throw TypeProblem(node, isConditional ? .conditional("`\(name)`") : .ambiguous(name))
        }
        return seen.first
    }

    // MARK: - Members

    private func resolve(member type: MemberTypeSyntax, _ scope: Scope) throws(TypeProblem) -> Resolved {
        let name = type.name.plainText
        let arguments = try arguments(type.genericArgumentClause, scope)
        if let base = type.baseType.as(IdentifierTypeSyntax.self)?.name.plainText, index.top[base] == nil,
            StandardTypes.modules.contains(base)
        {
            return try standard(name, arguments, TypeSyntax(type))
        }
        do throws(TypeProblem) {
            guard case .named(let instance) = try resolve(type.baseType, scope).shape else {
                return try foreign(type, arguments, scope)
            }
            let children = index.all[instance.declaration].children[name] ?? []
            guard let found = try choose(children, name, type, scope) else {
                throw TypeProblem(type, .unknownType(type.trimmedDescription))
            }
            return try use(found, arguments, TypeSyntax(type), self.scope(of: instance))
        } catch {
            // The name is a module's, or a type's from another module to which an extension adds one.
            guard case .unknownType(let missing) = error.kind, missing == type.baseType.trimmedDescription else {
                throw error
            }
            return try foreign(type, arguments, scope)
        }
    }

    private func foreign(
        _ type: MemberTypeSyntax, _ arguments: [Resolved], _ scope: Scope
    ) throws(TypeProblem) -> Resolved {
        let name = type.name.plainText
        if let given = given(type.trimmedDescription) { return given }
        let base = (index.top[type.baseType.trimmedDescription] ?? []).first { index.all[$0].kind == .foreign }
        let ids = base.flatMap { index.all[$0].children[name] } ?? index.top[name] ?? []
        guard let found = try choose(ids, name, type, scope) else {
            if let given = given(name) { return given }
            throw TypeProblem(type, .unknownType(type.trimmedDescription))
        }
        return try use(found, arguments, TypeSyntax(type), scope)
    }

    // MARK: - Declarations

    private func use(
        _ id: Int, _ arguments: [Resolved], _ node: TypeSyntax, _ scope: Scope
    ) throws(TypeProblem) -> Resolved {
        let declaration = index.all[id]
        if declaration.condition != nil { throw TypeProblem(node, .conditional("`\(declaration.name)`")) }
        switch declaration.kind {
        case .structure, .enumeration, .classType: break
        case .actor: throw TypeProblem(node, .actor(declaration.name))
        case .protocolType: throw TypeProblem(node, .existential(declaration.name))
        case .foreign: throw TypeProblem(node, .unknownType(declaration.name))
        case .alias: return try use(alias: id, arguments, node, scope)
        }
        let names = index.generics(id)
        // Inside a generic type, its own name stands for the type with its own parameters.
        if arguments.isEmpty, names.allSatisfy({ scope.parameters[$0] != nil }) {
            return Resolved(.named(Instance(declaration: id, arguments: names.compactMap { scope.parameters[$0] })))
        }
        let outer = names.dropLast(declaration.generics.count)
        guard arguments.count == declaration.generics.count, outer.allSatisfy({ scope.parameters[$0] != nil }) else {
            throw TypeProblem(node, .noArguments(declaration.name, declaration.generics.count))
        }
        let around = outer.compactMap { scope.parameters[$0] }
        return Resolved(.named(Instance(declaration: id, arguments: around + arguments.map(\.shape))))
    }

    private func use(
        alias id: Int, _ arguments: [Resolved], _ node: TypeSyntax, _ scope: Scope
    ) throws(TypeProblem) -> Resolved {
        let declaration = index.all[id]
        guard let alias = declaration.node.as(TypeAliasDeclSyntax.self), !scope.aliases.contains(id) else {
            throw TypeProblem(node, .endlessAlias(declaration.name))
        }
        guard arguments.count == declaration.generics.count else {
            throw TypeProblem(node, .noArguments(declaration.name, declaration.generics.count))
        }
        let inner = Scope(
            declaration: declaration.parent, parameters: scope.parameters,
            aliasArguments: Dictionary(zip(declaration.generics, arguments), uniquingKeysWith: { $1 }),
            aliases: scope.aliases + [id])
        return try resolve(alias.initializer.value, inner)
    }
}
