import JSONText

/// Checks a value against a schema, and encodes it at the same time.
struct ContractCheck {
    /// Maximum number of problems that are listed.
    static let maximumProblems = 20
    /// Maximum number of comparisons of a value with a schema. Nested alternatives multiply.
    static let maximumSteps = 100_000
    /// Maximum nesting of arrays and objects. Values from a call have less.
    static let maximumDepth = 64

    let schema: ContractSchema
    /// `true` if the value is encoded as a phone would report it. See `Contract.heldState`.
    let asHeld: Bool
    /// `true` if members that the schema does not have are ignored, as the decoder does.
    let isLenient: Bool
    private(set) var problems: [ContractProblem] = []
    private(set) var path: [String] = []
    private var steps = 0

    init(_ schema: ContractSchema, asHeld: Bool = false, isLenient: Bool = false) {
        self.schema = schema
        self.asHeld = asHeld
        self.isLenient = isLenient || asHeld
    }

    /// Returns the encoded value. If the value does not fit, returns `nil` and adds at least one problem.
    mutating func run(_ value: JSONValue, _ origin: Contract.Origin) -> JSONValue? {
        check(schema.root, value, origin)
    }

    mutating func check(_ id: Int, _ value: JSONValue, _ origin: Contract.Origin) -> JSONValue? {
        steps += 1
        guard steps <= Self.maximumSteps, path.count <= Self.maximumDepth else {
            note("a value with less nesting and fewer alternatives", value)
            return nil
        }
        let node = schema.nodes[id]
        switch node.form {
        case .never:
            note("nothing here", value)
            return nil
        case .reference(let target): return check(target, value, origin)
        case .anyOf(let branches):
            guard hasType(node, value) else { return nil }
            return alternatives(branches, value, origin, isExclusive: false)
        case .oneOf(let branches):
            guard hasType(node, value) else { return nil }
            return alternatives(branches, value, origin, isExclusive: true)
        case .direct: return direct(node, value, origin)
        }
    }

    // MARK: - Problems

    mutating func note(_ expected: String, _ value: JSONValue?, fix: String? = nil, at key: String? = nil) {
        guard problems.count < Self.maximumProblems else { return }
        problems.append(
            ContractProblem(
                pointer: JSONPointer(tokens: path + (key.map { [$0] } ?? [])), expected: expected,
                given: value.map(ContractWords.given), fix: fix))
    }

    /// Checks the value under a key or an index.
    mutating func below(_ token: String, _ id: Int, _ value: JSONValue, _ origin: Contract.Origin) -> JSONValue? {
        path.append(token)
        defer { path.removeLast() }
        return check(id, value, origin)
    }

    mutating func adviseLast(_ fix: String) {
        guard let last = problems.indices.last, problems[last].fix == nil else { return }
        problems[last].fix = fix
    }

    // MARK: - Alternatives

    private mutating func alternatives(
        _ branches: [Int], _ value: JSONValue, _ origin: Contract.Origin, isExclusive: Bool
    ) -> JSONValue? {
        var found: [JSONValue] = []
        var failed: [(branch: Int, problems: [ContractProblem])] = []
        for branch in branches {
            var attempt = self
            attempt.problems = []
            let result = attempt.check(branch, value, origin)
            steps = attempt.steps
            if let result { found.append(result) } else { failed.append((branch, attempt.problems)) }
            if !found.isEmpty, !isExclusive { break }
        }
        if found.count == 1 { return found.first }
        guard found.isEmpty else {
            note("a value that fits one of \(branches.count) alternatives", value, fix: "it fits \(found.count)")
            return nil
        }
        // Choose the branch that was meant: the only one that got further than its type, or else the only one for this
        // kind of value.
        let entered = failed.filter { $0.problems.allSatisfy { $0.pointer.tokens.count > path.count } }
        let ofType = failed.filter { ContractWords.mayTake(value, $0.branch, schema) }
        if let meant = entered.count == 1 ? entered.first : ofType.count == 1 ? ofType.first : nil {
            problems += meant.problems.prefix(Self.maximumProblems - min(problems.count, Self.maximumProblems))
        } else {
            let words = branches.map { ContractWords.expected($0, schema) }
            note(words.prefix(ContractWords.maximumNames).joined(separator: " or "), value)
        }
        return nil
    }

