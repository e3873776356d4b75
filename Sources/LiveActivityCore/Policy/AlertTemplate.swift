package import APNSModel
package import JSONText

/// An alert with placeholders that are filled when its push is built: `New message from {/sender|somebody}`.
///
/// A placeholder names a value of the content state, or else of the attributes. A title always has text of its own or a
/// placeholder with a default. So it is never empty, whatever the state lacks, because iOS drops a start without a
/// title.
package struct AlertTemplate: Sendable, Equatable {
    /// Title or body: text, or a key of the app's localized strings with arguments.
    package enum Text: Sendable, Equatable {
        case text(Phrase)
        case localized(key: String, arguments: [Phrase])
    }

    package let title: Text
    package let body: Text?
    /// A file in the app's bundle, or `default`.
    package let sound: String?

    /// - Throws: `AlertTemplateError.titleMayBeEmpty`.
    package init(title: Text, body: Text? = nil, sound: String? = nil) throws(AlertTemplateError) {
        let mayBeEmpty =
            switch title {
            case .text(let phrase): phrase.mayBeEmpty
            case .localized(let key, _): Phrase.isBlank(key)
            }
        guard !mayBeEmpty else { throw .titleMayBeEmpty }
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// A template filled with one state.
    package struct Filled: Sendable, Equatable {
        package var alert: PushAlert
        /// Placeholders without a usable value. The alert contains their defaults.
        package var missing: [JSONPointer]
    }

    /// `true` if nothing depends on the state, so that it need not be read.
    package var isFixed: Bool {
        Self.phrases(of: title).allSatisfy(\.isFixed) && (body.map(Self.phrases) ?? []).allSatisfy(\.isFixed)
    }

    /// Returns the alert for this state.
    package func filled(state: JSONObject, attributes: JSONObject) -> Filled {
        var missing: [JSONPointer] = []
        let (state, attributes) = (JSONValue.object(state), JSONValue.object(attributes))
        func say(_ phrase: Phrase) -> String { phrase.text(state, attributes, &missing) }
        func say(_ text: Text) -> PushAlert.Text {
            switch text {
            case .text(let phrase): .text(say(phrase))
            case .localized(let key, let arguments): .localized(key: key, arguments: arguments.map(say))
            }
        }
        let alert = PushAlert(title: say(title), body: body.map(say), sound: sound)
        return Filled(alert: alert, missing: missing)
    }

    /// Returns the alert for this content. The content is parsed only if a placeholder needs it.
    package func filled(with content: ContentRecord) -> Filled {
        guard !isFixed else { return filled(state: [:], attributes: [:]) }
        return filled(state: Self.object(content.state), attributes: Self.object(content.attributes))
    }

    private static func object(_ encoded: EncodedObject) -> JSONObject {
        (try? JSONValue(parsing: encoded.bytes))?.object ?? [:]
    }

    private static func phrases(of text: Text) -> [Phrase] {
        switch text {
        case .text(let phrase): [phrase]
        case .localized(_, let arguments): arguments
        }
    }
}

/// A text with placeholders `{/pointer}` or `{/pointer|default}`. Write `{{` and `}}` for the braces themselves.
package struct Phrase: Sendable, Equatable, CustomStringConvertible {
    /// Maximum number of characters of a value. A longer one is cut between two characters and ends with `…`.
    package static let maximumValue = 100
    /// Maximum number of characters of the whole text.
    package static let maximumLength = 500
    /// Maximum number of bytes per character, on average. Most scripts need three.
    private static let maximumBytes = 4

    private enum Part: Sendable, Equatable {
        case words(String)
        case place(JSONPointer, otherwise: String)
    }

    private let parts: [Part]

    /// Creates a text without placeholders, whatever it contains.
    package init(verbatim text: String) {
        parts = text.isEmpty ? [] : [.words(text)]
    }

    /// Parses a text.
    ///
    /// - Throws: `AlertTemplateError` for a brace without its counterpart, or a placeholder that is not a JSON Pointer.
    package init(_ text: String) throws(AlertTemplateError) {
        var parts: [Part] = []
        var words = ""
        var rest = Substring(text)
        while let first = rest.popFirst() {
            if first == "{" || first == "}", rest.first == first {
                words.append(first)
                rest.removeFirst()
            } else if first == "{" {
                guard let end = rest.firstIndex(of: "}") else { throw .braceNotClosed }
                if !words.isEmpty { parts.append(.words(words)) }
                words = ""
                parts.append(try Self.place(rest[..<end]))
                rest = rest[rest.index(after: end)...]
            } else if first == "}" {
                throw .braceNotOpened
            } else {
                words.append(first)
            }
        }
        if !words.isEmpty { parts.append(.words(words)) }
        self.parts = parts
    }

    private static func place(_ text: Substring) throws(AlertTemplateError) -> Part {
        let halves = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(halves.first ?? "")
        guard name.hasPrefix("/"), let pointer = try? JSONPointer(name) else { throw .notAPointer(name) }
        return .place(pointer, otherwise: halves.count > 1 ? String(halves[1]) : "")
    }

    /// The text as it was written.
    package var description: String {
        parts.map { part in
            switch part {
            case .words(let words):
                words.map { $0 == "{" ? "{{" : $0 == "}" ? "}}" : String($0) }.joined()
            case .place(let pointer, let otherwise):
                "{\(pointer)" + (otherwise.isEmpty ? "" : "|\(otherwise)") + "}"
            }
        }.joined()
    }

    package var isFixed: Bool {
        parts.allSatisfy { if case .words = $0 { true } else { false } }
    }

    /// `true` if there is a state for which the text is empty.
    var mayBeEmpty: Bool {
        parts.allSatisfy { part in
            switch part {
            case .words(let words): Self.isBlank(words)
            case .place(_, let otherwise): Self.isBlank(otherwise)
            }
        }
    }

    func text(_ state: JSONValue, _ attributes: JSONValue, _ missing: inout [JSONPointer]) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .words(let words): text += words
            case .place(let pointer, let otherwise):
                if let value = Self.words(state[pointer]) ?? Self.words(attributes[pointer]) {
                    text += value
                } else {
                    missing.append(pointer)
                    text += otherwise
                }
            }
        }
        return Self.cut(text, to: Self.maximumLength)
    }

    /// Returns a string, a number in its canonical form, `true` or `false`; `nil` for anything else and for a blank
    /// string.
    private static func words(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text): isBlank(text) ? nil : cut(text, to: maximumValue)
        case .number(let number): cut(number.canonicalText, to: maximumValue)
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object, nil: nil
        }
    }

    static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

    /// Cuts a text by characters and by bytes, because a character may carry any number of accents.
    static func cut(_ text: String, to length: Int) -> String {
        guard text.utf8.count > length else { return text }
        // Length up to which the `…` still fits.
        var fitting = text.startIndex
        var (characters, bytes) = (0, 0)
        for index in text.indices {
            if characters < length, bytes <= length * maximumBytes - 3 { fitting = index }
            characters += 1
            bytes += text[index].utf8.count
            if characters > length || bytes > length * maximumBytes { return text[..<fitting] + "…" }
        }
        return text
    }
}

