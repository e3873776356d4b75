import APNSModel

/// The provider tokens of one connection: the schedule, and what happens when APNs disagrees with it.
struct TokenUse {
    enum Renewal: Hashable {
        /// The push left with the token before.
        case alreadyRenewed
        case renewed
        /// A change now would come within 20 minutes, which APNs forbids on one connection.
        case needsNewConnection
    }

    /// A difference of clocks below this is travel and rounding.
    private static let tolerance = Duration.seconds(60)
    /// A refusal that comes so long after a pause is another matter.
    private static let memory = Duration.seconds(120)

    private let signer: ProviderTokenSigner
    private var schedule = ProviderTokenSchedule()
    /// The `iat` of the present token; `nil` before the first one and while the next is to be signed.
    private(set) var issuedAt: UnixTime?
    /// The first stream that carried the present token.
    private var sinceStream: UInt32 = 0
    private var pauses = Backoff(first: .seconds(1), longest: .seconds(60))
    private var pausedUntil: MonotonicTime?

    init(signer: ProviderTokenSigner) {
        self.signer = signer
    }

    var clockOffset: Duration { signer.clockOffset }

    /// The token that the pushes from `nextStreamID` on carry; `nil` when it is the one they carried before.
    mutating func token(
        wall: UnixTime, _ now: MonotonicTime, nextStreamID: UInt32
    ) throws(ProviderKeyError) -> ProviderToken? {
        let wanted = schedule.issuedAt(wall: wall + signer.clockOffset, monotonic: now)
        guard wanted != issuedAt else { return nil }
        let token = try signer.token(issuedAt: wanted)
        issuedAt = wanted
        sinceStream = nextStreamID
        return token
    }

    /// APNs answered 403 ExpiredProviderToken. If its clock says that ours is wrong, its clock is believed.
    mutating func expired(
        _ streamID: UInt32, apnsDate: UnixTime?, wall: UnixTime, _ now: MonotonicTime
    ) -> Renewal {
        guard streamID >= sinceStream else { return .alreadyRenewed }
        if let apnsDate {
            let difference = apnsDate - wall
            signer.clockOffset = difference.magnitude < Self.tolerance ? .zero : difference
        }
        guard schedule.mayChange(at: now) else { return .needsNewConnection }
        schedule.renew(wall: wall + signer.clockOffset, monotonic: now)
        // What is in flight with the old token must not renew once more.
        sinceStream = .max
        issuedAt = nil
        return .renewed
    }

    /// APNs answered 403 InvalidProviderToken while our clock is ahead of its own. Once that is allowed for, the key is
    /// what is wrong.
    mutating func cameFromFuture(
        _ streamID: UInt32, apnsDate: UnixTime, wall: UnixTime, _ now: MonotonicTime
    ) -> Renewal {
        guard (apnsDate - wall - signer.clockOffset).magnitude >= Self.tolerance else { return .alreadyRenewed }
        return expired(streamID, apnsDate: apnsDate, wall: wall, now)
    }

    /// APNs answered 429 TooManyProviderTokenUpdates: until when the connection pauses.
    ///
    /// The answers to what was in flight come one after another: they are one refusal.
    mutating func changeRefused(_ now: MonotonicTime, dice: Double) -> MonotonicTime {
        if let pausedUntil {
            if now < pausedUntil { return pausedUntil }
            if now - pausedUntil >= Self.memory { pauses.reset() }
        }
        schedule.changeWasRefused(at: now)
        let until = now + pauses.next(dice: dice)
        pausedUntil = until
        return until
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
