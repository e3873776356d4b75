import HTTPTypes
import JSONText

/// What the API's description says of a call beyond its route.
package struct Operation: Sendable {
    /// What a call takes or gives, and an example of it as JSON text.
    package struct Body: Sendable {
        let schema: Schema.Name
        package let example: String
        /// Whether it must be sent.
        let isRequired: Bool

        init(_ schema: Schema.Name, _ example: String, isRequired: Bool = true) {
            self.schema = schema
            self.example = example
            self.isRequired = isRequired
        }
    }

    package enum Tag: String, CaseIterable, Sendable {
        case activities = "Activities"
        case people = "People"
        case phones = "Phones"
        case server = "Server"
    }

    /// The name of the call, for generated clients.
    package let id: String
    let tag: Tag
    let summary: String
    /// Values for its path, as the examples have them.
    package let path: [String: String]
    package let request: Body?
    /// `nil`: text that is not JSON.
    package let answer: Body?
    /// The problems of this very call; those that its kind of route has are added.
    let problems: [Problem.Code]

    init(
        _ id: String, _ tag: Tag, _ summary: String, path: [String: String] = [:], request: Body? = nil, answer: Body?,
        problems: [Problem.Code] = []
    ) {
        self.id = id
        self.tag = tag
        self.summary = summary
        self.path = path
        self.request = request
        self.answer = answer
        self.problems = problems
    }
}

extension Route {
    /// Method and path, by which a call is found.
    package var name: String { "\(method.rawValue) \(path)" }

    package var operation: Operation? { Operation.all[name] }

    /// Whether it changes what is stored, or makes others do so.
    private var isWrite: Bool { method != .get }

    /// Every problem that the call may answer with.
    package var problems: Set<Problem.Code> {
        var codes = Set(operation?.problems ?? [])
        codes.formUnion([.invalidQuery, .internalError, .overloaded])
        guard !scopes.isEmpty else { return codes }
        codes.formUnion([
            .keyMissing, .keyInvalid, .keyExpired, .tokenInvalid, .tokenExpired, .credentialInvalid, .keysUnavailable,
            .scopeMissing, .originRefused, .appNotConfigured, .invalidHeader, .storageUnavailable, .rateLimited,
        ])
        if isForPhones { codes.formUnion([.unknownDevice, .userDiffers]) }
        if path.description.contains("{") { codes.formUnion([.invalidPath, .invalidID]) }
        if takesIfMatch { codes.insert(.revisionDiffers) }
        if isWrite { codes.insert(.commitUnknown) }
        if takesKey { codes.insert(.idempotencyKeyReused) }
        if body != .none {
            codes.formUnion([.invalidJSON, .bodyTooLarge, .unsupportedMediaType, .invalidBody, .requestTimeout])
        }
        return codes
    }
}
