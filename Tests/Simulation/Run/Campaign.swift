package import TestSupport

/// Plays many histories on a given number of threads.
package enum Campaign {
    package struct Report: Sendable {
        package var histories = 0
        package var counts = Counts()
        /// Original plan of the failing history with the lowest seed.
        package var failing: Plan?
        /// Seeds that failed, by the first rule that was violated.
        package var failures: [Rule: [UInt64]] = [:]
        /// Lowest seed that was not played.
        package var next = UInt64.max
        package init() {}
    }

    /// Plays the histories of the given seeds.
    ///
    /// It stops when one fails, unless `goesOn` is `true`, or when `isOver` returns `true`.
    package static func run(
        seeds: Range<UInt64>, workers: Int, goesOn: Bool = false, isOver: @escaping @Sendable () -> Bool = { false }
    ) async -> Report {
        await withTaskGroup(of: Report.self) { group in
            for worker in 0..<max(1, workers) {
                group.addTask {
                    await part(seeds, worker: UInt64(worker), of: UInt64(max(1, workers)), goesOn, isOver)
                }
            }
            return await group.reduce(into: Report()) { all, part in
                all.histories += part.histories
                all.counts += part.counts
                all.failures.merge(part.failures, uniquingKeysWith: +)
                all.next = min(all.next, part.next)
                if let plan = part.failing, all.failing.map({ plan.seed < $0.seed }) ?? true { all.failing = plan }
            }
        }
    }

    /// Plays one thread's histories, one after another, outside the caller's task.
    @concurrent
    private static func part(
        _ seeds: Range<UInt64>, worker: UInt64, of workers: UInt64, _ goesOn: Bool, _ isOver: @Sendable () -> Bool
    ) async -> Report {
        var report = Report()
        var seed = seeds.lowerBound + worker
        while seed < seeds.upperBound, !isOver() {
            let history = History(Plan(seed: seed))
            report.histories += 1
            report.counts += history.counts
            if let rule = history.violations.first?.rule {
                report.failures[rule, default: []].append(seed)
                report.failing = report.failing ?? history.plan
                if !goesOn { break }
            }
            seed += workers
        }
        report.next = seed
        return report
    }
}
