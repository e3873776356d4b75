import APNSModel

/// Delays before a retry.
///
/// `dice` is a random number from 0 to 1. The caller passes it, so that tests can predict the result.
package enum RetryDelay {
    /// Returns the delay after 429 TooManyRequests for one token.
    ///
    /// The delay is 1 to 2 s at first, then up to 4 s, 8 s, … 5 min, and never less than 1 s. Each delay is spread
    /// evenly between 1 s and its limit. So phones that APNs slowed down together come back one by one, and few of them
    /// after exactly 1 s.
    package static func token(tries: Int, dice: Double) -> Duration {
        let limit = exponential(base: 2, factor: 2, tries: tries, cap: 300)
        return .milliseconds(1000 + Int64((limit - 1) * 1000 * clamped(dice)))
    }

    /// Returns the delay after a 5xx answer or a lost connection.
    ///
    /// The delay is about 1 s at first, then up to 4 s, 16 s, … 15 min, which is Apple's limit. Jitter is full from the
    /// second attempt on.
    package static func service(tries: Int, dice: Double) -> Duration {
        guard tries > 1 else { return .milliseconds(Int64(750 + 500 * clamped(dice))) }
        return jittered(
            limit: exponential(base: 1, factor: 4, tries: tries, cap: longest / .seconds(1)), dice: dice)
    }

    /// Returns the delay after a push that may have arrived: that of `service`, and at most one minute.
    ///
    /// A state may come twice, but one that did not arrive is missed. Apple's pace is for requests that its servers
    /// could not process.
    package static func unknownFate(tries: Int, dice: Double) -> Duration {
        min(service(tries: tries, dice: dice), halted)
    }

    /// Returns the delay of a lane: that of `service`, and at most one minute, because other phones wait with the one
    /// that met the fault.
    package static func lane(tries: Int, dice: Double) -> Duration {
        min(service(tries: tries, dice: dice), halted)
    }

    /// Longest delay: Apple's 15 minutes.
    package static let longest = Duration.seconds(900)
    /// Interval between checks of a fault that a person must fix.
    package static let halted = Duration.seconds(60)
    /// Delay after a push that did not leave, with no party at fault.
    package static let notSent = Duration.milliseconds(250)

    private static func exponential(base: Double, factor: Double, tries: Int, cap: Double) -> Double {
        var limit = base
        for _ in 1..<max(2, min(tries, 32)) where limit < cap { limit *= tries > 1 ? factor : 1 }
        return min(limit, cap)
    }

    private static func jittered(limit: Double, dice: Double) -> Duration {
        // Full jitter, but at least a tenth of the limit.
        .milliseconds(Int64(limit * 1000 * max(0.1, clamped(dice))))
    }

    private static func clamped(_ dice: Double) -> Double { min(1, max(0, dice)) }
}
