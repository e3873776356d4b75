import HTTPTypes
import JSONText

/// The description of a call beyond its route.
package struct Operation: Sendable {
    /// The body of a request or answer, with an example as JSON text.
    package struct Body: Sendable {
        let schema: Schema.Name
        package let example: String
        /// `true` if the body must be sent.
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

    /// The name of the call for generated clients.
    package let id: String
    let tag: Tag
    let summary: String
    /// The values of the path's parameters in examples.
    package let path: [String: String]
    package let request: Body?
    /// The answer. `nil` if it is text and not JSON.
    package let answer: Body?
    /// The problems of this particular call. Those of its kind of route are added.
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
    /// The method and path, which identify the call.
    package var name: String { "\(method.rawValue) \(path)" }

    package var operation: Operation? { Operation.all[name] }

    /// `true` if the call changes stored data, or causes others to change it.
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
        if case .phone = access { codes.formUnion([.unknownDevice, .userDiffers]) }
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
