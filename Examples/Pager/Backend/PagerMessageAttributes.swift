public import Foundation

/// The app's own type, as in the app's source: a message that appears as a Live Activity.
public struct PagerMessageAttributes: Codable, Hashable, Sendable {
    /// The part that changes.
    public struct ContentState: Codable, Hashable, Sendable {
        /// The sender, at most 20 characters.
        public var sender: String
        /// The text, at most 100 characters.
        public var message: String
        /// `true` for the app's own examples, and never for a person's message.
        public var isDemo: Bool
        /// The number of this message among several, from 1.
        public var messageIndex: Int
        /// The number of messages.
        public var totalMessages: Int
        /// The time of issue.
        public var timestamp: Date

        /// Creates the whole state. Each push replaces everything of the previous one.
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

    /// The message's id at the server. The server finds the card by it.
    public var messageID: String

    /// Creates the part that is fixed when the activity starts.
    public init(messageID: String) {
        self.messageID = messageID
    }
}

extension PagerMessageAttributes {
    /// The contract of this type, from `PagerMessage.json` beside this file. The server checks states against it.
    public static var contract: [UInt8] { PackageResources.PagerMessage_json }
}
