import SwiftSyntax

/// A type as the files declare it, its extensions included.
struct Declaration {
    enum Kind: Sendable {
        case structure, enumeration, classType, actor, protocolType, alias
        /// A type from another module that an extension adds to.
        case foreign
    }

    let kind: Kind
    let name: String
    /// The type that contains the declaration.
    let parent: Int?
    let node: DeclSyntax
    /// `true` if only its own file can see it.
    let isPrivate: Bool
    let generics: [String]
    /// The undecided `#if` around it.
    let condition: Syntax?
    /// `true` if it is in an extension of its parent. The scopes around the parent are not visible from there.
    var isInExtension = false
    var inherited: [TypeSyntax] = []
    var members: [Member] = []
    /// Nested types, by name.
    var children: [String: [Int]] = [:]
    var attributes: [AttributeSyntax] = []

    struct Member {
        let node: DeclSyntax
        let isInExtension: Bool
        /// The undecided `#if` around it.
        let condition: Syntax?
    }
}

extension Declaration {
    /// Makes a declaration from its node; `nil` if the node declares no type.
    init?(_ node: DeclSyntax, parent: Int?, condition: Syntax?) {
        func make(
            _ kind: Kind, _ name: TokenSyntax, _ generics: GenericParameterClauseSyntax?,
            _ modifiers: DeclModifierListSyntax, _ attributes: AttributeListSyntax, _ clause: InheritanceClauseSyntax?
        ) -> Declaration {
            var made = Declaration(
                kind: kind, name: name.plainText, parent: parent, node: node,
                isPrivate: modifiers.contains { ["private", "fileprivate"].contains($0.name.text) },
                generics: generics?.parameters.map(\.name.plainText) ?? [], condition: condition)
            made.inherited = clause?.inheritedTypes.map(\.type) ?? []
            made.attributes = attributes.compactMap { $0.as(AttributeSyntax.self) }
            return made
        }
        if let it = node.as(StructDeclSyntax.self) {
            self = make(
                .structure, it.name, it.genericParameterClause, it.modifiers, it.attributes, it.inheritanceClause)
        } else if let it = node.as(EnumDeclSyntax.self) {
            self = make(
                .enumeration, it.name, it.genericParameterClause, it.modifiers, it.attributes, it.inheritanceClause)
        } else if let it = node.as(ClassDeclSyntax.self) {
            self = make(
                .classType, it.name, it.genericParameterClause, it.modifiers, it.attributes, it.inheritanceClause)
        } else if let it = node.as(ActorDeclSyntax.self) {
            self = make(.actor, it.name, it.genericParameterClause, it.modifiers, it.attributes, it.inheritanceClause)
        } else if let it = node.as(ProtocolDeclSyntax.self) {
            self = make(.protocolType, it.name, nil, it.modifiers, it.attributes, it.inheritanceClause)
        } else if let it = node.as(TypeAliasDeclSyntax.self) {
            self = make(.alias, it.name, it.genericParameterClause, it.modifiers, it.attributes, nil)
        } else {
            return nil
        }
    }
}

extension TokenSyntax {
    /// The name without backticks.
    var plainText: String { identifier?.name ?? text }
}
