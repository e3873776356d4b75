package import APNSModel

/// Origin of a phone's call. It determines which devices the call may touch.
package enum Reporter: Sendable, Equatable {
    /// The app's backend, which is responsible for what it reports.
    case backend
    /// A person with their own token. The call may touch this person's devices.
    case person(UserID)
    /// A phone with a credential that was issued for this person, and the SHA-256 of the credential's secret half.
    case phone(DeviceKey, UserID, secretHash: [UInt8])

    /// Person who calls; `nil` for the backend.
    package var user: UserID? {
        switch self {
        case .backend: nil
        case .person(let user), .phone(_, let user, _): user
        }
    }

    /// Returns the device that a call is about.
    ///
    /// The caller's right is checked here again, in the same transaction as the change. So a revocation, a sign-out or
    /// a new owner applies at once.
    ///
    /// - Throws: `Refusal.unknownDevice` if there is no such device, or if the caller has no right to it.
    func device(_ app: BundleID, _ id: DeviceID, now: UnixTime, in draft: Draft) throws(Refusal) -> DeviceRecord {
        guard var device = draft.device(app, id) else { throw .unknownDevice(id) }
        switch self {
        case .backend: break
        case .person(let user): guard device.userID == user else { throw .unknownDevice(id) }
        case .phone(let key, let user, let hash):
            guard device.key == key, device.userID == user, device.signedOutAt == nil, device.noteUse(of: hash, at: now)
            else { throw .unknownDevice(id) }
        }
        return device
    }

    /// Returns `true` if the device may be registered for this person, although another may be signed in on it.
    ///
    /// - Parameter possession: Hash of a credential of that phone, shown with the person's own token.
    func mayTakeOver(_ device: DeviceRecord, for user: UserID, possession: [UInt8]?) -> Bool {
        guard self != .backend, device.userID != user, device.signedOutAt == nil else { return true }
        return device.credentials.contains { $0.secretHash == possession }
    }
}

/// Stored form of a phone's credential. It never contains the credential itself.
package struct PhoneCredentialRecord: Sendable, Hashable {
    /// Maximum number of credentials kept per device: the one in use, and those whose answers may be lost or on their
    /// way.
    package static let maximum = 3
    /// Precision of `usedAt`. It is coarse so that a use rarely costs a write.
    static let useInterval = Duration.seconds(86_400)

    /// SHA-256 of the credential's secret half, which has 256 random bits.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    /// Time of the last use, up to a day early; `nil` if it was never used.
    package var usedAt: UnixTime?

    package init(secretHash: [UInt8], createdAt: UnixTime, usedAt: UnixTime? = nil) {
        self.secretHash = secretHash
        self.createdAt = createdAt
        self.usedAt = usedAt
    }

    /// Returns `true` if the credential has not been used for `limit`, so it is no longer accepted.
    package func isIdle(at now: UnixTime, after limit: Duration) -> Bool { (usedAt ?? createdAt) + limit <= now }
}

extension DeviceRecord {
    /// Adds a credential. Earlier ones stay valid until its first use, because the answer that carries it may be lost.
    mutating func take(_ credential: PhoneCredentialRecord) {
        credentials.append(credential)
        guard credentials.count > PhoneCredentialRecord.maximum else { return }
        // A used credential is known to be on the phone, so an unused one is removed first.
        credentials.remove(at: credentials.firstIndex { $0.usedAt == nil } ?? 0)
    }

    /// Records the use of a credential. Credentials that were handed out before it become invalid.
    ///
    /// - Returns: `false` if the device has no such credential.
    mutating func noteUse(of hash: [UInt8], at now: UnixTime) -> Bool {
        guard let index = credentials.firstIndex(where: { $0.secretHash == hash }) else { return false }
        credentials.removeFirst(index)
        if credentials[0].usedAt.map({ $0 + PhoneCredentialRecord.useInterval <= now }) ?? true {
            credentials[0].usedAt = now
        }
        return true
    }
}

/// Stores a new credential of a phone. The answer to the call carries its text.
package struct HandOutCredential: Command {
    package let app: BundleID
    package let id: DeviceID
    package let secretHash: [UInt8]
    package let now: UnixTime
    package let reporter: Reporter

    package init(app: BundleID, id: DeviceID, secretHash: [UInt8], now: UnixTime, reporter: Reporter) {
        self.app = app
        self.id = id
        self.secretHash = secretHash
        self.now = now
        self.reporter = reporter
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.device(app, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> DeviceKey {
        var device = try reporter.device(app, id, now: now, in: draft)
        // A person who signs out between the two commits of a call gets no credential.
        guard device.signedOutAt == nil else { throw .unknownDevice(id) }
        device.take(PhoneCredentialRecord(secretHash: secretHash, createdAt: now))
        draft.put(device)
        return device.key
    }
}

/// Makes every credential of a device invalid. The person stays signed in.
package struct RevokeCredentials: Command {
    package struct Reply: Sendable, Equatable, IdempotentReply {
        package var revoked: Int
    }

    package let app: BundleID
    package let id: DeviceID

    package init(app: BundleID, id: DeviceID) {
        self.app = app
        self.id = id
    }

    package var rank: CommandRank { .write }
    package var keys: [SnapshotKey] { [.device(app, id)] }

    package func decide(_ draft: inout Draft) throws(Refusal) -> Reply {
        guard var device = draft.device(app, id) else { throw .unknownDevice(id) }
        let revoked = device.credentials.count
        device.credentials = []
        draft.put(device)
        return Reply(revoked: revoked)
    }
}
