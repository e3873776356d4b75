import APNSModel
import JSONText
import LiveActivityCore
import TestSupport
import Testing

struct AlertTemplateTests {
    private static let state: JSONObject = [
        "sender": "Mia", "count": 3, "urgent": true, "blank": " ", "nothing": .null, "list": [1, 2],
        "deep": ["a/b": "slash"],
    ]
    private static let attributes: JSONObject = ["sender": "Attributes", "order": "12345"]

    @Test(arguments: [
        ("Hello", "Hello", []), ("{/sender} wrote", "Mia wrote", []), ("{/count} new", "3 new", []),
        ("urgent: {/urgent}", "urgent: true", []), ("Order {/order}", "Order 12345", []),
        ("{/deep/a~1b}!", "slash!", []), ("{{/sender}} {/sender}", "{/sender} Mia", []),
        ("From {/nobody}", "From ", ["/nobody"]), ("From {/nobody|somebody}", "From somebody", ["/nobody"]),
        ("{/blank|words}", "words", ["/blank"]), ("a {/nothing} b", "a  b", ["/nothing"]),
        ("{/list|a list}", "a list", ["/list"]), ("{/nobody|a|b}", "a|b", ["/nobody"]),
    ])
    func `A place says the state's value, else the attributes', else what stands after the bar`(
        text: String, expected: String, missing: [String]
    ) throws {
        let template = try AlertTemplate(title: .text(Phrase(text)))
        let filled = template.filled(state: Self.state, attributes: Self.attributes)
        #expect(filled.alert.title == .text(expected))
        #expect(filled.missing.map(\.description) == missing)
    }

    @Test func `Arguments of a localised text are filled, its key is not`() throws {
        let template = try AlertTemplate(
            title: .localized(key: "MESSAGE_{/sender}", arguments: [Phrase("{/sender}"), Phrase("{/nobody|you}")]),
            body: .text(Phrase("{/count}")), sound: "ping.caf")
        let alert = template.filled(state: Self.state, attributes: [:]).alert
        #expect(alert.title == .localized(key: "MESSAGE_{/sender}", arguments: ["Mia", "you"]))
        #expect(alert.body == .text("3"))
        #expect(alert.sound == "ping.caf")
    }

    @Test(arguments: [
        ("{/sender", AlertTemplateError.braceNotClosed), ("a } b", .braceNotOpened),
        ("{sender}", .notAPointer("sender")),
        ("{}", .notAPointer("")), ("{/a~2}", .notAPointer("/a~2")), ("", .titleMayBeEmpty), ("  ", .titleMayBeEmpty),
        ("{/sender}", .titleMayBeEmpty), ("{/sender| } {/order}", .titleMayBeEmpty),
    ])
    func `A text that is no template, or a title that may turn out empty, is refused`(
        text: String, error: AlertTemplateError
    ) {
        #expect(throws: error) { try AlertTemplate(title: .text(try Phrase(text))) }
    }

    @Test(arguments: ["", " ", "\n"]) func `A key of nothing but white space is no title`(key: String) {
        #expect(throws: AlertTemplateError.titleMayBeEmpty) {
            try AlertTemplate(title: .localized(key: key, arguments: []))
        }
    }

    @Test(arguments: ["é", "👨‍👩‍👧‍👦", "x", "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}"])
    func `A long value is cut between characters, and bounded in bytes`(character: String) throws {
        let long = String(repeating: character, count: 300)
        let template = try AlertTemplate(title: .text(Phrase("T{/long}")))
        guard case .text(let text) = template.filled(state: ["long": .string(long)], attributes: [:]).alert.title else {
            return
        }
        let value = text.dropFirst()
        #expect(value.count <= Phrase.maximumValue)
        #expect(value.utf8.count <= Phrase.maximumValue * 4)
        #expect(value.last == "…")
        #expect(value.dropLast().allSatisfy { String($0) == character })
    }

    @Test func `A value at the limit is not cut`() throws {
        let exact = String(repeating: "é", count: Phrase.maximumValue)
        let template = try AlertTemplate(title: .text(Phrase("T{/v}")))
        #expect(template.filled(state: ["v": .string(exact)], attributes: [:]).alert.title == .text("T" + exact))
    }

    @Test func `Whatever the state holds, the title is never empty and never too long`() throws {
        let seed: UInt64 = 11
        var dice = SeededDice(seed: seed)
        let pieces = ["a", " ", "{{", "}}", "{/x}", "{/y|else}", "{/z| }", "{/x/y|…}", "ü", "|", "/"]
        let values: [JSONValue] = [.null, "", " ", "words", 7, true, ["x"], ["y": "deep"], "  \n", "👨‍👩‍👧"]
        for _ in 0..<2000 {
            let text = (0..<dice.roll(8)).map { _ in pieces[dice.roll(pieces.count)] }.joined()
            guard let phrase = try? Phrase(text), let template = try? AlertTemplate(title: .text(phrase)) else {
                continue
            }
            var state: JSONObject = [:]
            for key in ["x", "y", "z"] where dice.roll(3) > 0 { state[key] = values[dice.roll(values.count)] }
            let filled = template.filled(state: state, attributes: [:])
            guard case .text(let title) = filled.alert.title else { continue }
            #expect(title.contains { !$0.isWhitespace }, "seed \(seed): \(text)")
            #expect(title.count <= Phrase.maximumLength, "seed \(seed)")
        }
    }

    @Test(arguments: ["Order {/id|?}: {{ready}}", "{/a/b}", "plain"])
    func `A phrase is described as it is written`(text: String) throws {
        let phrase = try Phrase(text)
        #expect(phrase.description == text)
    }

    @Test func `A fixed alert is taken as it is, braces and all`() throws {
        let alert = PushAlert(title: .text("{x"), body: .localized(key: "k", arguments: ["}"]), sound: "s")
        let template = try #require(AlertTemplate(alert))
        #expect(template.isFixed)
        #expect(template.filled(state: [:], attributes: [:]).alert == alert)
        #expect(AlertTemplate(PushAlert(title: .text(""))) == nil)
    }
}
