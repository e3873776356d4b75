/// A place in the source that prevents a contract.
package struct SourceProblem: Error, Sendable, Hashable, CustomStringConvertible {
    package let place: Place
    package let kind: Kind

    package enum Kind: Sendable, Hashable {
        case notSwift
        case noAttributes
        case severalAttributes([String])
        case noSuchType(String)
        case generic(String)
        case noContentState(String)
        case noObject(String, what: String)
        case unknownType(String)
        case ambiguous(String)
        case notCodable(String)
        case handWritten(String)
        case inherited(String, from: String)
        case decodingOverload
        case conditional(String)
        case wrapper(property: String, wrapper: String)
        case macro(String)
        case cannotInfer(String)
        case pattern
        case tuple
        case function
        case existential(String)
        case notDecodable(String)
        case noArguments(String, Int)
        case endlessAlias(String)
        case endlessGenerics(String)
        case dictionaryKey(String)
        case strangeCodingKeys(String)
        case keyWithoutProperty(String, type: String)
        case neverDecoded(String)
        case rawValue(String)
        case computedRawValue(String)
        case noCases(String)
        case caseTwice(String)
        case actor(String)
    }

    package var description: String { "\(place): error: \(kind.words.problem); \(kind.words.fix)" }
}

/// A place in the source that may differ from its appearance.
package struct SourceWarning: Sendable, Hashable, CustomStringConvertible {
    package let place: Place
    package let words: String

    package var description: String { "\(place): warning: \(words)" }
}

/// The reason why there is no contract: at least one problem, in order of discovery.
package struct SourceProblems: Error, Sendable, CustomStringConvertible {
    package let all: [SourceProblem]

    package var description: String { all.map(\.description).joined(separator: "\n") }
}
