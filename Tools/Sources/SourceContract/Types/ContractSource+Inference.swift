import SwiftParser
import SwiftSyntax

/// Types of properties that are declared without one.
extension ContractSource {
    func infer(_ expression: ExprSyntax, _ scope: Scope) -> Resolved? {
        if expression.is(IntegerLiteralExprSyntax.self) { return Resolved(.scalar(.int)) }
        if expression.is(FloatLiteralExprSyntax.self) { return Resolved(.scalar(.double)) }
        if expression.is(BooleanLiteralExprSyntax.self) { return Resolved(.scalar(.bool)) }
        if expression.is(StringLiteralExprSyntax.self) { return Resolved(.scalar(.string)) }
        if let prefix = expression.as(PrefixOperatorExprSyntax.self), "+-!".contains(prefix.operator.text) {
            return infer(prefix.expression, scope)
        }
        if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1 {
            return tuple.elements.first.flatMap { infer($0.expression, scope) }
        }
        if let array = expression.as(ArrayExprSyntax.self) {
            return common(array.elements.map(\.expression), scope).map { Resolved(.array($0)) }
        }
        if let dictionary = expression.as(DictionaryExprSyntax.self) { return infer(dictionary, scope) }
        if let sequence = expression.as(SequenceExprSyntax.self) { return infer(sequence, scope) }
        if let call = expression.as(FunctionCallExprSyntax.self) { return infer(call, scope) }
        if let member = expression.as(MemberAccessExprSyntax.self) { return infer(member, scope) }
        if let unwrapped = expression.as(ForceUnwrapExprSyntax.self) {
            guard case .optional(let shape) = infer(unwrapped.expression, scope)?.shape else { return nil }
            return Resolved(shape)
        }
        return nil
    }

    /// Returns the common type of a literal's elements. Integers among doubles are doubles, and `nil` makes the type
    /// optional.
    private func common(_ elements: [ExprSyntax], _ scope: Scope) -> Shape? {
        let values = elements.filter { !$0.is(NilLiteralExprSyntax.self) }
        var shapes = Set(values.map { infer($0, scope)?.shape })
        if shapes == [.scalar(.int), .scalar(.double)], values.allSatisfy(\.isNumberLiteral) {
            shapes = [.scalar(.double)]
        }
        guard shapes.count == 1, let shape = shapes.first ?? nil else { return nil }
        return values.count == elements.count ? shape : StandardTypes.optional(shape)
    }

    private func infer(_ dictionary: DictionaryExprSyntax, _ scope: Scope) -> Resolved? {
        guard case .elements(let elements) = dictionary.content, let key = common(elements.map(\.key), scope),
            let value = common(elements.map(\.value), scope)
        else { return nil }
        return Resolved(.dictionary(key: key, value: value))
    }

    /// Infers `a as T`, ranges, and arithmetic of literals.
    private func infer(_ sequence: SequenceExprSyntax, _ scope: Scope) -> Resolved? {
        let elements = Array(sequence.elements)
        if elements.count == 3, let cast = elements[1].as(UnresolvedAsExprSyntax.self),
            let type = elements[2].as(TypeExprSyntax.self)
        {
            guard let resolved = try? resolve(type.type, scope) else { return nil }
            return cast.questionOrExclamationMark?.text == "?"
                ? Resolved(StandardTypes.optional(resolved.shape)) : resolved
        }
        let operands = stride(from: 0, to: elements.count, by: 2).map { elements[$0] }
        let operators = stride(from: 1, to: elements.count, by: 2).map {
            elements[$0].as(BinaryOperatorExprSyntax.self)?.operator.text ?? ""
        }
        guard let shape = common(operands, scope) else { return nil }
        switch operators.first {
        case "...": return elements.count == 3 ? Resolved(.range("ClosedRange", shape)) : nil
        case "..<": return elements.count == 3 ? Resolved(.range("Range", shape)) : nil
        default:
            let isNumber =
                [Shape.scalar(.int), .scalar(.double)].contains(shape) && operands.allSatisfy(\.isNumberLiteral)
            let isText = shape == .scalar(.string) && operands.allSatisfy { $0.is(StringLiteralExprSyntax.self) }
            let known: Set<String> = isText ? ["+"] : ["+", "-", "*", "/", "%"]
            return (isNumber || isText) && operators.allSatisfy(known.contains) ? Resolved(shape) : nil
        }
    }

    // MARK: - Calls and members

