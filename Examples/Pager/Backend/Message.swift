public import Foundation

/// A message from one person to another, cut to what a card has room for.
public struct Message: Sendable, Hashable {
    /// The pager's own id of it: the activity's id at the server is `message-` and this.
    public let id: String
    /// Who sent it, at most 20 characters.
    public let sender: String
    /// What it says, at most 100 characters.
    public let text: String
    /// When it was issued.
    public let issuedAt: Date

    /// The characters of a sender that a card shows.
    public static let senderCharacters = 20
    /// The characters of a message that a card shows.
    public static let textCharacters = 100
    /// A character may carry any number of accents, and a push has 4,096 bytes: a name has so many at most.
    static let senderBytes = 512
    /// The same of a message.
    static let textBytes = 2048
    /// The same of a message in an alert, which goes beside it in the same push.
    static let alertBytes = 512

    /// Texts that are too long are cut between two characters, never inside one.
    public init(id: String, from sender: String, _ text: String, at date: Date) {
        self.id = id
        self.sender = Self.cut(sender, to: Self.senderCharacters, Self.senderBytes)
        self.text = Self.cut(text, to: Self.textCharacters, Self.textBytes)
        issuedAt = date
    }

    /// What a card of it shows.
    public var state: PagerMessageAttributes.ContentState {
        PagerMessageAttributes.ContentState(sender: sender, message: text, timestamp: issuedAt)
    }

    /// What its alert says below the sender.
    var alertText: String { Self.cut(text, to: Self.textCharacters, Self.alertBytes) }

    /// A character is what a person calls one: an emoji of several code points counts once.
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
