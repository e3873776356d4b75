import SwiftParser
import SwiftSyntax

/// A case of an enum of coding keys.
struct CodingKeyCase {
    /// The name of the member.
    let name: String
    /// The key in the JSON.
    let text: String
    let node: Syntax
}

extension ContractSource {
    /// Returns the keys that a type lists itself. Returns `nil` if it lists none, so that its members' names are the
    /// keys.
    mutating func codingKeys(_ name: String, of id: Int) -> [CodingKeyCase]? {
        guard let found = index.all[id].children[name]?.first else { return nil }
        let declaration = index.all[found]
        if let condition = declaration.condition {
            note(condition, .conditional("`\(name)`"))
            return []
        }
        guard let target = enumeration(found) else {
            note(declaration.node, .strangeCodingKeys("they are no enum of these files"))
            return []
        }
        return keys(of: target)
    }

    /// Returns the enum itself, or the enum that an alias names.
    private func enumeration(_ id: Int) -> Int? {
        let declaration = index.all[id]
        if declaration.kind == .enumeration { return id }
        guard let alias = declaration.node.as(TypeAliasDeclSyntax.self),
            let resolved = try? resolve(alias.initializer.value, Scope(declaration: declaration.parent)),
            case .named(let instance) = resolved.shape, index.all[instance.declaration].kind == .enumeration
        else { return nil }
        return instance.declaration
    }

    private mutating func keys(of id: Int) -> [CodingKeyCase] {
        let declaration = index.all[id]
        let isText = declaration.inherited.first?.pathNames.last.map { isString($0, id) } ?? false
        var keys: [CodingKeyCase] = []
        for member in declaration.members {
            if let variable = member.node.as(VariableDeclSyntax.self),
                variable.bindings.contains(where: { $0.pattern.trimmedDescription == "stringValue" })
            {
                note(variable, .strangeCodingKeys("they have a `stringValue` of their own"))
            }
            guard let node = member.node.as(EnumCaseDeclSyntax.self) else { continue }
            if let condition = member.condition { note(condition, .conditional("a case of `\(declaration.name)`")) }
            for element in node.elements {
                let name = element.name.plainText
                var text = name
                if isText, let raw = element.rawValue {
                    guard let literal = raw.value.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
                        note(raw, .rawValue(name))
                        continue
                    }
                    text = literal
                }
                keys.append(CodingKeyCase(name: name, text: text, node: Syntax(element)))
            }
        }
        return keys
    }

    private func isString(_ name: String, _ id: Int) -> Bool {
        guard let type = index.all[id].inherited.first else { return false }
        return (try? resolve(type, Scope(declaration: index.all[id].parent)))?.shape == .scalar(.string)
    }
}
