package import JSONText

/// An app's source, or the part of it that its contracts need.
package struct AppSource: Sendable {
    private let files: ParsedFiles
    private let index: DeclarationIndex

    /// A contract, with warnings where the source leaves doubt.
    package struct Contract: Sendable {
        package let document: JSONValue
        package let warnings: [SourceWarning]
    }

    package init(_ sources: [Source]) throws(SourceProblems) {
        files = ParsedFiles(sources)
        let broken = files.syntaxProblems
        guard broken.isEmpty else { throw SourceProblems(all: broken) }
        index = DeclarationIndex(files.trees)
    }

    /// Makes the contract of an attributes type.
    ///
    /// - Parameters: - type: The attributes type; `nil` for the only one. - schemas: JSON Schemas, by name, of types
    ///   whose decoding the source does not show.
    package func contract(
        of type: String? = nil, schemas: [String: JSONValue] = [:]
    ) throws(SourceProblems) -> Contract {
        let known = StandardTypes.given.filter { index.top[$0.key] == nil }
        var source = ContractSource(files, index, schemas: known.merging(schemas) { $1 })
        guard let attributes = source.attributesType(named: type), let state = source.contentState(of: attributes)
        else { throw SourceProblems(all: source.problems) }
        source.noteDecodingOverloads()
        source.read(attributes)
        source.read(state)
        source.checkIsObject(attributes)
        source.checkIsObject(state)
        guard source.problems.isEmpty else { throw SourceProblems(all: source.problems) }
        return Contract(
            document: [
                "attributesType": .string(index.all[attributes.declaration].name),
                "attributes": SchemaWriter.schema(of: attributes, in: source),
                "contentState": SchemaWriter.schema(of: state, in: source),
            ],
            warnings: source.warnings)
    }

    /// The names of the types that conform to `ActivityAttributes`.
    package var attributesTypes: [String] {
        ContractSource(files, index, schemas: [:]).attributesTypes.map { index.path($0).joined(separator: ".") }
    }
}
