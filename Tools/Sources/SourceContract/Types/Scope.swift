import SwiftSyntax

/// Where a name is looked up.
struct Scope {
    /// The innermost type around it.
    let declaration: Int?
    /// What the generic parameters of the types around it stand for.
    var parameters: [String: Shape] = [:]
    /// What the generic parameters of a type alias stand for.
    var aliasArguments: [String: Resolved] = [:]
    /// The aliases on the way here: one that leads back to itself has no end.
    var aliases: [Int] = []
    /// Whose file's private types can be seen; `nil`: that of the name itself.
    var origin: Syntax?
}

/// What a type's name stands for.
struct Resolved: Hashable {
    let shape: Shape
    /// Optional in the words of the source, where the compiler sees it; a generic parameter that stands for an
    /// optional is none.
    let isOptional: Bool

    init(_ shape: Shape, isOptional: Bool? = nil) {
        self.shape = shape
        self.isOptional = isOptional ?? shape.isOptional
    }
}

/// Why a type cannot be read, and where that is.
struct TypeProblem: Error {
    let node: Syntax
    let kind: SourceProblem.Kind

    init(_ node: some SyntaxProtocol, _ kind: SourceProblem.Kind) {
        self.node = Syntax(node)
        self.kind = kind
    }
}
