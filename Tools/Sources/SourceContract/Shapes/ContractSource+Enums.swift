import JSONText
import SwiftParser
import SwiftSyntax

extension ContractSource {
    mutating func enumDefinition(_ instance: Instance) -> Definition? {
        let declaration = index.all[instance.declaration]
        if let raw = rawType(of: instance.declaration) {
            for initializer in rawInitializers(instance.declaration) { note(initializer, .rawValue(declaration.name)) }
            guard raw.isRawType else {
                note(declaration.node, .notDecodable("\(declaration.name): \(raw.rawValue)"))
                return nil
            }
            return rawCases(instance, raw)
        }
        // Usually such an enum accepts unknown raw values, so its cases are not decoded.
        guard !isRawRepresentable(instance.declaration) else {
            note(declaration.node, .computedRawValue(declaration.name))
            return nil
        }
        return cases(instance)
    }

    /// Returns the type of an enum's raw values, if it has any.
    private func rawType(of id: Int) -> Scalar? {
        guard let first = index.all[id].inherited.first,
            let resolved = try? resolve(first, Scope(declaration: index.all[id].parent)),
            case .scalar(let scalar) = resolved.shape
        else { return nil }
        return scalar
    }

    private mutating func elements(of id: Int) -> [EnumCaseElementSyntax] {
        var elements: [EnumCaseElementSyntax] = []
        for member in index.all[id].members {
            guard let node = member.node.as(EnumCaseDeclSyntax.self) else { continue }
            if let condition = member.condition { note(condition, .conditional("a case of `\(index.all[id].name)`")) }
            elements += node.elements
        }
        return elements
    }

    // MARK: - Raw values

    private mutating func rawCases(_ instance: Instance, _ raw: Scalar) -> Definition? {
        var values: [JSONValue] = []
        var last: JSONValue?
        for element in elements(of: instance.declaration) {
            var value = raw == .string ? .string(element.name.plainText) : Self.following(last)
            if let written = element.rawValue?.value { value = Self.rawValue(written, raw) }
            guard let value else {
                note(element, .rawValue(element.name.plainText))
                continue
            }
            values.append(value)
            last = value
        }
        guard !values.isEmpty else {
            note(index.all[instance.declaration].node, .noCases(index.all[instance.declaration].name))
            return nil
        }
        return .raw(raw, values)
    }

    /// Returns the compiler's raw value for a case without one of its own: one more than the one before.
    private static func following(_ value: JSONValue?) -> JSONValue? {
        guard let value else { return 0 }
        guard case .number(let number) = value else { return nil }
        return number.int.map { .number(JSONNumber($0 + 1)) }
    }

    private static func rawValue(_ expression: ExprSyntax, _ raw: Scalar) -> JSONValue? {
        if let literal = expression.as(StringLiteralExprSyntax.self) {
            return raw == .string ? literal.representedLiteralValue.map(JSONValue.string) : nil
        }
        if let literal = expression.as(BooleanLiteralExprSyntax.self) {
            return raw == .bool ? .bool(literal.literal.text == "true") : nil
        }
        guard raw != .string, raw != .bool else { return nil }
        if let negated = expression.as(PrefixOperatorExprSyntax.self), negated.operator.text == "-" {
            guard case .number(let number) = rawValue(negated.expression, raw) else { return nil }
            return JSONNumber(number.text == "0" ? "0" : "-\(number.text)").map(JSONValue.number)
        }
        if let literal = expression.as(IntegerLiteralExprSyntax.self) { return integer(literal.literal.text) }
        if let literal = expression.as(FloatLiteralExprSyntax.self) {
            return literal.representedLiteralValue.flatMap { JSONNumber($0) }.map(JSONValue.number)
        }
        return nil
    }

    private static func integer(_ literal: String) -> JSONValue? {
        let text = literal.filter { $0 != "_" }
        let radix = text.hasPrefix("0x") ? 16 : text.hasPrefix("0o") ? 8 : text.hasPrefix("0b") ? 2 : 10
        return UInt64(text.dropFirst(radix == 10 ? 0 : 2), radix: radix).flatMap { JSONNumber(String($0)) }
            .map(JSONValue.number)
    }

    // MARK: - Associated values

    private mutating func cases(_ instance: Instance) -> Definition? {
        let declaration = index.all[instance.declaration]
        let scope = scope(of: instance)
        let elements = elements(of: instance.declaration)
        let keys = codingKeys("CodingKeys", of: instance.declaration)
        for key in keys ?? [] where !elements.contains(where: { $0.name.plainText == key.name }) {
            note(key.node, .keyWithoutProperty(key.name, type: declaration.name))
        }
        var cases: [(key: String, fields: [Field])] = []
        for element in elements {
            let name = element.name.plainText
            if elements.contains(where: { $0.name.plainText == name && $0.id != element.id }) {
                note(element, .caseTwice(name))
            }
            // A case that CodingKeys omits is never decoded.
            guard let key = keys == nil ? name : keys?.first(where: { $0.name == name })?.text else { continue }
            cases.append((key, fields(of: element, instance.declaration, scope)))
        }
        guard !cases.isEmpty else {
            note(declaration.node, .noCases(declaration.name))
            return nil
        }
        return .cases(cases)
    }

    private mutating func fields(of element: EnumCaseElementSyntax, _ id: Int, _ scope: Scope) -> [Field] {
        let parameters = Array(element.parameterClause?.parameters ?? [])
        let name = element.name.plainText
        let keys = codingKeys(name.prefix(1).asciiUppercased + name.dropFirst() + "CodingKeys", of: id)
        let labels = parameters.enumerated().map { position, parameter in
            let label = parameter.firstName?.plainText
            return label == nil || label == "_" ? "_\(position)" : label ?? ""
        }
        for key in keys ?? [] where !labels.contains(key.name) {
            note(key.node, .keyWithoutProperty(key.name, type: name))
        }
        var fields: [Field] = []
        for (label, parameter) in zip(labels, parameters) {
            guard let key = keys == nil ? label : keys?.first(where: { $0.name == label })?.text else {
                if parameter.defaultValue == nil { note(parameter, .neverDecoded(label)) }
                continue
            }
            do throws(TypeProblem) {
                let resolved = try resolve(parameter.type, scope)
                fields.append(Field(key: key, shape: resolved.shape, isRequired: !resolved.isOptional))
            } catch {
                note(error)
            }
        }
        return fields
    }
}

extension Substring {
    fileprivate var asciiUppercased: String {
        utf8.count == 1 ? uppercased() : String(self)
    }
}
