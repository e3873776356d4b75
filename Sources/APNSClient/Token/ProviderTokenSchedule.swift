import APNSModel

/// Decides which provider token a connection uses. The caller passes the time.
///
/// APNs refuses a token that is older than an hour. It also refuses a connection that changes its token within 20
/// minutes. `iat` is the start of a 30-minute slot, so that every node and connection of a team signs the same one.
///
/// A connection keeps its token until the slot has ended *and* 20 minutes have passed since its first use there. It
/// never keeps a token beyond 50 minutes.
///
/// From first use on, a token's age counts on the monotonic clock, so a wall clock that steps back cannot prolong it.
struct ProviderTokenSchedule {
    static let slot = Duration.seconds(30 * 60)
    static let changeInterval = Duration.seconds(20 * 60)
    static let maximumAge = Duration.seconds(50 * 60)

    private struct Use {
        let issuedAt: UnixTime
        let ageAtFirstUse: Duration
        let firstUse: MonotonicTime

        func age(at now: MonotonicTime) -> Duration { ageAtFirstUse + (now - firstUse) }
    }

    private var current: Use?
    private var previous: Use?
    /// Time until which the token is kept, because APNs said that it changed too often.
    private var keepUntil: MonotonicTime?

    /// Returns the start of the slot that contains an instant. It is the `iat` of tokens signed in that slot.
    static func slotStart(at wall: UnixTime) -> UnixTime {
        let length = slot.wholeMilliseconds / 1000
        let rest = wall.seconds % length
        return UnixTime(seconds: wall.seconds - (rest < 0 ? rest + length : rest))
    }

    /// Returns the `iat` of the token to send now. The call counts as its use.
    mutating func issuedAt(wall: UnixTime, monotonic now: MonotonicTime) -> UnixTime {
        if let current, !mustRenew(current, now) { return current.issuedAt }
        return adopt(Self.slotStart(at: wall), wall: wall, now)
    }

    /// Returns `true` if 20 minutes have passed since the first use of the current token, as APNs requires for a
    /// change.
    func mayChange(at now: MonotonicTime) -> Bool {
        guard let current else { return true }
        return now - current.firstUse >= Self.changeInterval
    }

    /// Changes to the newest slot early, because APNs refused the current token as expired.
    mutating func renew(wall: UnixTime, monotonic now: MonotonicTime) {
        _ = adopt(Self.slotStart(at: wall), wall: wall, now)
    }

    /// Handles 429 TooManyProviderTokenUpdates.
    ///
    /// The schedule returns to the previous token if its age allows. It changes no token for 20 minutes, unless the
    /// token reaches 50 minutes.
    mutating func changeWasRefused(at now: MonotonicTime) {
        keepUntil = now + Self.changeInterval
        if let previous, previous.age(at: now) < Self.maximumAge { current = previous }
        previous = nil
    }

    private func mustRenew(_ use: Use, _ now: MonotonicTime) -> Bool {
        let age = use.age(at: now)
        if age >= Self.maximumAge { return true }
        if let keepUntil, now < keepUntil { return false }
        return age >= Self.slot && now - use.firstUse >= Self.changeInterval
    }

    private mutating func adopt(_ issuedAt: UnixTime, wall: UnixTime, _ now: MonotonicTime) -> UnixTime {
        if current?.issuedAt != issuedAt { previous = current }
        current = Use(issuedAt: issuedAt, ageAtFirstUse: max(.zero, wall - issuedAt), firstUse: now)
        return issuedAt
    }
}
