/// Runs the tasks of one process of a history, one job after another, on the thread that plays the history.
///
/// Whatever a task waits for (a continuation, a child, a stream) comes back to its executor, so that no job of such a
/// process ever runs anywhere else: the order of jobs is the order in which `drain` takes them, and that is given in.
final class SeededExecutor: TaskExecutor, @unchecked Sendable {
    private var ready: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

    var isIdle: Bool { ready.isEmpty }

    /// Runs one job of those that are ready.
    ///
    /// - Parameter pick: Which of so many; 0 is the one that waits the longest.
    func step(pick: (Int) -> Int) {
        guard !ready.isEmpty else { return }
        let job = ready.remove(at: ready.count > 1 ? pick(ready.count) : 0)
        job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
