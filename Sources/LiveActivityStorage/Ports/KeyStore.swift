package import APNSModel
package import LiveActivityCore

/// Store of the credentials of callers: API keys, and the credentials of phones.
package protocol KeyStore: Sendable {
    func insertKey(_ key: APIKeyRecord) async throws(StorageError)
    func key(_ id: String) async throws(StorageError) -> APIKeyRecord?
    func keys() async throws(StorageError) -> [APIKeyRecord]
    /// Revokes a key. Returns `false` if it does not exist or was revoked before.
    func revokeKey(_ id: String, at time: UnixTime) async throws(StorageError) -> Bool
    /// Records the last uses of keys, all in one commit. An earlier use than the recorded one changes nothing.
    func noteUses(_ uses: [String: UnixTime]) async throws(StorageError)
    /// Erases the keys that were revoked or expired before `time`.
    ///
    /// - Returns: The number of erased keys.
    func eraseKeys(overBefore time: UnixTime) async throws(StorageError) -> Int
    /// Returns the device with a key; `nil` if there is none.
    func device(_ key: DeviceKey) async throws(StorageError) -> DeviceRecord?
}

/// Stored record of an API key. It never contains the key itself.
package struct APIKeyRecord: Sendable, Equatable {
    package enum Scope: String, Sendable, CaseIterable { case backend, device, read, admin }

    /// Public half of the key, by which it is found and listed.
    package var id: String
    package var app: BundleID
    package var scope: Scope
    /// Name that its creator gave it, for people.
    package var name: String?
    /// SHA-256 hash of the secret half. A slow hash would add nothing, because the secret has 256 random bits.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    /// Time from which the key is no longer accepted; `nil` if it does not expire.
    package var expiresAt: UnixTime?
    /// Time of the last use; `nil` if there was none. It may be up to two minutes too early.
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
