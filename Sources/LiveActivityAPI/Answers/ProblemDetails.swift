/// Why a call was refused: the body of every 4xx and 5xx answer, `application/problem+json` (RFC 9457).
public struct ProblemDetails: Sendable, Hashable, Codable {
    /// A URI that names the kind of problem.
    public var type: String
    /// The kind of problem in a few words; the same for all of a kind.
    public var title: String
    /// The HTTP status of the answer.
    public var status: Int
    /// What is wrong with this very call.
    public var detail: String
    /// The stable code of the problem, for programs.
    public var code: String
    /// The JSON Pointer (RFC 6901) to the value of the body at fault.
    public var pointer: String?
    /// What would have been right there.
    public var expected: String?
    /// What was there instead, shortened; never a secret.
    public var given: String?
    /// What to do about it, when that is known.
    public var fix: String?
    /// A URI that names this very call, for the logs.
    public var instance: String?
    /// The revision that the activity is at, where `If-Match` named another; 0: there is no such activity.
    public var revision: Int?
    /// Every value that does not fit the type's contract, at most 20: `pointer`, `expected`, `given` and `fix` above
    /// are those of the first.
    public var errors: [FieldError]?
    /// The members that fill a push that is too large, the largest first, at most 20.
    public var sizes: [FieldSize]?

    /// One value that does not fit.
    public struct FieldError: Sendable, Hashable, Codable {
        /// The JSON Pointer to it, in the body of the call.
        public var pointer: String
        /// What would have been right there.
        public var expected: String
        /// What was there instead, shortened; absent where nothing was.
        public var given: String?
        /// What to do about it, when that is known.
        public var fix: String?

        /// An error; what is left out is absent from the answer.
        public init(pointer: String, expected: String, given: String? = nil, fix: String? = nil) {
            self.pointer = pointer
            self.expected = expected
            self.given = given
            self.fix = fix
        }
    }

    /// How much of a push one member takes.
    public struct FieldSize: Sendable, Hashable, Codable {
        /// The JSON Pointer to it, in the body of the call.
        public var pointer: String
        /// The bytes of its name and value as JSON text.
        public var bytes: Int

        /// A member and its size.
        public init(pointer: String, bytes: Int) {
            self.pointer = pointer
            self.bytes = bytes
        }
    }

    /// A problem; what is left out is absent from the answer.
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
