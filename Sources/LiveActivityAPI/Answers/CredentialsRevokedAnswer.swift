/// The answer of `DELETE /v1/devices/{device}/credential`.
public struct CredentialsRevokedAnswer: Sendable, Hashable, Codable {
    /// How many credentials of the phone were valid, and are not any more.
    public var revoked: Int

    /// So many are revoked.
    public init(revoked: Int) {
        self.revoked = revoked
    }
}
