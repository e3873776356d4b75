/// The rules for Prometheus: `docs/alerts.yml`.
package enum AlertRulesFile {
    package static var text: String { text(annotated: true) }

    /// - Parameter annotated: `true` to include the texts for people.
    static func text(annotated: Bool) -> String {
        var lines = [
            "# Alerting rules for Prometheus (rule_files). What each means stands in metrics.md, \"What to alert on\".",
            "# Made of the table that the server goes by itself; a test holds the two together.",
            "groups:", "  - name: islet", "    rules:",
        ]
        for rule in AlertRule.all {
            lines.append("      - alert: \(rule.name)")
            let expression = rule.expression.promQL.split(separator: "\n")
            if expression.count == 1 {
                lines.append("        expr: \(expression[0])")
            } else {
                lines += ["        expr: |"] + expression.map { "          \($0)" }
            }
            if rule.lasts > .zero { lines.append("        for: \(AlertExpression.text(rule.lasts))") }
            lines.append("        labels: {severity: \(rule.severity.rawValue)}")
            guard annotated else { continue }
            lines += [
                "        annotations:", "          summary: \"\(rule.summary)\"",
                "          description: \"\(rule.meaning)\"",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
