public import Foundation

/// A message from one person to another, shortened to what fits on a card.
public struct Message: Sendable, Hashable {
    /// The pager's own id. The activity's id at the server is `message-` and this.
    public let id: String
    /// The sender, at most 20 characters.
    public let sender: String
    /// The text, at most 100 characters.
    public let text: String
    /// The time of issue.
    public let issuedAt: Date

    /// The most characters of a sender that a card shows.
    public static let senderCharacters = 20
    /// The most characters of a message that a card shows.
    public static let textCharacters = 100
    /// The most bytes of a sender. A character may have any number of accents, and a push has only 4,096 bytes.
    static let senderBytes = 512
    /// The most bytes of a message.
    static let textBytes = 2048
    /// The most bytes of a message in an alert, which is in the same push as the state.
    static let alertBytes = 512

    /// Creates a message. Long texts are cut between two characters, never inside one.
    public init(id: String, from sender: String, _ text: String, at date: Date) {
        self.id = id
        self.sender = Self.cut(sender, to: Self.senderCharacters, Self.senderBytes)
        self.text = Self.cut(text, to: Self.textCharacters, Self.textBytes)
        issuedAt = date
    }

    /// The content state of the message's card.
    public var state: PagerMessageAttributes.ContentState {
        PagerMessageAttributes.ContentState(sender: sender, message: text, timestamp: issuedAt)
    }

    /// The alert's text below the sender.
    var alertText: String { Self.cut(text, to: Self.textCharacters, Self.alertBytes) }

    /// Shortens a text by characters as a person counts them: an emoji of several code points counts once.
    static func cut(_ text: String, to characters: Int, _ bytes: Int) -> String {
        var (kept, length) = ("", 0)
        for (count, character) in text.enumerated() {
            length += character.utf8.count
            guard count < characters, length <= bytes else { break }
            kept.append(character)
        }
        return kept
    }
}
