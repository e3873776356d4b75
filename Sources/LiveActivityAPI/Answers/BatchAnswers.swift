public import JSONText

/// The answer to one line of `POST /v1/batch` or of a streamed audience. Answers come in the order of the lines.
public struct LineAnswer: Sendable, Hashable, Codable {
    /// The number of the answered line, from 1.
    public var line: Int
    /// The HTTP status that the write would have as a call of its own.
    public var status: Int
    /// `true` if this repeats the answer to an earlier call with the same idempotency key. Otherwise `nil`.
    public var replayed: Bool?
    /// The answer of the write, or the problem document (``ProblemDetails``) if it was refused.
    public var body: JSONValue

    /// Creates the answer to one line.
    public init(line: Int, status: Int, replayed: Bool? = nil, body: JSONValue) {
        self.line = line
        self.status = status
        self.replayed = replayed
        self.body = body
    }
}

/// The answer to a write of an activity within a batch. Unlike ``ActivityAnswer``, it says nothing about phones.
public struct BatchActivityAnswer: Sendable, Hashable, Codable {
    /// The revision of the desired state after the write.
    public var revision: Int
    /// `true` if the write changed the desired state.
    public var changed: Bool
    /// The phase of the activity.
    public var phase: String
    /// `true` if a write with a greater `sequence` came before, so that this one changed nothing. Otherwise `nil`.
    public var superseded: Bool?

    /// Creates the answer to one write.
    public init(revision: Int, changed: Bool, phase: String, superseded: Bool? = nil) {
        self.revision = revision
        self.changed = changed
        self.phase = phase
        self.superseded = superseded
    }
}
