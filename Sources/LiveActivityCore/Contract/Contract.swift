package import JSONText

/// Contract of an app's `ActivityAttributes` type and its content state: JSON Schema 2020-12, and what Swift's own
/// decoder accepts beyond it. `docs/contracts.md` describes the document.
///
/// A phone drops a push that it cannot decode, although APNs answers 200. So values that do not fit are refused when
/// they arrive.
///
/// Values that fit are encoded as the Swift type would write them:
///
/// - dates as seconds since 2001
/// - integers without a decimal point
/// - UUIDs in uppercase
/// - no `null` where a member may be left out
package struct Contract: Sendable, Equatable {
    /// Name of the Swift attributes type.
    package let attributesType: String
    /// Document as it was written.
    package let document: JSONValue
    private let attributes: ContractSchema?
    private let contentState: ContractSchema

    /// Origin of a value. It decides how numbers that stand for dates are read.
    package enum Origin: Sendable, Equatable {
        /// A caller, in any form that the contract accepts.
        case given
        /// The store or a phone, in Swift's own form.
        case stored
        /// The store, with a caller's merge patch applied.
        case merged(JSONObject)
    }

    /// Half of a contract: the attributes or the content state.
    package enum Part: Sendable, Hashable {
        case attributes
        case contentState
    }

    /// Reads a contract.
    ///
    /// - Throws: `ContractError` if the document is not a contract, or contains something that could not be checked.
    package init(_ document: JSONValue) throws(ContractError) {
        let reader = try ContractDocument(document)
        self.document = document
        attributesType = reader.attributesType
        attributes = reader.attributes
        contentState = reader.contentState
    }

    /// Returns the content state in the form that phones decode.
    ///
    /// - Throws: `ContractViolation` if the state does not fit.
    package func encodedState(_ state: JSONObject, from origin: Origin) throws(ContractViolation) -> JSONObject {
        try encoded(state, by: contentState, .contentState, origin)
    }

    /// Returns the attributes in the form that phones decode. Without a schema for attributes, returns them unchanged.
    ///
    /// - Throws: `ContractViolation` if the attributes do not fit.
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

    /// Returns the content state as a phone that holds it reports it. A state that does not fit is returned unchanged.
    ///
    /// Members that the state's type does not have are left out. Sets and dictionaries are in a fixed order.
    package func heldState(_ state: JSONObject) -> JSONObject { held(state, by: contentState) }

    /// Returns the attributes as a phone that holds them reports them. Attributes that do not fit are returned
    /// unchanged.
    package func heldAttributes(_ given: JSONObject) -> JSONObject {
        attributes.map { held(given, by: $0) } ?? given
    }

    private func held(_ object: JSONObject, by schema: ContractSchema) -> JSONObject {
        var check = ContractCheck(schema, asHeld: true)
        return check.run(.object(object), .stored)?.object ?? object
    }

    /// Returns whether a phone with this contract decodes a state that was made for another contract. The state is in
    /// Swift's own form.
    func decodes(state: JSONObject) -> Bool { decodes(state, by: contentState) }

    /// Returns whether a phone with this contract decodes attributes that were made for another contract. They are in
    /// Swift's own form.
    func decodes(attributes given: JSONObject) -> Bool { attributes.map { decodes(given, by: $0) } ?? true }

    private func decodes(_ object: JSONObject, by schema: ContractSchema) -> Bool {
        var check = ContractCheck(schema, isLenient: true)
        return check.run(.object(object), .stored) != nil
    }

    /// Returns the reasons why a phone with this contract would not decode what an activity holds; empty if it would.
    /// Both arguments are in Swift's own form.
    package func obstacles(state: JSONObject, attributes given: JSONObject) -> [ContractProblem] {
        [(state, contentState), (given, attributes)].flatMap { object, schema -> [ContractProblem] in
            guard let schema else { return [] }
            var check = ContractCheck(schema, isLenient: true)
            return check.run(.object(object), .stored) == nil ? check.problems : []
        }
    }

    /// Returns whether the Swift type of the attributes has a property with this name.
    package func declares(attribute name: String) -> Bool {
        attributes?.node(at: .root)?.properties[name] != nil
    }

    /// Returns whether the value at a place of the attributes is an integer.
    package func holdsInteger(at pointer: JSONPointer) -> Bool {
        guard let node = attributes?.node(at: pointer) else { return false }
        if case .integer = node.swift { return true }
        return node.types?.contains(.string) == false && node.types?.contains(.integer) == true
    }
}

extension Contract.Origin {
    /// Returns the origin of an object's member.
    func of(_ key: String) -> Self {
        guard case .merged(let patch) = self else { return self }
        switch patch[key] {
        case nil: return .stored
        case .object(let inner): return .merged(inner)
        case .null, .bool, .number, .string, .array: return .given
        }
    }

    /// Origin of an array's elements. A patch replaces an array as a whole.
    var ofElements: Self { self == .stored ? .stored : .given }
}

/// Reason why a document is not a contract.
package struct ContractError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Place in the document.
    package let pointer: JSONPointer
    package let problem: String

    package var description: String { pointer == .root ? problem : "\(pointer): \(problem)" }

    init(_ pointer: JSONPointer, _ problem: String) {
        self.pointer = pointer
        self.problem = problem
    }
}

/// Reason why a value does not fit a contract.
package struct ContractViolation: Error, Sendable, Equatable {
    package let part: Contract.Part
    /// Problems in the order in which they were found: at least one, and at most `ContractCheck.maximumProblems`.
    package let problems: [ContractProblem]
}

/// One value that does not fit, or is missing.
package struct ContractProblem: Sendable, Equatable {
    /// Place inside the content state or the attributes.
    package let pointer: JSONPointer
    /// Description of what would fit.
    package let expected: String
    /// Description of the given value, shortened; `nil` if there is none.
    package let given: String?
    /// Advice on what to do, if that is clear.
    package var fix: String?
}
