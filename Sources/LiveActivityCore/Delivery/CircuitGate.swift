package import APNSModel

/// What a claim is told about the routes: which are closed, until when, and which want a probe.
///
/// A value, so that a claim decides alone: it asks `admit` for each push in turn, and the gate takes account of the
/// probe it let through.
package struct CircuitGate: Sendable, Equatable {
    /// Why nothing goes this way, and when to look again.
    package struct Closure: Sendable, Equatable {
        package var until: UnixTime
        package var reason: Reason

        package init(until: UnixTime, reason: Reason) {
            self.until = until
            self.reason = reason
        }
    }

    package enum Admission: Sendable, Equatable {
        case go
        /// The phone waits. It stays behind, and nothing is written for it.
        case hold(Closure)
    }

    package var closed: [PushRoute: Closure]
    /// Closed routes that want exactly one harmless push, to see whether APNs is well again.
    package var probes: Set<PushRoute>
    /// Those of them that waited for a harmless one in vain: any one push will do, even a start.
    package var trials: Set<PushRoute>
    /// Routes whose probe this claim takes.
    package private(set) var probed: Set<PushRoute> = []
    /// Routes on which this claim held a push back.
    package private(set) var held: Set<PushRoute> = []
    /// How often each route had opened or closed: news of a flight that left under another count is old.
    var lives: [PushRoute: Int]
    /// When to look again while a probe is on its way.
    var probeAnswerAt: UnixTime

    /// Nothing is closed.
    package static let open = CircuitGate(closed: [:], probes: [], trials: [])

    package init(closed: [PushRoute: Closure], probes: Set<PushRoute>, trials: Set<PushRoute> = []) {
        self.closed = closed
        self.probes = probes
        self.trials = trials
        lives = [:]
        probeAnswerAt = UnixTime(milliseconds: .max)
    }

    /// Whether a push may leave on a route now; takes the route's one probe if it is one.
    package mutating func admit(_ plan: PushPlan, to route: PushRoute) -> Admission {
        admit(isHarmless: plan.isHarmless, to: route)
    }

    /// The same of any push.
    ///
    /// - Parameter isHarmless: It may be lost: nobody sees anything of it twice, or misses it.
    package mutating func admit(isHarmless: Bool, to route: PushRoute) -> Admission {
        guard let closure = closed[route] else { return .go }
        if probes.contains(route), isHarmless || trials.contains(route) {
            probes.remove(route)
            trials.remove(route)
            probed.insert(route)
            // The rest learns of its answer soon.
            closed[route]?.until = min(closure.until, probeAnswerAt)
            return .go
        }
        held.insert(route)
        return .hold(closure)
    }
}
