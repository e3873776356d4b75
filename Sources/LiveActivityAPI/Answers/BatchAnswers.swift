public import JSONText

/// The answer to one line of `POST /v1/batch`, or of a streamed audience: a line too, in the order of the lines.
public struct LineAnswer: Sendable, Hashable, Codable {
    /// The number of the line that is answered, from 1.
    public var line: Int
    /// The HTTP status that the write would have had as a call of its own.
    public var status: Int
    /// Whether it is the answer to an earlier call with the same idempotency key; absent: no.
    public var replayed: Bool?
    /// The answer of the write, or the problem document (``ProblemDetails``) that says why it was refused.
    public var body: JSONValue

    /// The answer to one line.
    public init(line: Int, status: Int, replayed: Bool? = nil, body: JSONValue) {
        self.line = line
        self.status = status
        self.replayed = replayed
        self.body = body
    }
}

/// What a write of an activity answers within a batch: what it changed, without a look at its phones.
public struct BatchActivityAnswer: Sendable, Hashable, Codable {
    /// The revision of the desired state after the write.
    public var revision: Int
    /// Whether it changed anything.
    public var changed: Bool
    /// Where the activity is in its life.
    public var phase: String
    /// Whether it came after one with a greater `sequence`, and changed nothing; absent: no.
    public var superseded: Bool?

    /// The answer to one write.
    public init(revision: Int, changed: Bool, phase: String, superseded: Bool? = nil) {
        self.revision = revision
        self.changed = changed
        self.phase = phase
        self.superseded = superseded
    }
}
