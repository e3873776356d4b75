package import APNSModel

/// Limits how many pushes may be on their way at once, in total and for one activity.
///
/// - One activity gets at most half, so a change of a small activity finds room while a large one is sent.
/// - If APNs answers more than a fifth of a route's pushes with 429, the total is halved. It grows back over time.
/// - Stragglers are counted apart. These are pushes whose flight was settled before their answer came. So lost answers
///   do not delay other pushes until there are very many of them.
package struct Pacer: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Maximum number of pushes on their way, without stragglers.
        package var pushes = 8000
        /// Minimum to which halving can reduce `pushes`.
        package var least = 64
        /// Maximum number of stragglers. Above it, nothing is claimed until answers come or their time ends.
        package var stragglers = 32_000
        /// Time a fully drained pacer needs to recover its full rate.
        package var regrowth = Duration.seconds(16)

        package init() {}
    }

    /// Allowance of one claim.
    package struct Grant: Sendable, Equatable {
        package var pushes: Int
        /// Maximum number of pushes that one activity may have on their way.
        package var activityPushes: Int
        /// Number of pushes on their way, by activity.
        package var onTheWay: [ActivityNumber: Int]
        /// Number of halvings at the time of the grant. A flight passes it to `record`, so that one slow-down halves
        /// the total once.
        package var halvings: Int

        package init(pushes: Int, activityPushes: Int, onTheWay: [ActivityNumber: Int], halvings: Int) {
            self.pushes = pushes
            self.activityPushes = activityPushes
            self.onTheWay = onTheWay
            self.halvings = halvings
        }

        /// Returns how many more pushes of an activity may leave.
        package func room(of activity: ActivityNumber) -> Int {
            isFull(activity) ? 0 : max(0, min(pushes, activityPushes - onTheWay[activity, default: 0]))
        }

        /// Returns whether less than a sixteenth of the activity's share is free. So a full activity is not refilled
        /// push by push.
        package func isFull(_ activity: ActivityNumber) -> Bool {
            activityPushes - onTheWay[activity, default: 0] < max(1, activityPushes / 16)
        }

        /// Records pushes that this claim has taken.
        package mutating func take(_ count: Int, of activity: ActivityNumber) {
            pushes -= count
            onTheWay[activity, default: 0] += count
        }
    }

    /// Time after which an activity with a full share is looked at again, if no answer came before.
    package static let pause = Duration.milliseconds(250)
    /// Number of answers of a route after which its share of 429 is evaluated.
    package static let judgedAnswers = 100
    /// Share of 429 above which the total is halved.
    package static let slowDownShare = 0.2

    package let limits: Limits
    package private(set) var onTheWay = 0
    package private(set) var stragglers = 0
    /// Number of pushes that claims may take which are being committed.
    private var reserved = 0
    private var activities: [ActivityNumber: Int] = [:]
    private var halvings = 0
    private var lowered: (to: Int, at: UnixTime)?
    private var answers: [PushRoute: (count: Int, slow: Int)] = [:]

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Grant of a claim that is not paced.
    package static let unlimited = Grant(pushes: .max, activityPushes: .max, onTheWay: [:], halvings: 0)

    // MARK: - Grants

    /// Returns the number of pushes that may be on their way now, in total.
    package func ceiling(at now: UnixTime) -> Int {
        guard let lowered else { return limits.pushes }
        let passed = Double((now - lowered.at).wholeMilliseconds)
        // A clock that was set back would otherwise keep the total low until it had caught up.
        guard passed >= 0 else { return limits.pushes }
        let grown = Double(limits.pushes) * passed / Double(max(1, limits.regrowth.wholeMilliseconds))
        return grown >= Double(limits.pushes - lowered.to) ? limits.pushes : lowered.to + Int(grown)
    }

    /// Returns what the next claim may take; `nil` while there is too little room for a claim.
    ///
    /// At least a sixteenth of the total must be free, so that a full pacer is not refilled push by push.
    package func grant(at now: UnixTime) -> Grant? {
        let ceiling = ceiling(at: now)
        let room = ceiling - onTheWay - reserved
        guard room >= max(1, ceiling / 16), stragglers < limits.stragglers else { return nil }
        return Grant(
            pushes: room, activityPushes: max(1, ceiling / 2), onTheWay: activities, halvings: halvings)
    }

    /// Returns what a claim may take, and keeps that free for it until `release`; `nil` while there is too little room.
    ///
    /// - Parameter isHasty: The claim takes work before its turn. It gets a quarter of the total at most, and only if
    ///   twice as much as it gets is free, so that work which has waited is not delayed.
    package mutating func reserve(upTo most: Int, isHasty: Bool = false, at now: UnixTime) -> Grant? {
        let most = isHasty ? min(most, limits.pushes / 4) : most
        guard var grant = grant(at: now), !isHasty || most > 0 && grant.pushes >= 2 * most else { return nil }
        grant.pushes = min(grant.pushes, most)
        reserved += grant.pushes
        return grant
    }

    /// Ends a reservation. What the claim took is on its way from now on.
    package mutating func release(_ grant: Grant) {
        assert(grant.pushes <= reserved, "more is released than was reserved")
        reserved = max(0, reserved - grant.pushes)
    }

    package var isIdle: Bool { onTheWay == 0 && stragglers == 0 && reserved == 0 }

    // MARK: - Pushes on their way

    /// Records that pushes of an activity were claimed.
    package mutating func left(_ activity: ActivityNumber, _ pushes: Int) {
        onTheWay += pushes
        activities[activity, default: 0] += pushes
    }

    /// Records that a flight of `pushes` pushes was settled. Answers to `late` of them are still awaited.
    package mutating func settled(_ activity: ActivityNumber, _ pushes: Int, late: Int = 0) {
        assert(pushes <= activities[activity, default: 0] && late <= pushes, "more came back than had left")
        onTheWay = max(0, onTheWay - pushes)
        stragglers += late
        let rest = activities[activity, default: 0] - pushes
        activities[activity] = rest > 0 ? rest : nil
    }

    /// Records that the answers of stragglers came, or will not come.
    package mutating func caughtUp(_ late: Int) {
        assert(late <= stragglers, "more came back than had stayed behind")
        stragglers = max(0, stragglers - late)
    }

    /// Records what a flight's answers say about a route.
    ///
    /// - Parameter halvings: The number in the flight's grant. Pushes that left before a halving do not cause another.
    /// - Returns: `true` if the total was halved.
    @discardableResult
    package mutating func record(
        _ route: PushRoute, slowDowns: Int, of count: Int, halvings: Int, at now: UnixTime
    ) -> Bool {
        guard halvings == self.halvings else { return false }
        var seen = answers[route] ?? (0, 0)
        seen.count += count
        seen.slow += slowDowns
        guard seen.count >= Self.judgedAnswers else {
            answers[route] = seen
            return false
        }
        answers[route] = nil
        guard Double(seen.slow) > Self.slowDownShare * Double(seen.count) else { return false }
        lowered = (max(min(limits.least, limits.pushes), ceiling(at: now) / 2), now)
        self.halvings += 1
        answers = [:]
        return true
    }
}
