import SwiftParser
import SwiftSyntax

/// Parsed files, and the way from a node to its place.
struct ParsedFiles {
    let trees: [SourceFileSyntax]
    private let converters: [SyntaxIdentifier: SourceLocationConverter]

    init(_ sources: [Source]) {
        var trees: [SourceFileSyntax] = []
        var converters: [SyntaxIdentifier: SourceLocationConverter] = [:]
        for source in sources {
            let tree = Parser.parse(source: source.text)
            trees.append(tree)
            converters[tree.root.id] = SourceLocationConverter(fileName: source.name, tree: tree)
        }
        self.trees = trees
        self.converters = converters
    }

    func place(of node: some SyntaxProtocol) -> Place {
        guard let converter = converters[node.root.id] else { return Place(file: "", line: 1, column: 1) }
        let location = converter.location(for: node.positionAfterSkippingLeadingTrivia)
        return Place(file: location.file, line: location.line, column: location.column)
    }

    /// The first syntax error of each file.
    var syntaxProblems: [SourceProblem] {
        trees.filter(\.hasError).map { tree in
            let finder = FirstSyntaxError(viewMode: .all)
            finder.walk(tree)
            return SourceProblem(place: place(of: finder.found ?? Syntax(tree)), kind: .notSwift)
        }
    }
}

private final class FirstSyntaxError: SyntaxAnyVisitor {
    private(set) var found: Syntax?

    override func visitAny(_ node: Syntax) -> SyntaxVisitorContinueKind {
        guard found == nil, node.hasError else { return .skipChildren }
        if node.is(UnexpectedNodesSyntax.self) {
            found = node
            return .skipChildren
        }
        return .visitChildren
    }

    override func visit(_ token: TokenSyntax) -> SyntaxVisitorContinueKind {
        if found == nil, token.presence == .missing { found = Syntax(token) }
        return .skipChildren
    }
}
