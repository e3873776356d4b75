import Foundation
import JSONText
import SourceContract
import Testing

/// The corpus of the server's tests, which compile the same sources: each of their contracts must equal the tool's
/// output. With `WRITE_CORPUS=1` in the environment the contracts are written instead.
struct CorpusTests {
    private static let tests = root.appending(path: "Tests/ContractCorpusTests")
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static let examples = [
        "OrderTracking/Shop": "OrderTrackingAttributes", "EmojiRangers/Guild": "AdventureAttributes",
        "FocusTimer/Functions": "FocusTimerAttributes", "Pager/Backend": "PagerMessageAttributes",
        "NextUp/Focus": "NextUpAttributes",
    ]

    @Test func `the corpus comes out of the source as it is committed`() throws {
        let corpus = try Self.source(in: Self.tests.appending(path: "Corpus"))
        let types = corpus.attributesTypes
        #expect(types.count >= 65)
        for type in types { try compare(type, corpus) }
        for (folder, type) in Self.examples {
            try compare(type, try Self.source(in: Self.root.appending(path: "Examples/\(folder)")))
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.tests.appending(path: "Contracts").path)
        #expect(Set(files) == Set((types + Self.examples.values).map { "\($0).json" }))
    }

    @Test func `an app's file says by itself which type it is about`() throws {
        let app = try Self.source(in: Self.root.appending(path: "Examples/PizzaApp/Shared"))
        #expect(app.attributesTypes == ["OrderTrackingAttributes"])
        let document = try app.contract().document.object
        #expect(document?["attributes"]?.object?["required"] == ["orderId", "restaurant"])
        #expect(document?["contentState"]?.object?["required"] == ["status", "progress"])
    }

    private func compare(_ type: String, _ source: AppSource) throws {
        let file = Self.tests.appending(path: "Contracts/\(type).json")
        let text = try source.contract(of: type).document.prettyText + "\n"
        if ProcessInfo.processInfo.environment["WRITE_CORPUS"] == "1" {
            try Data(text.utf8).write(to: file)
        } else {
            #expect(try String(contentsOf: file, encoding: .utf8) == text, "\(type)")
        }
    }

    private static func source(in folder: URL) throws -> AppSource {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        return try AppSource(
            names.sorted().map {
                Source(name: $0, text: try String(contentsOf: folder.appending(path: $0), encoding: .utf8))
            })
    }
}