/// Reason why a text is not a template.
package enum AlertTemplateError: Error, Sendable, Hashable, CustomStringConvertible {
    case braceNotClosed
    case braceNotOpened
    case notAPointer(String)
    case titleMayBeEmpty

    package var description: String {
        switch self {
        case .braceNotClosed:
            "`{` begins a placeholder such as {/sender}, which ends with `}`; write `{{` for the brace"
        case .braceNotOpened: "`}` has no `{` before it; write `}}` for the brace"
        case .notAPointer(let text):
            "`\(text)` is not a JSON Pointer such as /sender; a default may follow it after `|`"
        case .titleMayBeEmpty:
            "the title may be empty, and iOS drops an alert without a title: add text, or a default, as in "
                + "{/sender|Somebody}"
        }
    }
}

extension AlertTemplate {
    /// Creates a template without placeholders; `nil` if the title is empty.
    package init?(_ alert: PushAlert) {
        func fixed(_ text: PushAlert.Text) -> Text {
            switch text {
            case .text(let text): .text(Phrase(verbatim: text))
            case .localized(let key, let arguments):
                .localized(key: key, arguments: arguments.map(Phrase.init(verbatim:)))
            }
        }
        try? self.init(title: fixed(alert.title), body: alert.body.map(fixed), sound: alert.sound)
    }
}