    private func infer(_ call: FunctionCallExprSyntax, _ scope: Scope) -> Resolved? {
        var callee = call.calledExpression
        if let member = callee.as(MemberAccessExprSyntax.self), member.declName.baseName.text == "init",
            let base = member.base
        {
            callee = base
        }
        if let type = type(named: callee, scope) { return made(type, by: call) }
        // A case with associated values.
        guard let member = callee.as(MemberAccessExprSyntax.self), let base = member.base,
            let owner = type(named: base, scope), case .named(let instance) = owner.shape,
            cases(of: instance).contains(member.declName.baseName.plainText)
        else { return nil }
        return owner
    }

    /// Returns the result of an initializer: the type, or an optional of it if the initializer can fail.
    private func made(_ type: Resolved, by call: FunctionCallExprSyntax) -> Resolved? {
        let labels = call.arguments.map { $0.label?.plainText ?? "" }
        if case .named(let instance) = type.shape {
            let initializers = index.all[instance.declaration].members.compactMap {
                $0.node.as(InitializerDeclSyntax.self)
            }
            return initializers.contains { $0.optionalMark != nil } || labels.contains("rawValue") ? nil : type
        }
        if labels.isEmpty { return type }
        if labels.allSatisfy(Self.reliableLabels.contains) { return type }
        if labels.contains(where: Self.failingLabels.contains) {
            return Resolved(StandardTypes.optional(type.shape), isOptional: true)
        }
        guard labels == [""], case .scalar(let scalar) = type.shape, let argument = call.arguments.first?.expression
        else { return nil }
        if scalar == .string { return argument.is(StringLiteralExprSyntax.self) ? type : nil }
        return (scalar.isInteger || scalar.isFloating || scalar == .decimal) && argument.isNumberLiteral ? type : nil
    }

    private static let reliableLabels: Set<String> = [
        "timeIntervalSinceNow", "timeIntervalSince1970", "timeIntervalSinceReferenceDate", "since", "repeating",
        "count",
        "x", "y", "width", "height", "origin", "size", "fileURLWithPath", "filePath",
    ]
    private static let failingLabels: Set<String> = ["string", "uuidString", "base64Encoded", "exactly"]

    private func infer(_ member: MemberAccessExprSyntax, _ scope: Scope) -> Resolved? {
        guard let base = member.base, let owner = type(named: base, scope) else { return nil }
        let name = member.declName.baseName.plainText
        switch owner.shape {
        case .scalar, .sequence: return Self.statics.contains(name) ? owner : nil
        case .optional: return name == "none" ? owner : nil
        case .named(let instance):
            if cases(of: instance).contains(name) { return owner }
            guard let property = staticProperty(name, of: instance) else { return nil }
            if let type = property.typeAnnotation?.type { return try? resolve(type, self.scope(of: instance)) }
            return property.initializer.flatMap { infer($0.value, self.scope(of: instance)) }
        case .array, .set, .dictionary, .range, .given: return nil
        }
    }

    /// Static members of standard types whose type is the same type.
    private static let statics: Set<String> = [
        "zero", "pi", "max", "min", "now", "distantPast", "distantFuture", "infinity", "greatestFiniteMagnitude",
        "leastNormalMagnitude",
    ]

    private func cases(of instance: Instance) -> [String] {
        index.all[instance.declaration].members.compactMap { $0.node.as(EnumCaseDeclSyntax.self) }
            .flatMap { $0.elements.map(\.name.plainText) }
    }

    private func staticProperty(_ name: String, of instance: Instance) -> PatternBindingSyntax? {
        let variables = index.all[instance.declaration].members.compactMap { $0.node.as(VariableDeclSyntax.self) }
        return variables.filter { $0.modifiers.contains { $0.name.text == "static" } }.flatMap(\.bindings).first {
            $0.pattern.trimmedDescription == name
        }
    }

    /// Returns the type that an expression names. `[Int]` and `Set<String>` look like expressions before a call.
    private func type(named expression: ExprSyntax, _ scope: Scope) -> Resolved? {
        let text = expression.trimmedDescription
        guard let first = text.first(where: { $0 != "[" && $0 != "(" }), first.isLetter || first == "_" || first == "`"
        else { return nil }
        let tree = Parser.parse(source: "var a: \(text)")
        guard !tree.hasError, tree.statements.count == 1,
            let variable = tree.statements.first?.item.as(VariableDeclSyntax.self),
            let type = variable.bindings.first?.typeAnnotation?.type
        else { return nil }
        var scope = scope
        scope.origin = Syntax(expression)
        return try? resolve(type, scope)
    }
}

extension ExprSyntax {
    fileprivate var isNumberLiteral: Bool {
        if let prefix = self.as(PrefixOperatorExprSyntax.self) { return prefix.expression.isNumberLiteral }
        return self.is(IntegerLiteralExprSyntax.self) || self.is(FloatLiteralExprSyntax.self)
    }
}
