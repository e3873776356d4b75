import JSONText
import SwiftSyntax

/// The decoding of these files' types: the code that the compiler writes for them (SE-0166, SE-0295).
extension ContractSource {
    mutating func definition(of instance: Instance) -> Definition? {
        let declaration = index.all[instance.declaration]
        if let schema = schemas[index.path(instance.declaration).joined(separator: ".")] ?? schemas[declaration.name] {
            return .given(schema)
        }
        guard isDecodable(instance.declaration) else {
            note(declaration.node, .notCodable(declaration.name))
            return nil
        }
        for attribute in declaration.attributes {
            let name = attribute.attributeName.trimmedDescription
            if !StandardTypes.harmlessTypeAttributes.contains(name) { note(attribute, .macro(name)) }
        }
        guard !noteForeignDecoding(instance.declaration) else { return nil }
        switch declaration.kind {
        case .structure, .classType:
            if isRawRepresentable(instance.declaration) { return rawRepresentable(instance) }
            return declaration.kind == .structure ? object(instance) : classDefinition(instance)
        case .enumeration: return enumDefinition(instance)
        case .actor, .protocolType, .alias, .foreign: return nil
        }
    }

    // MARK: - Structs

    private mutating func object(_ instance: Instance) -> Definition {
        let properties = storedProperties(of: instance)
        let scope = scope(of: instance)
        let name = index.all[instance.declaration].name
        guard let keys = codingKeys("CodingKeys", of: instance.declaration) else {
            return .object(properties.compactMap { field($0, key: $0.name, scope) })
        }
        var fields: [Field] = []
        for key in keys {
            guard let property = properties.first(where: { $0.name == key.name }) else {
                note(key.node, .keyWithoutProperty(key.name, type: name))
                continue
            }
            if let field = field(property, key: key.text, scope) { fields.append(field) }
        }
        let left = properties.filter { property in !keys.contains { $0.name == property.name } }
        for property in left where !property.hasDefault { note(property.node, .neverDecoded(property.name)) }
        return .object(fields)
    }

    private mutating func field(_ property: StoredProperty, key: String, _ scope: Scope) -> Field? {
        // A constant with an initial value is never decoded.
        if property.isLet, property.value != nil { return nil }
        if let condition = property.condition {
            note(condition, .conditional("`\(property.name)`"))
            return nil
        }
        if let wrapper = property.wrapper {
            note(
                wrapper, .wrapper(property: property.name, wrapper: wrapper.attributeName.trimmedDescription))
            return nil
        }
        do throws(TypeProblem) {
            let resolved = try type(of: property, scope)
            return Field(key: key, shape: resolved.shape, isRequired: !resolved.isOptional)
        } catch {
            note(error)
            return nil
        }
    }

    func type(of property: StoredProperty, _ scope: Scope) throws(TypeProblem) -> Resolved {
        if let type = property.type { return try resolve(type, scope) }
        guard let value = property.value, let inferred = infer(value, scope) else {
            throw TypeProblem(property.node, .cannotInfer(property.name))
        }
        return inferred
    }

    // MARK: - Raw values

    /// Returns `true` if the standard library decodes the type from its raw value, so that the compiler writes no
    /// decoding.
    func isRawRepresentable(_ id: Int) -> Bool {
        !protocols(of: id).isDisjoint(with: ["RawRepresentable", "OptionSet"])
    }

    /// Returns the definition of a struct or class that is decoded from its raw value. The type of a computed raw value
    /// is known only to its code.
    private mutating func rawRepresentable(_ instance: Instance) -> Definition? {
        let id = instance.declaration
        guard let property = storedProperties(of: instance).first(where: { $0.name == "rawValue" }) else {
            note(index.all[id].node, .computedRawValue(index.all[id].name))
            return nil
        }
        // The standard library decodes only its own types of raw values. For any other type the compiler writes the
        // decoding.
        guard let resolved = try? type(of: property, scope(of: instance)), case .scalar(let scalar) = resolved.shape,
            scalar.isRawType
        else { return index.all[id].kind == .structure ? object(instance) : classDefinition(instance) }
        for initializer in rawInitializers(id) where initializer.optionalMark != nil {
            note(initializer, .rawValue(index.all[id].name))
        }
        return .anyRaw(scalar)
    }

    func rawInitializers(_ id: Int) -> [InitializerDeclSyntax] {
        index.all[id].members.compactMap { $0.node.as(InitializerDeclSyntax.self) }.filter {
            let parameters = $0.signature.parameterClause.parameters
            return parameters.count == 1 && parameters.first?.firstName.text == "rawValue"
        }
    }

    // MARK: - Classes

    /// Returns the definition of a class. A class whose superclass is Codable inherits its `init(from:)`, so its own
    /// properties are not decoded.
    private mutating func classDefinition(_ instance: Instance) -> Definition? {
        guard let parent = superclass(of: instance.declaration), isDecodable(parent) else { return object(instance) }
        guard !noteForeignDecoding(parent) else { return nil }
        for property in storedProperties(of: instance) where !property.hasDefault {
            note(property.node, .neverDecoded(property.name))
        }
        let declaration = index.all[instance.declaration]
        for type in inheritedTypes(of: instance.declaration)
        where inherited(type, by: instance.declaration) == parent {
            do throws(TypeProblem) {
                guard case .named(let above) = try resolve(type, scope(of: instance)).shape else { continue }
                return classDefinition(above)
            } catch {
                note(error)
            }
        }
        note(declaration.node, .notCodable(declaration.name))
        return nil
    }
}
