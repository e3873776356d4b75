package import JSONText

/// What an app's `ActivityAttributes` type and its content state look like: JSON Schema 2020-12, and what Swift's own
/// decoder takes beyond that. `docs/contracts.md` describes the document.
///
/// A phone drops a push that does not decode, and APNs answers 200 all the same; so what does not fit is refused where
/// it comes in. What fits is encoded as the Swift type would write it: dates as seconds since 2001, integers without
/// a point, UUIDs in capitals, no `null` where a member may be left out.
package struct Contract: Sendable, Equatable {
    /// The Swift name of the attributes type.
    package let attributesType: String
    /// As it was written.
    package let document: JSONValue
    private let attributes: ContractSchema?
    private let contentState: ContractSchema

    /// Where numbers that are given for dates come from.
    package enum Origin: Sendable, Equatable {
        /// A caller, in any form that the contract takes.
        case given
        /// The store or a phone, in Swift's own form.
        case stored
        /// The store, with a merge patch of a caller over it.
        case merged(JSONObject)
    }

    /// Which half does not fit.
    package enum Part: Sendable, Hashable {
        case attributes
        case contentState
    }

    /// - Throws: `ContractError` for a document that is no contract, or holds what would not be checked.
    package init(_ document: JSONValue) throws(ContractError) {
        let reader = try ContractDocument(document)
        self.document = document
        attributesType = reader.attributesType
        attributes = reader.attributes
        contentState = reader.contentState
    }

    /// The content state as the phones decode it.
    ///
    /// - Throws: `ContractViolation` with what does not fit.
    package func encodedState(_ state: JSONObject, from origin: Origin) throws(ContractViolation) -> JSONObject {
        try encoded(state, by: contentState, .contentState, origin)
    }

    /// The attributes as the phones decode them; without a schema for them, as they are.
    ///
    /// - Throws: `ContractViolation` with what does not fit.
    package func encodedAttributes(_ given: JSONObject) throws(ContractViolation) -> JSONObject {
        guard let attributes else { return given }
        return try encoded(given, by: attributes, .attributes, .given)
    }

    private func encoded(
        _ object: JSONObject, by schema: ContractSchema, _ part: Part, _ origin: Origin
    ) throws(ContractViolation) -> JSONObject {
        var check = ContractCheck(schema)
        if let encoded = check.run(.object(object), origin)?.object { return encoded }
        throw ContractViolation(part: part, problems: check.problems)
    }

    /// The content state as a phone that holds it reports it: without members that its type does not have, sets and
    /// dictionaries in one order. What does not fit stays as it is.
    package func heldState(_ state: JSONObject) -> JSONObject { held(state, by: contentState) }

    /// The attributes as a phone reports them.
    package func heldAttributes(_ given: JSONObject) -> JSONObject {
        attributes.map { held(given, by: $0) } ?? given
    }

    private func held(_ object: JSONObject, by schema: ContractSchema) -> JSONObject {
        var check = ContractCheck(schema, asHeld: true)
        return check.run(.object(object), .stored)?.object ?? object
    }

    /// Whether a phone with this contract decodes a state in Swift's own form that was made for another.
    func decodes(state: JSONObject) -> Bool { decodes(state, by: contentState) }

    /// The same of attributes.
    func decodes(attributes given: JSONObject) -> Bool { attributes.map { decodes(given, by: $0) } ?? true }

    private func decodes(_ object: JSONObject, by schema: ContractSchema) -> Bool {
        var check = ContractCheck(schema, isLenient: true)
        return check.run(.object(object), .stored) != nil
    }

    /// Why a phone with this contract would not decode what an activity holds in Swift's own form; none: it would.
    package func obstacles(state: JSONObject, attributes given: JSONObject) -> [ContractProblem] {
        [(state, contentState), (given, attributes)].flatMap { object, schema -> [ContractProblem] in
            guard let schema else { return [] }
            var check = ContractCheck(schema, isLenient: true)
            return check.run(.object(object), .stored) == nil ? check.problems : []
        }
    }

    /// Whether the attributes' Swift type has a property of this name.
    package func declares(attribute name: String) -> Bool {
        attributes?.node(at: .root)?.properties[name] != nil
    }

    /// Whether an integer stands at a place of the attributes.
    package func holdsInteger(at pointer: JSONPointer) -> Bool {
        guard let node = attributes?.node(at: pointer) else { return false }
        if case .integer = node.swift { return true }
        return node.types?.contains(.string) == false && node.types?.contains(.integer) == true
    }
}

extension Contract.Origin {
    /// Where a member of an object comes from.
    func of(_ key: String) -> Self {
        guard case .merged(let patch) = self else { return self }
        switch patch[key] {
        case nil: return .stored
        case .object(let inner): return .merged(inner)
        case .null, .bool, .number, .string, .array: return .given
        }
    }

    /// Where the elements of an array come from: a patch replaces arrays whole.
    var ofElements: Self { self == .stored ? .stored : .given }
}

/// Why a document is no contract.
package struct ContractError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The place in the document.
    package let pointer: JSONPointer
    package let problem: String

    package var description: String { pointer == .root ? problem : "\(pointer): \(problem)" }

    init(_ pointer: JSONPointer, _ problem: String) {
        self.pointer = pointer
        self.problem = problem
    }
}

/// What does not fit a contract.
package struct ContractViolation: Error, Sendable, Equatable {
    package let part: Contract.Part
    /// At least one, at most `ContractCheck.maximumProblems`, in the order in which they were met.
    package let problems: [ContractProblem]
}

/// One value that does not fit, or is missing.
package struct ContractProblem: Sendable, Equatable {
    /// The place inside the content state or the attributes.
    package let pointer: JSONPointer
    /// What would fit.
    package let expected: String
    /// What stands there, shortened; `nil`: nothing does.
    package let given: String?
    /// What to do about it, where that is clear.
    package var fix: String?
}
