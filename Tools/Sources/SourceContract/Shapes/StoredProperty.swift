import SwiftSyntax

/// A stored property of a type.
struct StoredProperty {
    let name: String
    let node: Syntax
    let isLet: Bool
    let type: TypeSyntax?
    let value: ExprSyntax?
    let wrapper: AttributeSyntax?
    let condition: Syntax?

    /// `true` if it has a value without being decoded.
    var hasDefault: Bool {
        if value != nil || wrapper != nil { return true }
        guard !isLet, let type else { return false }
        return type.is(OptionalTypeSyntax.self) || type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self)
    }
}

extension ContractSource {
    mutating func storedProperties(of instance: Instance) -> [StoredProperty] {
        var properties: [StoredProperty] = []
        for member in index.all[instance.declaration].members {
            guard let node = member.node.as(VariableDeclSyntax.self) else { continue }
            let modifiers = node.modifiers.map(\.name.text)
            guard !modifiers.contains("static"), !modifiers.contains("class"), !modifiers.contains("lazy") else {
                continue
            }
            let wrapper = node.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first {
                !StandardTypes.harmlessPropertyAttributes.contains($0.attributeName.trimmedDescription)
            }
            let bindings = Array(node.bindings)
            for (position, binding) in bindings.enumerated() where binding.isStored {
                guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
                    note(binding.pattern, .pattern)
                    continue
                }
                var type = binding.typeAnnotation?.type
                if type == nil, binding.initializer == nil {
                    // `var a, b: Int`
                    type = bindings[position...].lazy.compactMap(\.typeAnnotation).first?.type
                }
                properties.append(
                    StoredProperty(
                        name: pattern.identifier.plainText, node: Syntax(binding),
                        isLet: node.bindingSpecifier.tokenKind == .keyword(.let), type: type,
                        value: binding.initializer?.value, wrapper: wrapper, condition: member.condition))
            }
        }
        return properties
    }
}

extension PatternBindingSyntax {
    /// `true` if it has no accessors, or only observers.
    fileprivate var isStored: Bool {
        guard let accessorBlock else { return true }
        guard case .accessors(let list) = accessorBlock.accessors else { return false }
        return list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }
}
