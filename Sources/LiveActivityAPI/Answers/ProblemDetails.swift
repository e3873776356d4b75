/// The reason why a call was refused: the body of every 4xx and 5xx answer, `application/problem+json` (RFC 9457).
public struct ProblemDetails: Sendable, Hashable, Codable {
    /// A URI that names the kind of problem, relative to the server.
    public var type: String
    /// A short title, the same for every problem of this kind.
    public var title: String
    /// The HTTP status of the answer.
    public var status: Int
    /// The error in this particular call.
    public var detail: String
    /// The stable code of the problem, for programs.
    public var code: String
    /// The JSON Pointer (RFC 6901) to the wrong value in the body.
    public var pointer: String?
    /// The value that would have been right.
    public var expected: String?
    /// The value that was sent instead, shortened. Never a secret.
    public var given: String?
    /// A way to fix the call. `nil` if none is known.
    public var fix: String?
    /// A URI that names this particular call in the server's log.
    public var instance: String?
    /// The activity's current revision, if `If-Match` names another one. 0 if there is no such activity.
    public var revision: Int?
    /// Every value that does not match the type's contract, at most 20.
    ///
    /// ``pointer``, ``expected``, ``given`` and ``fix`` are those of the first one.
    public var errors: [FieldError]?
    /// The members that take the most space of a push that is too large, the largest first, at most 20.
    public var sizes: [FieldSize]?

    /// One value that does not match the contract.
    public struct FieldError: Sendable, Hashable, Codable {
        /// The JSON Pointer to the value in the body of the call.
        public var pointer: String
        /// The value that would have been right.
        public var expected: String
        /// The value that was sent instead, shortened. `nil` if the member is missing.
        public var given: String?
        /// A way to fix the call. `nil` if none is known.
        public var fix: String?

        /// Creates an error. Properties that are `nil` are absent from the answer.
        public init(pointer: String, expected: String, given: String? = nil, fix: String? = nil) {
            self.pointer = pointer
            self.expected = expected
            self.given = given
            self.fix = fix
        }
    }

    /// The space that one member takes of a push.
    public struct FieldSize: Sendable, Hashable, Codable {
        /// The JSON Pointer to the member in the body of the call.
        public var pointer: String
        /// The size of the member's name and value as JSON text, in bytes.
        public var bytes: Int

        /// Creates a size.
        public init(pointer: String, bytes: Int) {
            self.pointer = pointer
            self.bytes = bytes
        }
    }

    /// Creates a problem. Properties that are `nil` are absent from the answer.
    public init(
        type: String, title: String, status: Int, detail: String, code: String, pointer: String? = nil,
        expected: String? = nil, given: String? = nil, fix: String? = nil, instance: String? = nil,
        revision: Int? = nil, errors: [FieldError]? = nil, sizes: [FieldSize]? = nil
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.code = code
        self.pointer = pointer
        self.expected = expected
        self.given = given
        self.fix = fix
        self.instance = instance
        self.revision = revision
        self.errors = errors
        self.sizes = sizes
    }
}
