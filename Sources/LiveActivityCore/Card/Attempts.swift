package import APNSModel

/// Failed attempts in a row that concern this phone alone, and the time of the next one.
package struct Attempts: Sendable, Hashable {
    package private(set) var tries = 0
    /// Earliest time of the next push: a retry, the end of a window, the repeat of an end, or the end of the wait for
    /// an answer.
    package private(set) var dueAt: UnixTime?

    init() {}

    init(tries: Int, dueAt: UnixTime?) {
        self.tries = tries
        self.dueAt = dueAt
    }

    /// Removes the count and the wait.
    mutating func clear() { self = Attempts() }

    /// Resets the count after a success. The next attempt waits until `time`.
    mutating func succeed(nextAt time: UnixTime?) { self = Attempts(tries: 0, dueAt: time) }

    /// Records a failure. The next attempt waits until `time`.
    ///
    /// - Parameter counts: `true` if the failure lengthens the waits after the next one.
    mutating func fail(retryAt time: UnixTime?, counts: Bool = true) {
        tries += counts ? 1 : 0
        dueAt = time
    }

    mutating func wait(until time: UnixTime?) { dueAt = time }
}
