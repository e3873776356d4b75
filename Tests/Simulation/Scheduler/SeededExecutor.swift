/// Executor of one process of a history. It runs one job after another on the thread that plays the history.
///
/// A task that waits for a continuation, a child or a stream resumes on its executor, so no job of the process runs
/// anywhere else. The caller of `step` alone decides the order of jobs.
final class SeededExecutor: TaskExecutor, @unchecked Sendable {
    private var ready: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { ready.append(UnownedJob(job)) }

    var isIdle: Bool { ready.isEmpty }

    /// Runs one ready job.
    ///
    /// - Parameter pick: Returns the index of the job to run, given the number of ready jobs. Index 0 has waited
    ///   longest.
    func step(pick: (Int) -> Int) {
        guard !ready.isEmpty else { return }
        let job = ready.remove(at: ready.count > 1 ? pick(ready.count) : 0)
        job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
