import Foundation
import LiveActivityCore
import Testing

@testable import LiveActivityServer

/// Prometheus itself, with the same rules over the same numbers.
@Suite(.enabled(if: Promtool.isExpected, "promtool is missing (Debian's prometheus)"))
struct PrometheusTests {
    @Test func `it takes the rules`() throws {
        try Promtool.run(["check", "rules", "rules.yml"], files: ["rules.yml": AlertRulesFile.text])
    }

    /// Each rule fires and recovers in that half hour. The server's alerts at each minute equal Prometheus's.
    @Test func `it has the same alerts fire at the same times as the server`() throws {
        let scenario = AlertScenario()
        let firing = scenario.firing(every: 60)
        for rule in AlertRule.all {
            #expect(firing.values.contains { $0.contains { $0.hasPrefix(rule.name) } }, "\(rule.name) never fires")
            #expect(firing.values.contains { !$0.contains { $0.hasPrefix(rule.name) } }, "\(rule.name) always fires")
        }
        try Promtool.run(
            ["test", "rules", "test.yml"],
            files: ["rules.yml": AlertRulesFile.text(annotated: false), "test.yml": Self.test(scenario, firing)])
    }

    private static func test(_ scenario: AlertScenario, _ firing: [Int: Set<String>]) -> String {
        var series: [String: [Int: String]] = [:]
        let times = Array(stride(from: 0, through: AlertScenario.end, by: AlertScenario.step))
        for time in times {
            for line in PrometheusText.write(scenario.families(at: time)).split(separator: "\n")
            where !line.hasPrefix("#") {
                guard let space = line.lastIndex(of: " ") else { continue }
                series[String(line[..<space]), default: [:]][time] = String(line[line.index(after: space)...])
            }
        }
        var lines = ["rule_files: [rules.yml]", "evaluation_interval: \(AlertScenario.step)s", "tests:"]
        lines += ["  - interval: \(AlertScenario.step)s", "    input_series:"]
        for (name, values) in series.sorted(by: { $0.key < $1.key }) {
            lines.append("      - series: '\(name)'")
            lines.append("        values: '\(times.map { values[$0] ?? "_" }.joined(separator: " "))'")
        }
        lines.append("    alert_rule_test:")
        for (time, alerts) in firing.sorted(by: { $0.key < $1.key }) {
            for rule in AlertRule.all {
                lines += ["      - eval_time: \(time)s", "        alertname: \(rule.name)"]
                let mine = alerts.filter { $0.split(separator: " ").first.map(String.init) == rule.name }.sorted()
                guard !mine.isEmpty else { continue }
                lines.append("        exp_alerts:")
                for alert in mine {
                    let labels = alert.split(separator: " ").dropFirst().map { label in
                        let parts = label.split(separator: "=", maxSplits: 1)
                        return "\(parts[0]): \(parts[1])"
                    }
                    let all = labels + ["severity: \(rule.severity.rawValue)"]
                    lines.append("          - exp_labels: {\(all.joined(separator: ", "))}")
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

enum Promtool {
    static let path: String? = ["/usr/bin/promtool", "/usr/local/bin/promtool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// `true` if tests that need it run: where it is installed, and always in CI, to fail there.
    static var isExpected: Bool { path != nil || ProcessInfo.processInfo.environment["CI"] != nil }

    /// Runs promtool in a folder with these files and expects success.
    static func run(_ arguments: [String], files: [String: String]) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "islet-rules-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let output = folder.appending(path: "output")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(path, "promtool is missing (Debian's prometheus)"))
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = process.standardOutput
        try process.run()
        process.waitUntilExit()
        let words = try String(contentsOf: output, encoding: .utf8)
        #expect(process.terminationStatus == 0, "\(words.prefix(6000))")
    }
}
