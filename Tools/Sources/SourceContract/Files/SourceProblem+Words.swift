extension SourceProblem.Kind {
    /// The problem, and how to fix it.
    var words: (problem: String, fix: String) {
        switch self {
        case .notSwift: ("this is not Swift as the parser knows it", "mend it until it compiles")
        case .noAttributes:
            ("no type conforms to `ActivityAttributes`", "give the file that declares it, or its name with --type")
        case .severalAttributes(let names):
            ("several types conform to `ActivityAttributes`", "say which one with --type: \(names.quoted)")
        case .noSuchType(let name): ("there is no type `\(name)`", "give the file that declares it")
        case .generic(let name):
            ("`\(name)` is generic, and a push names it by one name", "declare a type that is not generic")
        case .noContentState(let name):
            ("`\(name)` has no `ContentState` in these files", "give the file that declares it")
        case .noObject(let name, let what):
            ("`\(name)` is decoded from \(what), and a push takes an object alone", "put it into a struct")
        case .handWritten, .inherited, .computedRawValue, .decodingOverload, .conditional, .wrapper, .macro: hidden
        case .strangeCodingKeys, .keyWithoutProperty, .neverDecoded, .rawValue, .noCases, .caseTwice: keysAndCases
        case .unknownType, .ambiguous, .notCodable, .cannotInfer, .pattern, .tuple, .function, .existential,
            .notDecodable, .noArguments, .endlessAlias, .endlessGenerics, .dictionaryKey, .actor:
            ofTypes
        }
    }

    /// Words for decoding that is decided elsewhere.
    private var hidden: (problem: String, fix: String) {
        switch self {
        case .handWritten(let name):
            (
                "`\(name)` has an `init(from:)` of its own, and what that takes cannot be told from here",
                "say it with --schema \(name)=FILE, a JSON Schema, or let the compiler write it"
            )
        case .inherited(let name, let from):
            (
                "`\(name)` has `init(from:)` from `\(from)`, and what that takes cannot be told from here",
                "say it with --schema \(name)=FILE, a JSON Schema"
            )
        case .computedRawValue(let name):
            (
                "`\(name)` is decoded from a `rawValue` that its own code computes, and what that takes cannot be told",
                "say it with --schema \(name)=FILE, a JSON Schema, or let the compiler write the raw values"
            )
        case .decodingOverload:
            (
                "this changes how every type is decoded, and how cannot be told from here",
                "use another type for such properties, and say what it takes with --schema"
            )
        case .conditional(let what):
            (
                "\(what) stands in an `#if` that cannot be decided here, so that there are several contracts",
                "take it out of the `#if`"
            )
        case .wrapper(let property, let wrapper):
            (
                "`\(property)` has the property wrapper `@\(wrapper)`, which decides how it is decoded",
                "leave the wrapper out, or leave the property out of `CodingKeys`"
            )
        case .macro(let name):
            (
                "`@\(name)` may be a macro that adds to the type, and what cannot be told from here",
                "declare the type without it, or say what it takes with --schema"
            )
        default: ("", "")
        }
    }

    private var keysAndCases: (problem: String, fix: String) {
        switch self {
        case .strangeCodingKeys(let why):
            ("these CodingKeys are not the compiler's: \(why)", "list them as cases of an enum with String raw values")
        case .keyWithoutProperty(let key, let type):
            ("`\(type)` has nothing named `\(key)`", "name a stored property, or an associated value, of it")
        case .neverDecoded(let name):
            ("`\(name)` is left out of CodingKeys and has no default", "give it a default value, or a key")
        case .rawValue(let name):
            (
                "the raw value of `\(name)` cannot be told from here",
                "write it as a literal, without an interpolation, and let the compiler write `init(rawValue:)`"
            )
        case .noCases(let name): ("`\(name)` has no case that could be decoded", "give it one")
        case .caseTwice(let name): ("the case `\(name)` is there twice", "give one of them another name")
        default: ("", "")
        }
    }

    private var ofTypes: (problem: String, fix: String) {
        switch self {
        case .unknownType(let name):
            (
                "no type `\(name)` is known",
                "give the file that declares it; of a type from elsewhere say what it takes with --schema \(name)=FILE"
            )
        case .ambiguous(let name): ("`\(name)` is declared several times", "give only the files of one app")
        case .notCodable(let name):
            ("`\(name)` is not seen to be `Codable`", "give the file with the extension that says so")
        case .cannotInfer(let name):
            ("the type of `\(name)` cannot be told from its value", "write it: `\(name): TYPE = …`")
        case .pattern: ("these are several properties in one pattern", "declare them one by one")
        case .tuple: ("a tuple is not Codable", "declare a struct")
        case .function: ("a function is not Codable", "leave it out")
        case .existential(let name):
            ("`\(name)` stands for any type that conforms, which cannot be decoded", "name the type itself")
        case .notDecodable(let name): ("`\(name)` is not Codable", "use another type, such as `String`")
        case .noArguments(let name, let count):
            ("`\(name)` has \(count) generic \(count == 1 ? "parameter" : "parameters")", "write what they stand for")
        case .endlessAlias(let name): ("the type alias `\(name)` leads back to itself", "name a type")
        case .endlessGenerics(let name):
            ("`\(name)` contains itself with ever other arguments", "contain it with the same ones")
        case .dictionaryKey(let name):
            (
                "a dictionary's key `\(name)` is `CodingKeyRepresentable`, and what keys it takes cannot be told",
                "use `String` as the key"
            )
        case .actor(let name): ("the actor `\(name)` is not Codable by itself", "use a struct")
        default: ("", "")
        }
    }
}

extension [String] {
    var quoted: String { map { "`\($0)`" }.joined(separator: ", ") }
}
