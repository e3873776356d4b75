/// The answer of `DELETE /v1/devices/{device}/credential`.
public struct CredentialsRevokedAnswer: Sendable, Hashable, Codable {
    /// The number of the phone's credentials that this call revoked.
    public var revoked: Int

    /// Creates an answer.
    public init(revoked: Int) {
        self.revoked = revoked
    }
}
