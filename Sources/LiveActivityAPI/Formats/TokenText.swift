import JSONText

/// A push token as a phone reports it: hexadecimal digits, an even number of them, 32 to 512.
///
/// Printing it shows its first 8 characters only, so that a request can be logged. It is kept in lower case: the same
/// token in other case is the same token.
public struct TokenText: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The whole token, in lower case; not for logs.
    public let text: String

    private static let expectation = "an even number of hexadecimal digits, 32 to 512"

    /// The token, or nil when the text cannot be one.
    public init?(_ text: String) {
        guard 32...512 ~= text.utf8.count, text.utf8.count.isMultiple(of: 2) else { return nil }
        guard text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }) else { return nil }
        self.text = text.lowercased()
    }

    /// The first 8 characters.
    public var description: String { text.prefix(8) + "…" }

    /// No parts, so that `dump` does not show the token either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TokenText: Codable {
    /// A token from a string.
    public init(from decoder: any Decoder) throws {
        guard let text = try JSONValue(from: decoder).string else {
            throw decoder.wrongType(TokenText.self, Self.expectation)
        }
        guard let token = TokenText(text) else { throw decoder.invalid(Self.expectation) }
        self = token
    }

    /// Writes the whole token.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
