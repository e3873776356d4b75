package import APNSModel

/// Attempts in a row that one phone alone must repeat, and until when the next one waits.
package struct Attempts: Sendable, Hashable {
    package private(set) var tries = 0
    /// Not before then: a retry, the end of a window, the repeat of an end, an answer that is awaited.
    package private(set) var dueAt: UnixTime?

    init() {}

    init(tries: Int, dueAt: UnixTime?) {
        self.tries = tries
        self.dueAt = dueAt
    }

    /// Nothing failed, and nothing waits.
    mutating func clear() { self = Attempts() }

    /// An attempt came through. The next one waits until then.
    mutating func succeed(nextAt time: UnixTime?) { self = Attempts(tries: 0, dueAt: time) }

    /// - Parameter counts: The attempt counts for how long the one after the next waits.
    mutating func fail(retryAt time: UnixTime?, counts: Bool = true) {
        tries += counts ? 1 : 0
        dueAt = time
    }

    mutating func wait(until time: UnixTime?) { dueAt = time }
}
