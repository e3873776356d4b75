import APNSModel

/// The provider tokens of one connection: their schedule, and the reactions when APNs refuses one.
struct TokenUse {
    enum Renewal: Hashable {
        /// The push was sent with the token before.
        case alreadyRenewed
        case renewed
        /// A change now would come within 20 minutes of the last one, which APNs forbids on one connection.
        case needsNewConnection
    }

    /// Maximum difference of the clocks that counts as travel time and rounding.
    private static let tolerance = Duration.seconds(60)
    /// Time after a pause from which a refusal counts as a new one.
    private static let memory = Duration.seconds(120)

    private let signer: ProviderTokenSigner
    private var schedule = ProviderTokenSchedule()
    /// The claim `iat` of the current token. `nil` before the first token, and when the next one must be signed.
    private(set) var issuedAt: UnixTime?
    /// The first stream that carried the current token.
    private var sinceStream: UInt32 = 0
    private var pauses = Backoff(first: .seconds(1), longest: .seconds(60))
    private var pausedUntil: MonotonicTime?

    init(signer: ProviderTokenSigner) {
        self.signer = signer
    }

    var clockOffset: Duration { signer.clockOffset }

    /// Returns the token for pushes from stream `nextStreamID` on, or `nil` if it is the token already in use.
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

    /// Handles 403 ExpiredProviderToken. If the `date` header shows that the local clock is wrong, APNs's clock is
    /// used.
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
        // Pushes in flight with the old token must not renew it again.
        sinceStream = .max
        issuedAt = nil
        return .renewed
    }

    /// Handles 403 InvalidProviderToken while the local clock is ahead of APNs's.
    ///
    /// Does nothing if the difference of the clocks is already corrected. The key is at fault then.
    mutating func cameFromFuture(
        _ streamID: UInt32, apnsDate: UnixTime, wall: UnixTime, _ now: MonotonicTime
    ) -> Renewal {
        guard (apnsDate - wall - signer.clockOffset).magnitude >= Self.tolerance else { return .alreadyRenewed }
        return expired(streamID, apnsDate: apnsDate, wall: wall, now)
    }

    /// Handles 429 TooManyProviderTokenUpdates. Returns the end of the connection's pause.
    ///
    /// Answers to pushes in flight arrive one after another. They count as one refusal.
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
