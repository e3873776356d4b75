import APNSModel

/// How long to wait before another attempt. The dice are 0 to 1 and given in, so that tests know the answer.
package enum RetryDelay {
    /// 429 TooManyRequests for one token: 1 to 2 s, then up to 4 s, 8 s, … to 5 min, and never under 1 s.
    ///
    /// Each wait is spread evenly between that second and its limit: phones that APNs slowed down together come back
    /// one by one, and not many of them at the second itself.
    package static func token(tries: Int, dice: Double) -> Duration {
        let limit = exponential(base: 2, factor: 2, tries: tries, cap: 300)
        return .milliseconds(1000 + Int64((limit - 1) * 1000 * clamped(dice)))
    }

    /// 5xx and lost connections: about 1 s, then 4 s, 16 s, … to Apple's 15 min, full jitter from the second on.
    package static func service(tries: Int, dice: Double) -> Duration {
        guard tries > 1 else { return .milliseconds(Int64(750 + 500 * clamped(dice))) }
        return jittered(
            limit: exponential(base: 1, factor: 4, tries: tries, cap: longest / .seconds(1)), dice: dice)
    }

    /// What may have arrived: the same, and after a minute at the latest. A state may come twice, and one that did not
    /// come is missed: Apple's pace is for what its servers could not do.
    package static func unknownFate(tries: Int, dice: Double) -> Duration {
        min(service(tries: tries, dice: dice), halted)
    }

    /// The same for a lane, which looks again after a minute at the latest: other phones than the one that met the
    /// fault wait with it.
    package static func lane(tries: Int, dice: Double) -> Duration {
        min(service(tries: tries, dice: dice), halted)
    }

    /// No wait is longer than Apple's 15 minutes.
    package static let longest = Duration.seconds(900)
    /// A fault that a person must mend is looked at again this often.
    package static let halted = Duration.seconds(60)
    /// What did not leave, through no fault of anybody, leaves again after this.
    package static let notSent = Duration.milliseconds(250)

    private static func exponential(base: Double, factor: Double, tries: Int, cap: Double) -> Double {
        var limit = base
        for _ in 1..<max(2, min(tries, 32)) where limit < cap { limit *= tries > 1 ? factor : 1 }
        return min(limit, cap)
    }

    private static func jittered(limit: Double, dice: Double) -> Duration {
        // Full jitter, but never at once: a tenth of the limit is the least.
        .milliseconds(Int64(limit * 1000 * max(0.1, clamped(dice))))
    }

    private static func clamped(_ dice: Double) -> Double { min(1, max(0, dice)) }
}
