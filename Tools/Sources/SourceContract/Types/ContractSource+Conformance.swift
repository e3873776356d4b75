import SwiftSyntax

/// Conformances of a type, as far as these files show them.
extension ContractSource {
    /// Returns the names of all protocols and classes that a type inherits from.
    func protocols(of id: Int) -> Set<String> {
        var names: Set<String> = []
        var waiting = [id]
        var seen: Set<Int> = []
        while let next = waiting.popLast() {
            guard seen.insert(next).inserted else { continue }
            for type in inheritedTypes(of: next) {
                guard let name = type.pathNames.last else { continue }
                names.insert(name)
                if let found = inherited(type, by: next) { waiting.append(found) }
            }
        }
        return names
    }

    /// Returns the types of an inheritance clause, with aliases of compositions split.
    func inheritedTypes(of id: Int) -> [TypeSyntax] {
        index.all[id].inherited.flatMap(\.inheritedTypes).flatMap { unaliased($0, by: id, 8) }
    }

    private func unaliased(_ type: TypeSyntax, by id: Int, _ depth: Int) -> [TypeSyntax] {
        guard depth > 0, let found = inherited(type, by: id),
            let alias = index.all[found].node.as(TypeAliasDeclSyntax.self)
        else { return [type] }
        return alias.initializer.value.inheritedTypes.flatMap { unaliased($0, by: found, depth - 1) }
    }

    /// Returns the declaration that an inherited type names, if these files have it.
    func inherited(_ type: TypeSyntax, by id: Int) -> Int? {
        let names = type.pathNames
        guard let first = names.first else { return nil }
        var level = index.all[id].parent
        var candidates: [Int] = []
        while candidates.isEmpty, let around = level {
            candidates = index.all[around].children[first] ?? []
            level = index.all[around].parent
        }
        if candidates.isEmpty { candidates = index.top[first] ?? [] }
        for name in names.dropFirst() {
            // The name of a module comes first.
            let children =
                candidates.isEmpty ? index.top[name] : candidates.first.flatMap { index.all[$0].children[name] }
            candidates = children ?? []
        }
        return index.visible(candidates, from: Syntax(type)).first { index.all[$0].kind != .foreign && $0 != id }
    }

    /// Returns the superclass of a class, if these files have it.
    func superclass(of id: Int) -> Int? {
        guard index.all[id].kind == .classType else { return nil }
        return inheritedTypes(of: id).lazy.compactMap { inherited($0, by: id) }.first {
            index.all[$0].kind == .classType
        }
    }

    /// Returns `true` if a type is decodable by itself, or through a protocol or class of these files.
    func isDecodable(_ id: Int) -> Bool {
        !protocols(of: id).isDisjoint(with: StandardTypes.decoding.union(StandardTypes.attributes))
    }

    // MARK: - Decoding from elsewhere

    /// Notes an `init(from:)` that replaces the compiler's decoding of a type. Returns `true` if there is one.
    mutating func noteForeignDecoding(_ id: Int) -> Bool {
        let declaration = index.all[id]
        if let own = handWritten(id) {
            note(own.node, own.condition == nil ? .handWritten(declaration.name) : .conditional("`init(from:)`"))
            return true
        }
        var waiting = inheritedTypes(of: id).map { ($0, id) }
        var seen: Set<Int> = [id]
        while let (type, by) = waiting.popLast() {
            guard let found = inherited(type, by: by) else {
                warnOfUnknown(type, declaration.name)
                continue
            }
            guard index.all[found].kind == .protocolType, seen.insert(found).inserted else { continue }
            if let member = handWritten(found) {
                note(member.node, .inherited(declaration.name, from: index.all[found].name))
                return true
            }
            waiting += inheritedTypes(of: found).map { ($0, found) }
        }
        if let (name, member) = decodingOfAll(id) {
            note(member.node, .inherited(declaration.name, from: name))
            return true
        }
        warnOfEncoding(declaration)
        return false
    }

    /// Returns an `init(from:)` from an extension of another module's protocol, such as `Decodable`. The extension may
    /// be limited to types that also conform to other protocols. Swift uses it instead of writing one.
    private func decodingOfAll(_ id: Int) -> (protocolName: String, Declaration.Member)? {
        var names = protocols(of: id)
        if isDecodable(id) { names.insert("Decodable") }
        for name in names.sorted() {
            for extended in index.top[name] ?? [] where index.all[extended].kind == .foreign {
                let found = index.all[extended].members.first {
                    Self.isHandWritten($0) && Self.constraints(around: $0.node).isSubset(of: names)
                }
                if let found { return (name, found) }
            }
        }
        return nil
    }

    /// Returns the further protocols that an extension requires of its types.
    private static func constraints(around node: DeclSyntax) -> Set<String> {
        var around = node.parent
        while let next = around, !next.is(ExtensionDeclSyntax.self) { around = next.parent }
        let requirements = around?.as(ExtensionDeclSyntax.self)?.genericWhereClause?.requirements ?? []
        return Set(
            requirements.flatMap { requirement -> [String] in
                guard case .conformanceRequirement(let it) = requirement.requirement,
                    it.leftType.trimmedDescription == "Self"
                else { return [] }
                return it.rightType.inheritedTypes.compactMap(\.pathNames.last)
            })
    }

    private mutating func warnOfUnknown(_ type: TypeSyntax, _ name: String) {
        guard let unknown = type.pathNames.last, !StandardTypes.harmlessProtocols.contains(unknown),
            StandardTypes.plain(unknown) == nil
        else { return }
        warn(type, "`\(unknown)` is not in these files: if it brings an `init(from:)`, `\(name)` is decoded by that")
    }

    private mutating func warnOfEncoding(_ declaration: Declaration) {
        for member in declaration.members {
            guard let function = member.node.as(FunctionDeclSyntax.self), function.name.text == "encode",
                function.signature.parameterClause.parameters.first?.firstName.text == "to"
            else { continue }
            warn(
                function,
                "`\(declaration.name)` encodes itself: what a phone reports of it may not be what it decodes")
        }
    }

    /// Returns an `init(from:)` with a body.
    func handWritten(_ id: Int) -> Declaration.Member? {
        index.all[id].members.first(where: Self.isHandWritten)
    }

    private static func isHandWritten(_ member: Declaration.Member) -> Bool {
        guard let node = member.node.as(InitializerDeclSyntax.self), node.body != nil else { return false }
        let parameters = node.signature.parameterClause.parameters
        guard parameters.count == 1, parameters.first?.firstName.text == "from", let type = parameters.first?.type
        else { return false }
        return type.trimmedDescription.hasSuffix("Decoder")
    }

    /// Notes extensions of the decoding containers whose overloads the compiler's code would call.
    mutating func noteDecodingOverloads() {
        for name in ["KeyedDecodingContainer", "KeyedDecodingContainerProtocol"] {
            for id in index.top[name] ?? [] where index.all[id].kind == .foreign {
                for member in index.all[id].members {
                    guard let function = member.node.as(FunctionDeclSyntax.self),
                        ["decode", "decodeIfPresent"].contains(function.name.text),
                        function.signature.parameterClause.parameters.count == 2
                    else { continue }
                    note(function, .decodingOverload)
                }
            }
        }
    }
}
