import JSONText

/// A push token as a phone reports it: an even number of 32 to 512 hexadecimal digits.
///
/// Its description shows only the first 8 characters, so that a request can be logged. The token is kept in lower case,
/// so two tokens that differ only in case are equal.
public struct TokenText: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The whole token in lower case. Never log it.
    public let text: String

    private static let expectation = "an even number of hexadecimal digits, 32 to 512"

    /// Creates a token. Returns `nil` if the text has another form.
    public init?(_ text: String) {
        guard 32...512 ~= text.utf8.count, text.utf8.count.isMultiple(of: 2) else { return nil }
        guard text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }) else { return nil }
        self.text = text.lowercased()
    }

    /// The first 8 characters.
    public var description: String { text.prefix(8) + "…" }

    /// A mirror without children, so that `dump` does not print the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TokenText: Codable {
    /// Decodes a token from a string.
    ///
    /// - Throws: `DecodingError` if the value is not an even number of 32 to 512 hexadecimal digits.
    public init(from decoder: any Decoder) throws {
        guard let text = try JSONValue(from: decoder).string else {
            throw decoder.wrongType(TokenText.self, Self.expectation)
        }
        guard let token = TokenText(text) else { throw decoder.invalid(Self.expectation) }
        self = token
    }

    /// Encodes the whole token.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
