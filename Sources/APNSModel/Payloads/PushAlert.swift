import JSONText

/// What an alert says: title, body and sound, each as text or by key out of the app's own strings.
public struct PushAlert: Sendable, Hashable {
    /// A text, or a key of the app's `Localizable.strings` with its arguments.
    public enum Text: Sendable, Hashable, ExpressibleByStringLiteral {
        /// Shown as it is.
        case text(String)
        /// Looked up by the device in its own language; the arguments replace `%@` in order.
        case localized(key: String, arguments: [String])

        /// The text of a literal, shown as it is.
        public init(stringLiteral text: String) { self = .text(text) }

        var isEmpty: Bool {
            switch self {
            case .text(let text): text.isEmpty
            case .localized(let key, _): key.isEmpty
            }
        }
    }

    /// The first line. A start or an ordinary alert with an empty title is refused as `missingAlertTitle`.
    public var title: Text
    /// What stands under the title; left out when `nil`.
    public var body: Text?
    /// A file of the app's bundle, or `default`.
    public var sound: String?

    /// `body` and `sound` are left out of the payload when `nil`.
    public init(title: Text, body: Text? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// The form ActivityKit documents: `title` and `body` each text or `{"loc-key", "loc-args"}`, `sound` inside.
    var activityValue: JSONValue {
        var members: JSONObject = ["title": Self.nested(title)]
        if let body { members["body"] = Self.nested(body) }
        if let sound { members["sound"] = .string(sound) }
        return .object(members)
    }

    private static func nested(_ text: Text) -> JSONValue {
        switch text {
        case .text(let text): .string(text)
        case .localized(let key, let arguments):
            .object(["loc-key": .string(key), "loc-args": .array(arguments.map(JSONValue.string))])
        }
    }
}
