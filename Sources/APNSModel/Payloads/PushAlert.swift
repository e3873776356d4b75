import JSONText

/// An alert with title, body and sound. The texts are literal or localized by the app.
public struct PushAlert: Sendable, Hashable {
    /// A literal text, or a key of the app's `Localizable.strings` with arguments.
    public enum Text: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A text that is shown unchanged.
        case text(String)
        /// A key that the device looks up in its own language. The arguments replace `%@` in order.
        case localized(key: String, arguments: [String])

        /// Creates a text that is shown unchanged.
        public init(stringLiteral text: String) { self = .text(text) }

        var isEmpty: Bool {
            switch self {
            case .text(let text): text.isEmpty
            case .localized(let key, _): key.isEmpty
            }
        }
    }

    /// The first line. If it is empty, a start or an ordinary alert fails with `missingAlertTitle`.
    public var title: Text
    /// The text under the title. `nil` leaves it out of the payload.
    public var body: Text?
    /// The name of a sound file in the app's bundle, or `default`. `nil` leaves it out of the payload.
    public var sound: String?

    /// Creates an alert. The payload omits `body` and `sound` if they are `nil`.
    public init(title: Text, body: Text? = nil, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// The form that ActivityKit documents. `title` and `body` are each a string or `{"loc-key", "loc-args"}`, and
    /// `sound` is inside.
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
