package import APNSModel

/// On whose word a phone's call is taken, and so what it may touch.
package enum Reporter: Sendable, Equatable {
    /// The app's backend, which answers for what it says.
    case backend
    /// A person, by a token of theirs: the devices of this person.
    case person(UserID)
    /// A phone, by a credential that it was handed for this person; with the SHA-256 of its secret half.
    case phone(DeviceKey, UserID, secretHash: [UInt8])

    /// Whose word it is; `nil`: the backend's.
    package var user: UserID? {
        switch self {
        case .backend: nil
        case .person(let user), .phone(_, let user, _): user
        }
    }

    /// The device that a call is about. One that is not theirs looks like one that is not there.
    ///
    /// What was proven when the call came in is looked at again here, so that between a revocation, a sign-out or a
    /// change of owner and the next call's commit there is no moment in which the old word still counts.
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

    /// Whether a device may be registered for this person, where another one is signed in on it.
    ///
    /// - Parameter possession: The hash of a credential of that phone, shown beside the person's own token.
    func mayTakeOver(_ device: DeviceRecord, for user: UserID, possession: [UInt8]?) -> Bool {
        guard self != .backend, device.userID != user, device.signedOutAt == nil else { return true }
        return device.credentials.contains { $0.secretHash == possession }
    }
}

/// A credential of a phone as it is kept: never the credential itself.
package struct PhoneCredentialRecord: Sendable, Hashable {
    /// So many are kept of a device: the one in use, and those whose answers may be lost or on their way.
    package static let maximum = 3
    /// The last use is kept this coarsely, so that it costs no writes of its own.
    static let useInterval = Duration.seconds(86_400)

    /// SHA-256 of the secret half, which has 256 random bits.
    package var secretHash: [UInt8]
    package var createdAt: UnixTime
    /// When it was last used, up to a day before; `nil`: never.
    package var usedAt: UnixTime?

    package init(secretHash: [UInt8], createdAt: UnixTime, usedAt: UnixTime? = nil) {
        self.secretHash = secretHash
        self.createdAt = createdAt
        self.usedAt = usedAt
    }

    /// Nobody used it for so long that it is not taken any more.
    package func isIdle(at now: UnixTime, after limit: Duration) -> Bool { (usedAt ?? createdAt) + limit <= now }
}

extension DeviceRecord {
    /// Takes a new credential. Those before it hold until it is used for the first time: its answer may be lost.
    mutating func take(_ credential: PhoneCredentialRecord) {
        credentials.append(credential)
        guard credentials.count > PhoneCredentialRecord.maximum else { return }
        // The one that is known to be on the phone stays.
        credentials.remove(at: credentials.firstIndex { $0.usedAt == nil } ?? 0)
    }

    /// A credential was used: what was handed out before it is over. `false` for one that is not there.
    mutating func noteUse(of hash: [UInt8], at now: UnixTime) -> Bool {
        guard let index = credentials.firstIndex(where: { $0.secretHash == hash }) else { return false }
        credentials.removeFirst(index)
        if credentials[0].usedAt.map({ $0 + PhoneCredentialRecord.useInterval <= now }) ?? true {
            credentials[0].usedAt = now
        }
        return true
    }
}

/// Keeps a new credential of a phone; the phone is told its text by the answer.
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
        // Who signs out between the two commits of a call gets none.
        guard device.signedOutAt == nil else { throw .unknownDevice(id) }
        device.take(PhoneCredentialRecord(secretHash: secretHash, createdAt: now))
        draft.put(device)
        return device.key
    }
}

/// Makes every credential of a device invalid; the person stays signed in.
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
