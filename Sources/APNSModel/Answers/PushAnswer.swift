/// The answer of APNs to one push. A refusal is an answer, not an error.
public struct PushAnswer: Sendable, Hashable {
    /// The HTTP status.
    public let status: Int
    /// The reason of a refusal, or `nil` on 200 or if the refusal gave none.
    public let reason: APNSReason?
    /// Time at which Apple learned that the token is inactive. Only on 410.
    public let inactiveSince: UnixTime?
    /// The id in the answer, normally that of the request.
    public let id: PushID?
    /// The key of the delivery log in Apple's Push Notifications Console. Only in the sandbox.
    public let uniqueID: String?
    /// The time on APNs's clock, from the `date` header, in whole seconds.
    public let date: UnixTime?

    /// Creates an answer, as a client reads it or a test needs it. Values that APNs did not send stay `nil`.
    public init(
        status: Int, reason: APNSReason? = nil, inactiveSince: UnixTime? = nil, id: PushID? = nil,
        uniqueID: String? = nil, date: UnixTime? = nil
    ) {
        self.status = status
        self.reason = reason
        self.inactiveSince = inactiveSince
        self.id = id
        self.uniqueID = uniqueID
        self.date = date
    }

    /// The meaning of the answer.
    public var verdict: Verdict { Verdict(status: status, reason: reason, inactiveSince: inactiveSince) }
}
