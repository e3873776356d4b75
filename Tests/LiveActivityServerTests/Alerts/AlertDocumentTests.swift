import Foundation
import JSONText
import LiveActivityCore
import Testing

@testable import LiveActivityServer

/// Documents about alerts and metrics.
@Suite struct AlertDocumentTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `docs alerts yml is the table that the server goes by`() throws {
        let text = try Self.text("docs/alerts.yml")
        #expect(text == AlertRulesFile.text, "docs/alerts.yml is to be:\n\(AlertRulesFile.text)")
    }

    @Test func `every rule has a row in docs metrics md, in order, and a name of its own`() throws {
        let rows = try Self.text("docs/metrics.md").split(separator: "\n").filter { $0.hasPrefix("| `Islet") }
        #expect(rows.count == AlertRule.all.count)
        for (row, rule) in zip(rows, AlertRule.all) { #expect(row.hasPrefix("| `\(rule.name)` |"), "\(row)") }
        #expect(Set(AlertRule.all.map(\.name)).count == AlertRule.all.count)
    }

    @Test(arguments: ["docs/alerts.yml", "docs/grafana.json"])
    func `every metric that is named is described, with labels that it has`(path: String) throws {
        let text = try Self.text(path)
        let described = try Self.text("docs/metrics.md")
        var count = 0
        for match in text.matches(of: /\b((?:islet|process)_[a-z_]+)(?:\{([^}]*)\})?/) {
            let word = String(match.1)
            let name = ["_bucket", "_count", "_sum"].first { word.hasSuffix($0) }.map {
                String(word.dropLast($0.count))
            }
            let metric = try #require(
                Metric(rawValue: word) ?? name.flatMap { Metric(rawValue: $0) }, "\(path) names \(word)")
            #expect(metric.kind == .histogram || Metric(rawValue: word) != nil, "\(path): \(word) is no histogram")
            #expect(described.contains("| `\(metric.name)` | \(metric.kind.rawValue) |"))
            for label in (match.2.map(String.init) ?? "").matches(of: /([a-z]+)\s*[!=]~?/) {
                #expect(metric.labels.contains(String(label.1)), "\(path): \(metric.name) has no \(label.1)")
            }
            count += 1
        }
        #expect(count > 15)
    }

    @Test func `the dashboard is one, and its panels do not lie on each other`() throws {
        let board = try JSONValue(parsing: Array(Self.text("docs/grafana.json").utf8))
        let panels = try #require(board.object?["panels"]?.array).compactMap(\.object)
        #expect(board.object?["title"] == "Islet" && panels.count > 10)
        #expect(Set(panels.compactMap { $0["id"]?.int }).count == panels.count)
        var taken: Set<[Int]> = []
        for panel in panels {
            let place = try #require(panel["gridPos"]?.object)
            let (x, y) = (try #require(place["x"]?.int), try #require(place["y"]?.int))
            let (width, height) = (try #require(place["w"]?.int), try #require(place["h"]?.int))
            #expect(x + width <= 24)
            for column in x..<x + width {
                for row in y..<y + height { #expect(taken.insert([column, row]).inserted, "\(panel["title"] ?? "")") }
            }
            #expect(panel["targets"]?.array?.isEmpty == false)
        }
    }
}
