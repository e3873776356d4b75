public import BackendCalls
import JSONText

/// The pager's backend: it knows people and messages, and nothing of phones, tokens and pushes.
///
/// It keeps no queue of its own: what the server answered with 200 survives a crash, and goes out.
public struct Pager: Sendable {
    private let islet: IsletAPI

    /// - Parameters:
    ///   - islet: Where the server is: `http://127.0.0.1:8080`.
    ///   - key: An API key with the scope `backend`.
    public init(islet: String, key: String) {
        self.islet = IsletAPI(islet: islet, key: key)
    }

    /// Shows a message on a person's phone: as a card, or where none can be shown as an ordinary notification.
    ///
    /// The same message again is the same message: a call whose answer was lost is repeated.
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

    /// The person has read it: its card goes, wherever it is shown.
    public func close(_ message: Message) async throws -> IsletAPI.Answer {
        try await islet.call(
            .POST, "/v1/activities/" + IsletAPI.segment(Self.activity(of: message)) + "/end", ["dismissNow": true])
    }

    /// Tells a person something that is not worth a card.
    ///
    /// - Parameter id: What makes it the same note in a repeated call.
    public func note(_ text: String, from sender: String, to person: String, id: String) async throws -> IsletAPI.Answer
    {
        try await islet.call(
            .POST, "/v1/users/" + IsletAPI.segment(person) + "/notifications",
            [
                "id": .string(id),
                "alert": ["title": .string(sender), "body": .string(text), "threadId": "notes", "sound": "default"],
            ])
    }

    /// Where a message is: on which phone, and if on none, why.
    public func look(at message: Message) async throws -> IsletAPI.Answer {
        try await islet.call(.GET, "/v1/activities/" + IsletAPI.segment(Self.activity(of: message)))
    }

    /// The server's name of a message.
    public static func activity(of message: Message) -> String { "message-\(message.id)" }
}
