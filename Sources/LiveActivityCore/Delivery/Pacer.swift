package import APNSModel

/// How many pushes may be on their way at once, in all and for one activity: what a claim may take.
///
/// No activity has more than half of them, so that a change of a small one finds room while a large one is sent.
/// When APNs answers 429 to more than a fifth of a route's pushes the whole is halved; it grows back with time.
/// Stragglers, whose answers are awaited past the time that a flight is settled after, are counted apart: lost answers
/// do not hold up what is due, until there are very many.
package struct Pacer: Sendable {
    package struct Limits: Sendable, Equatable {
        /// Pushes on their way, stragglers not counted.
        package var pushes = 8000
        /// Halving ends here.
        package var least = 64
        /// Stragglers; with more, nothing is claimed until answers come or their time ends.
        package var stragglers = 32_000
        /// So long after it came down to nothing, the whole would be back.
        package var regrowth = Duration.seconds(16)

        package init() {}
    }

    /// What one claim may take.
    package struct Grant: Sendable, Equatable {
        package var pushes: Int
        /// What one activity may have on its way.
        package var activityPushes: Int
        /// What activities have on their way.
        package var onTheWay: [ActivityNumber: Int]
        /// What a flight of this claim tells `record`, so that one slow-down is answered once.
        package var halvings: Int

        package init(pushes: Int, activityPushes: Int, onTheWay: [ActivityNumber: Int], halvings: Int) {
            self.pushes = pushes
            self.activityPushes = activityPushes
            self.onTheWay = onTheWay
            self.halvings = halvings
        }

        /// How many pushes more of an activity may leave.
        package func room(of activity: ActivityNumber) -> Int {
            isFull(activity) ? 0 : max(0, min(pushes, activityPushes - onTheWay[activity, default: 0]))
        }

        /// The activity has its own share on its way, or all but a sixteenth of it: a full house is not refilled push
        /// by push.
        package func isFull(_ activity: ActivityNumber) -> Bool {
            activityPushes - onTheWay[activity, default: 0] < max(1, activityPushes / 16)
        }

        /// Some of it is used by this claim.
        package mutating func take(_ count: Int, of activity: ActivityNumber) {
            pushes -= count
            onTheWay[activity, default: 0] += count
        }
    }

    /// An activity that has its half on its way is looked at again after this, if no answer came before.
    package static let pause = Duration.milliseconds(250)
    /// Answers of a route after which its share of 429 is judged.
    package static let judgedAnswers = 100
    /// Above this share of 429 the whole is halved.
    package static let slowDownShare = 0.2

    package let limits: Limits
    package private(set) var onTheWay = 0
    package private(set) var stragglers = 0
    private var activities: [ActivityNumber: Int] = [:]
    private var halvings = 0
    private var lowered: (to: Int, at: UnixTime)?
    private var answers: [PushRoute: (count: Int, slow: Int)] = [:]

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// What a claim that nobody paces may take.
    package static let unlimited = Grant(pushes: .max, activityPushes: .max, onTheWay: [:], halvings: 0)

    // MARK: - Grants

    /// How many may be on their way now, in all.
    package func ceiling(at now: UnixTime) -> Int {
        guard let lowered else { return limits.pushes }
        let passed = Double((now - lowered.at).wholeMilliseconds)
        // A clock that was set back would keep it low until it caught up.
        guard passed >= 0 else { return limits.pushes }
        let grown = Double(limits.pushes) * passed / Double(max(1, limits.regrowth.wholeMilliseconds))
        return grown >= Double(limits.pushes - lowered.to) ? limits.pushes : lowered.to + Int(grown)
    }

    /// What the next claim may take; `nil` while there is no room worth a claim.
    ///
    /// Room is given out by the sixteenth of the whole at least, so that a full house is not refilled push by push.
    package func grant(at now: UnixTime) -> Grant? {
        let ceiling = ceiling(at: now)
        let room = ceiling - onTheWay
        guard room >= max(1, ceiling / 16), stragglers < limits.stragglers else { return nil }
        return Grant(
            pushes: room, activityPushes: max(1, ceiling / 2), onTheWay: activities, halvings: halvings)
    }

    package var isIdle: Bool { onTheWay == 0 && stragglers == 0 }

    // MARK: - What goes on

    /// Pushes of an activity were claimed.
    package mutating func left(_ activity: ActivityNumber, _ pushes: Int) {
        onTheWay += pushes
        activities[activity, default: 0] += pushes
    }

    /// A flight of so many was settled; of some the answer is awaited on.
    package mutating func settled(_ activity: ActivityNumber, _ pushes: Int, late: Int = 0) {
        assert(pushes <= activities[activity, default: 0] && late <= pushes, "more came back than had left")
        onTheWay = max(0, onTheWay - pushes)
        stragglers += late
        let rest = activities[activity, default: 0] - pushes
        activities[activity] = rest > 0 ? rest : nil
    }

    /// The answers of stragglers came, or will not.
    package mutating func caughtUp(_ late: Int) {
        assert(late <= stragglers, "more came back than had stayed behind")
        stragglers = max(0, stragglers - late)
    }

    /// What a flight's answers say: `halvings` is its grant's, since what left before a halving is no reason for one.
    ///
    /// - Returns: Whether the whole was halved.
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