    // MARK: - One value

    private mutating func hasType(_ node: SchemaNode, _ value: JSONValue) -> Bool {
        guard let types = node.types, !types.contains(where: { $0.includes(value) }) else { return true }
        note(ContractWords.expected(node), value, fix: ContractWords.fix(for: value, node))
        return false
    }

    private mutating func direct(
        _ node: SchemaNode, _ given: JSONValue, _ origin: Contract.Origin
    ) -> JSONValue? {
        var value = given
        if value == .null {
            guard node.takesNull else {
                note(ContractWords.expected(node), value)
                return nil
            }
        } else if let type = node.swift {
            guard let encoded = type.encoded(value, origin) else {
                note(ContractWords.expected(node), value, fix: ContractWords.fix(for: value, node))
                return nil
            }
            value = encoded
        }
        guard hasType(node, value) else { return nil }
        guard let listed = listed(node, value) else {
            let choices = node.values ?? [node.constant ?? .null]
            note(ContractWords.oneOf(choices), given, fix: ContractWords.nearest(to: given, among: choices))
            return nil
        }
        switch listed {
        case .null, .bool: return listed
        case .number(let number): return isWithin(node, number) ? listed : nil
        case .string(let text):
            guard !node.length.contains(text.unicodeScalars.count) else { return listed }
            note(node.length.words("character", "characters"), given)
            return nil
        case .array(let elements): return array(node, elements, origin)
        case .object(let object): return self.object(node, object, origin)
        }
    }

    /// Returns the value as `enum` or `const` spells it. Swift considers texts equal if their characters are equal.
    private func listed(_ node: SchemaNode, _ value: JSONValue) -> JSONValue? {
        if let constant = node.constant, constant != value { return nil }
        guard let values = node.values else { return value }
        if values.contains(value) { return value }
        guard let text = value.string else { return nil }
        return values.first { $0.string == text }
    }

    private mutating func isWithin(_ node: SchemaNode, _ number: JSONNumber) -> Bool {
        let precedes = SwiftNumbers.precedes
        if let least = node.minimum, precedes(number, least) {
            note("at least \(least)", .number(number))
        } else if let most = node.maximum, precedes(most, number) {
            note("at most \(most)", .number(number))
        } else if let bound = node.exclusiveMinimum, !precedes(bound, number) {
            note("more than \(bound)", .number(number))
        } else if let bound = node.exclusiveMaximum, !precedes(number, bound) {
            note("less than \(bound)", .number(number))
        } else {
            return true
        }
        return false
    }
}

extension SwiftType {
    /// Returns what `JSONEncoder` writes for the value that `JSONDecoder` reads; `nil` if the decoder throws. For
    /// arrays and objects, only the kind is checked.
    func encoded(_ value: JSONValue, _ origin: Contract.Origin) -> JSONValue? {
        switch (self, value) {
        case (.date, .number(let number)) where origin == .stored:
            return SwiftNumbers.floating(Double.self, number).map(JSONValue.number)
        case (.date(let input), _) where origin != .stored: return input.encoded(value).map(JSONValue.number)
        case (.bool, .bool), (.string, .string), (.range, .array), (.set, .array), (.pairs, .array),
            (.integerKeys, .object), (.cases, .object):
            return value
        case (.integer(let type), .number(let number)):
            return type.decoded(number).flatMap { JSONNumber($0) }.map(JSONValue.number)
        case (.double, .number(let number)): return SwiftNumbers.floating(Double.self, number).map(JSONValue.number)
        case (.float, .number(let number)): return SwiftNumbers.floating(Float.self, number).map(JSONValue.number)
        case (.decimal, .number(let number)): return SwiftNumbers.decimal(number).map(JSONValue.number)
        case (.data, .string(let text)): return SwiftTexts.base64(text).map(JSONValue.string)
        case (.url, .string(let text)) where SwiftTexts.isURL(text): return value
        case (.uuid, .string(let text)): return SwiftTexts.uuid(text).map(JSONValue.string)
        default: return nil
        }
    }
}
