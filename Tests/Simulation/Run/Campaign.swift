package import TestSupport

/// Many histories, on as many threads as asked for.
package enum Campaign {
    package struct Report: Sendable {
        package var histories = 0
        package var counts = Counts()
        /// The failing history with the least seed, as it was.
        package var failing: Plan?
        /// The seeds that failed, by the rule that did not hold first.
        package var failures: [Rule: [UInt64]] = [:]
        /// The least seed that was not played.
        package var next = UInt64.max
        package init() {}
    }

    /// Plays the histories of these seeds, until one fails (or all of them, where it goes on), or it is told to stop.
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

    /// In another task than its caller's: the histories of one thread, one after another.
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
