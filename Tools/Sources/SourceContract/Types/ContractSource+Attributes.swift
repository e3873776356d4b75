import SwiftSyntax

/// Finding the attributes type of the contract.
extension ContractSource {
    var attributesTypes: [Int] {
        index.all.indices.filter { id in
            [.structure, .classType, .enumeration].contains(index.all[id].kind)
                && !protocols(of: id).isDisjoint(with: StandardTypes.attributes)
        }
    }

    mutating func attributesType(named name: String?) -> Instance? {
        let candidates = name.map(types) ?? attributesTypes
        guard let id = candidates.first, let top = files.trees.first else {
            if let top = files.trees.first { note(top, name.map { .noSuchType($0) } ?? .noAttributes) }
            return nil
        }
        guard candidates.count == 1 else {
            note(top, .severalAttributes(candidates.map { index.path($0).joined(separator: ".") }))
            return nil
        }
        let declaration = index.all[id]
        if let condition = declaration.condition { note(condition, .conditional("`\(declaration.name)`")) }
        guard index.generics(id).isEmpty else {
            note(declaration.node, .generic(declaration.name))
            return nil
        }
        if declaration.parent != nil {
            warn(
                declaration.node,
                "`\(index.path(id).joined(separator: "."))` is declared inside another type; its plain name is taken "
                    + "for what `attributes-type` says")
        }
        return Instance(declaration: id, arguments: [])
    }

    private func types(named name: String) -> [Int] {
        index.all.indices.filter { id in
            let path = index.path(id)
            return [.structure, .classType, .enumeration].contains(index.all[id].kind)
                && (path.joined(separator: ".") == name || (path.count == 1 && path[0] == name))
        }
    }

    mutating func contentState(of attributes: Instance) -> Instance? {
        let declaration = index.all[attributes.declaration]
        guard let found = declaration.children["ContentState"]?.first else {
            note(declaration.node, .noContentState(declaration.name))
            return nil
        }
        let node = index.all[found].node
        if let condition = index.all[found].condition { note(condition, .conditional("`ContentState`")) }
        guard let alias = node.as(TypeAliasDeclSyntax.self) else { return Instance(declaration: found, arguments: []) }
        do throws(TypeProblem) {
            let resolved = try resolve(alias.initializer.value, scope(of: attributes))
            if case .named(let instance) = resolved.shape { return instance }
            note(alias, .noObject("ContentState", what: "`\(alias.initializer.value.trimmedDescription)`"))
        } catch {
            note(error)
        }
        return nil
    }

    mutating func checkIsObject(_ instance: Instance) {
        guard let what = definitions[instance]?.otherThanObject else { return }
        let declaration = index.all[instance.declaration]
        note(declaration.node, .noObject(declaration.name, what: what))
    }
}
