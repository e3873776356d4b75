public import Foundation

/// The app's own type, as it stands in the app's source: a message that appears as a Live Activity.
public struct PagerMessageAttributes: Codable, Hashable, Sendable {
    /// The half that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// Who sent it, at most 20 characters.
        public var sender: String
        /// What it says, at most 100 characters.
        public var message: String
        /// Whether it is one of the app's own examples: never for what came from a person.
        public var isDemo: Bool
        /// Which of several messages it is, from 1.
        public var messageIndex: Int
        /// How many there are.
        public var totalMessages: Int
        /// When it was issued.
        public var timestamp: Date

        /// The whole state: each push replaces all of the one before.
        public init(
            sender: String, message: String, isDemo: Bool = false, messageIndex: Int = 1, totalMessages: Int = 1,
            timestamp: Date
        ) {
            self.sender = sender
            self.message = message
            self.isDemo = isDemo
            self.messageIndex = messageIndex
            self.totalMessages = totalMessages
            self.timestamp = timestamp
        }
    }

    /// The server's name of the message: by it the card is found again.
    public var messageID: String

    /// What is fixed when the activity starts.
    public init(messageID: String) {
        self.messageID = messageID
    }
}

extension PagerMessageAttributes {
    /// The contract of this type, from `PagerMessage.json` beside it: what the server checks states against.
    public static var contract: [UInt8] { PackageResources.PagerMessage_json }
}
