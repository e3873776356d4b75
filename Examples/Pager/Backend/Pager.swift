public import BackendCalls
import JSONText

/// The pager's backend. It knows people and messages, and nothing of phones, tokens and pushes.
///
/// It has no queue of its own, because the server delivers what it answered with 200, also after a crash.
public struct Pager: Sendable {
    private let islet: IsletAPI

    /// - Parameters:
    ///   - islet: The server's address, such as `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = IsletAPI(islet: islet, key: key)
    }

    /// Shows a message on a person's phone as a card, or as an ordinary notification where no card can be shown.
    ///
    /// A repeated call is the same message, so a call without an answer can be repeated.
    public func send(_ message: Message, to person: String) async throws -> IsletAPI.Answer {
        let name = Self.activity(of: message)
        return try await islet.call(
            .PUT, "/v1/activities/" + IsletAPI.segment(name),
            [
                "type": "PagerMessage", "state": try JSONValue(encoding: message.state),
                "attributes": try JSONValue(encoding: PagerMessageAttributes(messageID: name)),
                "audience": ["users": [.string(person)]], "priority": "high",
                "alert": [
                    "id": .string(name), "title": .string(message.sender.isEmpty ? "Message" : message.sender),
                    "body": .string(message.alertText), "sound": "default",
                ],
                "fallback": [
                    "alert": ["title": "{/sender|Message}", "body": "{/message}", "sound": "default"]
                ],
            ])
    }

    /// Removes the message's card wherever it is shown, because the person has read it.
    public func close(_ message: Message) async throws -> IsletAPI.Answer {
        try await islet.call(
            .POST, "/v1/activities/" + IsletAPI.segment(Self.activity(of: message)) + "/end", ["dismissNow": true])
    }

    /// Sends a person a note that is not worth a card.
    ///
    /// - Parameter id: The id that makes a repeated call the same note.
    public func note(_ text: String, from sender: String, to person: String, id: String) async throws -> IsletAPI.Answer
    {
        try await islet.call(
            .POST, "/v1/users/" + IsletAPI.segment(person) + "/notifications",
            [
                "id": .string(id),
                "alert": ["title": .string(sender), "body": .string(text), "threadId": "notes", "sound": "default"],
            ])
    }

    /// Returns on which phone a message is, or why it is on none.
    public func look(at message: Message) async throws -> IsletAPI.Answer {
        try await islet.call(.GET, "/v1/activities/" + IsletAPI.segment(Self.activity(of: message)))
    }

    /// Returns the message's id at the server.
    public static func activity(of message: Message) -> String { "message-\(message.id)" }
}
