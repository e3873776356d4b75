import TestSupport

/// Shortens a failing history: it removes steps or makes them calm while the same rule still fails.
package enum Shrinking {
    package static func shrink(_ failing: History) -> History {
        guard let rule = failing.violations.first?.rule else { return failing }
        var best = failing
        func fails(_ plan: Plan) -> History? {
            let history = History(plan, trap: failing.trap)
            return history.violations.first?.rule == rule ? history : nil
        }
        // Tries halves, quarters and so on down to single steps, and repeats until nothing more can be removed.
        var size = max(1, best.plan.steps.count / 2)
        while true {
            var shrank = false
            var start = 0
            while start < best.plan.steps.count {
                var plan = best.plan
                plan.steps.removeSubrange(start..<min(plan.steps.count, start + size))
                if let shorter = fails(plan) {
                    best = shorter
                    shrank = true
                } else {
                    start += size
                }
            }
            if size > 1 { size /= 2 } else if !shrank { break }
        }
        for step in best.plan.steps {
            var plan = best.plan
            plan.calm.insert(step)
            if let calmer = fails(plan) { best = calmer }
        }
        return History(best.plan, keepsTimeline: true, trap: failing.trap)
    }
}
