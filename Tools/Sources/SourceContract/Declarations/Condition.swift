import SwiftSyntax

/// Evaluates `#if` conditions for an iPhone, where this is possible.
enum Condition {
    /// Modules that every iPhone has, and modules that none has.
    private static let modules: Set<String> = [
        "ActivityKit", "AppIntents", "Combine", "CoreGraphics", "CoreLocation", "Darwin", "Foundation", "MapKit",
        "Observation", "StoreKit", "SwiftUI", "UIKit", "UserNotifications", "WidgetKit",
    ]
    private static let otherModules: Set<String> = ["AppKit", "Cocoa", "Glibc", "Musl", "WinSDK", "Android"]
    private static let otherSystems: Set<String> = [
        "macOS", "OSX", "watchOS", "tvOS", "visionOS", "xrOS", "Linux", "Windows", "Android", "FreeBSD", "WASI",
    ]

    static func value(of expression: ExprSyntax) -> Bool? {
        if let literal = expression.as(BooleanLiteralExprSyntax.self) { return literal.literal.text == "true" }
        if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1, let inner = tuple.elements.first
        {
            return value(of: inner.expression)
        }
        if let negated = expression.as(PrefixOperatorExprSyntax.self), negated.operator.text == "!" {
            return value(of: negated.expression).map { !$0 }
        }
        if let sequence = expression.as(SequenceExprSyntax.self) { return value(of: Array(sequence.elements)) }
        if let call = expression.as(FunctionCallExprSyntax.self) { return value(of: call) }
        return nil
    }

    /// Evaluates alternating operands and operators. `&&` binds more tightly than `||`.
    private static func value(of elements: [ExprSyntax]) -> Bool? {
        func isOperator(_ element: ExprSyntax, _ text: String) -> Bool {
            element.as(BinaryOperatorExprSyntax.self)?.operator.text == text
        }
        let terms = elements.split { isOperator($0, "||") }.map { term -> Bool? in
            let factors = term.split { isOperator($0, "&&") }.map { $0.count == 1 ? $0.first.flatMap(value) : nil }
            if factors.contains(false) { return false }
            return factors.contains(nil) ? nil : true
        }
        if terms.contains(true) { return true }
        return terms.contains(nil) ? nil : false
    }

    private static func value(of call: FunctionCallExprSyntax) -> Bool? {
        guard let argument = call.arguments.first?.expression.trimmedDescription, call.arguments.count == 1 else {
            return nil
        }
        switch call.calledExpression.trimmedDescription {
        case "os": return argument == "iOS" ? true : otherSystems.contains(argument) ? false : nil
        case "canImport": return modules.contains(argument) ? true : otherModules.contains(argument) ? false : nil
        case "targetEnvironment": return argument == "macCatalyst" ? false : nil
        default: return nil
        }
    }

    /// Returns the clause that an iPhone takes. `isDecided` is `false` if this cannot be determined; the clause has no
    /// elements if none is taken.
    static func clause(of directive: IfConfigDeclSyntax) -> (isDecided: Bool, clause: IfConfigClauseSyntax?) {
        for clause in directive.clauses {
            guard let condition = clause.condition else { return (true, clause) }
            switch value(of: condition) {
            case true: return (true, clause)
            case false: continue
            case nil: return (false, nil)
            }
        }
        return (true, nil)
    }
}
