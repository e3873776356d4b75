/// Runs work within a time limit. Returns its answer, or `late` if the limit passes first.
///
/// Work that is late is canceled, and it has ended when this function returns. So it must react to its cancellation.
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
