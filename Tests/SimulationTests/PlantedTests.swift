import Foundation
import Simulation
import TestSupport
import Testing

/// Tests that each bug planted by `script/simulate --planted` and `script/planted-nodes` still has its place in the
/// sources.
struct PlantedTests {
    private struct Unreadable: Error {}

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func bugs(in folder: String = "Planted") throws -> [(name: String, text: String)] {
        let folder = root.appending(path: "Hardening/\(folder)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".txt") }
            .sorted().map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
    }

    private static func value(_ key: String, in text: String) throws -> String {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("\(key): ") }) else {
            throw Unreadable()
        }
        return String(line.dropFirst(key.count + 2))
    }

    @Test(arguments: [("Planted", 30), ("PlantedNodes", 12)])
    func `each fits one place, beside all before it, and says which of them it is`(folder: String, least: Int) throws {
        let bugs = try Self.bugs(in: folder)
        #expect(bugs.count >= least)
        var sources: [String: String] = [:]
        for (index, bug) in bugs.enumerated() {
            let parts = bug.text.components(separatedBy: "--- instead of\n")
            let texts = parts.last?.components(separatedBy: "\n--- stands\n") ?? []
            guard parts.count == 2, texts.count == 2 else {
                Issue.record("\(bug.name) cannot be read")
                continue
            }
            let file = try Self.value("File", in: bug.text)
            let source = try sources[file] ?? String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
            #expect(source.components(separatedBy: texts[0]).count == 2, "\(bug.name) has lost its place")
            sources[file] = source.replacing(texts[0], with: texts[1].dropLast())
            #expect(texts[1].contains("planted == \(index + 1)") || texts[1].contains("planted != \(index + 1)"))
        }
    }

    @Test func `each rule has a bug that breaks it`() throws {
        let rules = try Self.bugs().map { Int(try Self.value("Rule", in: $0.text)) }
        #expect(Set(rules.compactMap { $0 }) == Set(Rule.allCases.map(\.rawValue)))
    }
}
