import IsletBasics
import JSONText

extension ContractCheck {
    // MARK: - Objects

    mutating func object(_ node: SchemaNode, _ object: JSONObject, _ origin: Contract.Origin) -> JSONValue? {
        let before = problems.count
        var result: JSONObject = [:]
        for (key, value) in object {
            if let property = node.properties[key] {
                let encoded = below(key, property, value, origin.of(key))
                if encoded == nil, value == .null, !node.required.contains(key) { adviseLast("leave it out") }
                // `decodeIfPresent` treats `null` like a missing member, and the encoder leaves it out.
                if encoded == .null, !node.required.contains(key) { continue }
                let isPlainCase = asHeld && node.swift == .cases && schema.resolved(property).properties.isEmpty
                result[key] = isPlainCase ? [:] : encoded
                continue
            }
            switch node.additional {
            case .schema(let id): result[key] = below(key, id, value, origin.of(key))
            case .allowed:
                if !(asHeld && node.isStruct) { result[key] = value }
            // A member that this build does not know yet, or a constant of the phone's type, which is encoded but never
            // decoded.
            case .refused where isLenient: continue
            case .refused:
                let near = Spelling.meant(by: key, among: node.names.filter { object[$0] == nil })
                note(
                    "one of the members \(ContractWords.list(node.names))", value,
                    fix: near.map { "the name is `\($0)`" } ?? "leave it out: the Swift type has no such member",
                    at: key)
            }
        }
        for name in node.required where object[name] == nil { noteMissing(name, node, object) }
        switch node.swift {
        case .cases: checkCase(node, object)
        case .integerKeys:
            for key in object.keys where Int(key) == nil { note("a key that is an integer", .string(key), at: key) }
        default: break
        }
        if problems.count == before, !node.memberCount.contains(result.count) {
            note(node.memberCount.words("member", "members"), .object(object))
        }
        return problems.count == before ? .object(result) : nil
    }

    private mutating func noteMissing(_ name: String, _ node: SchemaNode, _ object: JSONObject) {
        let expected = node.properties[name].map { ContractWords.expected($0, schema) } ?? "a value"
        let others = object.keys.filter { node.properties[$0] == nil }
        let near = Spelling.meant(by: name, among: others)
        note(expected, nil, fix: near.map { "`\($0)` is there: Swift's name for it is `\(name)`" }, at: name)
    }

    /// Checks the key that names the case of an enum. The decoder ignores other keys, and needs exactly one that names
    /// a case.
    private mutating func checkCase(_ node: SchemaNode, _ object: JSONObject) {
        let named = object.keys.filter { node.properties[$0] != nil }
        guard named.count != 1 else { return }
        let near = named.isEmpty ? object.keys.first.flatMap { Spelling.meant(by: $0, among: node.names) } : nil
        note(
            "one key that names the case: \(ContractWords.list(node.names))", .object(object),
            fix: near.map { "the case is `\($0)`" })
    }

    // MARK: - Arrays

    mutating func array(_ node: SchemaNode, _ elements: [JSONValue], _ origin: Contract.Origin) -> JSONValue? {
        let before = problems.count
        let origin = origin.ofElements
        guard node.itemCount.contains(elements.count) else {
            note(node.itemCount.words("element", "elements"), .array(elements))
            return nil
        }
        if case .pairs(let key, let value) = node.swift { return pairs(key, value, elements, origin) }
        var result: [JSONValue] = []
        result.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard let id = index < node.prefix.count ? node.prefix[index] : node.items else {
                // A decoder that reads elements one by one does not read the extra ones.
                if !asHeld || node.prefix.isEmpty { result.append(element) }
                continue
            }
            if let encoded = below(String(index), id, element, origin) { result.append(encoded) }
        }
        guard problems.count == before else { return nil }
        if node.swift == .range {
            guard isRange(result) else { return nil }
            if asHeld { result = Array(result.prefix(2)) }
        }
        if node.areItemsUnique, Set(result).count < result.count {
            note("elements that all differ", .array(elements))
            return nil
        }
        if asHeld, node.swift == .set { result = Self.sorted(Array(Set(result))) }
        return .array(result)
    }

    private mutating func isRange(_ bounds: [JSONValue]) -> Bool {
        guard bounds.count >= 2 else {
            note("a range: [lower, upper]", .array(bounds))
            return false
        }
        let isInverted =
            switch (bounds[0], bounds[1]) {
            case (.number(let lower), .number(let upper)): SwiftNumbers.precedes(upper, lower)
            case (.string(let lower), .string(let upper)): upper < lower
            default: false
            }
        guard isInverted else { return true }
        note("a range whose lower bound comes first", .array(bounds), fix: "swap the two")
        return false
    }

    private mutating func pairs(
        _ key: Int, _ value: Int, _ elements: [JSONValue], _ origin: Contract.Origin
    ) -> JSONValue? {
        guard elements.count.isMultiple(of: 2) else {
            note("alternating keys and values: an even number of elements", .array(elements))
            return nil
        }
        let before = problems.count
        var result: [JSONValue] = []
        for (index, element) in elements.enumerated() {
            let id = index.isMultiple(of: 2) ? key : value
            if let encoded = below(String(index), id, element, origin) { result.append(encoded) }
        }
        guard problems.count == before else { return nil }
        guard asHeld else { return .array(result) }
        // The decoder keeps the last value of a key that occurs twice.
        var latest: [JSONValue: JSONValue] = [:]
        for index in stride(from: 0, to: result.count, by: 2) { latest[result[index]] = result[index + 1] }
        return .array(Self.sorted(Array(latest.keys)).flatMap { [$0, latest[$0] ?? .null] })
    }

    private static func sorted(_ values: [JSONValue]) -> [JSONValue] {
        values.map { ($0, $0.canonicalBytes) }.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }
}
