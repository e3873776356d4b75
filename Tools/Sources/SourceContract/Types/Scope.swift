import SwiftSyntax

/// The scope in which a name is looked up.
struct Scope {
    /// The innermost type around it.
    let declaration: Int?
    /// Shapes of the generic parameters of the types around it.
    var parameters: [String: Shape] = [:]
    /// Types of a type alias's generic parameters.
    var aliasArguments: [String: Resolved] = [:]
    /// The aliases that were followed so far. An alias that leads back to itself has no end.
    var aliases: [Int] = []
    /// The file whose private types are visible; `nil` for the file of the name itself.
    var origin: Syntax?
}

/// The type that a name stands for.
struct Resolved: Hashable {
    let shape: Shape
    /// `true` if the source itself spells an optional, which the compiler sees. A generic parameter that stands for an
    /// optional does not count.
    let isOptional: Bool

    init(_ shape: Shape, isOptional: Bool? = nil) {
        self.shape = shape
        self.isOptional = isOptional ?? shape.isOptional
    }
}

/// The reason why a type cannot be read, and its place.
struct TypeProblem: Error {
    let node: Syntax
    let kind: SourceProblem.Kind

    init(_ node: some SyntaxProtocol, _ kind: SourceProblem.Kind) {
        self.node = Syntax(node)
        self.kind = kind
    }
}
