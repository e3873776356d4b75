package import TestSupport

/// One history, played from its plan.
package struct History: Sendable {
    package let plan: Plan
    package let violations: [Violation]
    package let counts: Counts
    package let timeline: [String]
    let trap: Trap?

    package init(_ plan: Plan, keepsTimeline: Bool = false, trap: Trap? = nil) {
        let world = World(seed: plan.seed, keepsTimeline: keepsTimeline, trap: trap)
        self.trap = trap
        world.begin()
        for step in plan.steps where world.violations.isEmpty { world.play(step, of: plan) }
        world.rest()
        world.end()
        self.plan = plan
        violations = world.violations
        counts = world.counts
        timeline = world.timeline.lines
    }

    package var isGood: Bool { violations.isEmpty }
}
