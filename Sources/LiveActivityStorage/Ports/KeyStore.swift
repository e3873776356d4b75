package import APNSModel
package import LiveActivityCore

/// What callers prove themselves with: API keys, and the credentials of phones.
package protocol KeyStore: Sendable {
    func insertKey(_ key: APIKeyRecord) async throws(StorageError)
    func key(_ id: String) async throws(StorageError) -> APIKeyRecord?
    func keys() async throws(StorageError) -> [APIKeyRecord]
    /// `false` when there is no such key, or it was revoked before.
    func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool
    /// Writes down when keys were last used, all in one commit; an older use changes nothing.
    func noteUses(_ uses: [String: UnixTime]) async throws(StorageError)
    /// Erases the keys that were revoked or expired before that. - Returns: How many.
    func eraseKeys(overBefore time: UnixTime) async throws(StorageError) -> Int
    /// A device by its key; `nil` where there is none.
    func device(_ key: DeviceKey) async throws(StorageError) -> DeviceRecord?
}

/// An API key as it is kept: never the key itself.
package struct APIKeyRecord: Sendable, Equatable {
    package enum Scope: String, Sendable, CaseIterable { case backend, device, read, admin }

    /// The public half, by which it is found and listed.
    package var id: String
    package var app: BundleID
    package var scope: Scope
    /// What its maker calls it, for people.
    package var name: String?
    /// SHA-256 of the secret half. The secret has 256 random bits, so that a slow hash would add nothing.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    /// From then on it is not taken any more; `nil`: it has no end.
    package var expiresAt: UnixTime?
    /// When it was last used, up to two minutes before; `nil`: never.
    package var usedAt: UnixTime?
    package var revokedAt: UnixTime?

    package init(id: String, app: BundleID, scope: Scope, secretHash: [UInt8], createdAt: UnixTime) {
        self.id = id
        self.app = app
        self.scope = scope
        self.secretHash = secretHash
        self.createdAt = createdAt
    }

    package enum Standing: String, Sendable, CaseIterable { case valid, expired, revoked }

    package func standing(at now: UnixTime) -> Standing {
        if revokedAt != nil { return .revoked }
        return expiresAt.map { $0 <= now } ?? false ? .expired : .valid
    }
}
