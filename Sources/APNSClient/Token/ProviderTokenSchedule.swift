import APNSModel

/// Decides for one connection which provider token it uses: pure, told the time.
///
/// APNs refuses a token older than an hour, and a connection that changes its token within 20 minutes. `iat` is the
/// start of a 30-minute slot, so that every node and every connection of a team signs the same one. A connection keeps
/// its token until the slot has ended *and* 20 minutes passed since its first use there, never past 50 minutes.
///
/// A token's age is counted on the monotonic clock from its adoption on: a wall clock that steps back cannot pin it.
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
    /// Set when APNs said that the token changed too often here.
    private var keepUntil: MonotonicTime?

    /// The start of the slot that an instant lies in: the `iat` of the token that is signed then.
    static func slotStart(at wall: UnixTime) -> UnixTime {
        let length = slot.wholeMilliseconds / 1000
        let rest = wall.seconds % length
        return UnixTime(seconds: wall.seconds - (rest < 0 ? rest + length : rest))
    }

    /// The `iat` of the token to send now. The call counts as its use.
    mutating func issuedAt(wall: UnixTime, monotonic now: MonotonicTime) -> UnixTime {
        if let current, !mustRenew(current, now) { return current.issuedAt }
        return adopt(Self.slotStart(at: wall), wall: wall, now)
    }

    /// Whether a change now would be 20 minutes after the present token's first use, as APNs asks.
    func mayChange(at now: MonotonicTime) -> Bool {
        guard let current else { return true }
        return now - current.firstUse >= Self.changeInterval
    }

    /// Takes the newest slot although the present token's time is not over, since APNs refused it as expired.
    mutating func renew(wall: UnixTime, monotonic now: MonotonicTime) {
        _ = adopt(Self.slotStart(at: wall), wall: wall, now)
    }

    /// APNs answered 429 TooManyProviderTokenUpdates: the token before the last change is taken up again if its age
    /// allows, and none is changed for 20 minutes unless age demands it.
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
