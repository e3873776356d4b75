/// Work that has to be done in a time: what it answers, or `late` when that is over.
///
/// The work is cancelled then, and has ended when this returns: it must heed its cancellation.
package func withDeadline<Answer: Sendable>(
    _ limit: Duration, by clock: any Clock<Duration>, late: Answer,
    _ work: @escaping @Sendable () async -> Answer
) async -> Answer {
    await withTaskGroup(of: Answer.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await clock.sleep(for: limit)
            return late
        }
        let first = await group.next()
        group.cancelAll()
        return first ?? late
    }
}
