/// What APNs answered to one push. A refusal is an answer, not an error.
public struct PushAnswer: Sendable, Hashable {
    /// The HTTP status.
    public let status: Int
    /// Why it was refused; `nil` on 200, or when a refusal named no reason.
    public let reason: APNSReason?
    /// On 410: when Apple learned that the token is inactive.
    public let inactiveSince: UnixTime?
    /// The id APNs gave back, normally the request's.
    public let id: PushID?
    /// Sandbox only: the key of the delivery log in Apple's Push Notifications Console.
    public let uniqueID: String?
    /// APNs's clock as its `date` header tells it, in whole seconds.
    public let date: UnixTime?

    /// An answer as a client read it or as a test invents it; what APNs did not send stays `nil`.
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

    /// What the answer means.
    public var verdict: Verdict { Verdict(status: status, reason: reason, inactiveSince: inactiveSince) }
}
