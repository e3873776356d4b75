import JSONText

/// The text of an alert: the text itself, or a key that the app translates into the phone's language.
public enum AlertText: Sendable, Hashable {
    /// The text as it is shown. Encoded as a JSON string.
    case text(String)
    /// A key of the app's `Localizable` strings, and the replacements for its `%@`.
    ///
    /// Encoded as `{"locKey": …, "locArgs": […]}`.
    case localized(key: String, arguments: [String])
}

extension AlertText: Codable {
    private struct Localized: Codable {
        let locKey: String
        let locArgs: [String]?
    }

    private static let expectation = "a string or {locKey, locArgs}"

    /// Decodes the text from a string or from `{locKey, locArgs}`. Without `locArgs` there are no arguments.
    public init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string(let text): self = .text(text)
        case .object:
            let localized = try Localized(from: decoder)
            self = .localized(key: localized.locKey, arguments: localized.locArgs ?? [])
        case .null, .bool, .number, .array: throw decoder.wrongType(AlertText.self, Self.expectation)
        }
    }

    /// Encodes a text as a string, and a key as an object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .localized(let key, let arguments):
            try Localized(locKey: key, locArgs: arguments).encode(to: encoder)
        }
    }
}
