package import APNSModel

/// State of all circuits for one claim: which routes are closed, until when, and which of them want a probe.
///
/// The gate is a value, so a claim needs nothing else to decide. It calls `admit` for each push in turn, and the gate
/// accounts for the probe that it admits.
package struct CircuitGate: Sendable, Equatable {
    /// Fault for which no push leaves on a route, and the time of the next check.
    package struct Closure: Sendable, Equatable {
        package var until: UnixTime
        package var trouble: RouteTrouble

        package init(until: UnixTime, trouble: RouteTrouble) {
            self.until = until
            self.trouble = trouble
        }

        package var reason: Reason { trouble.reason(until: until) }
    }

    package enum Admission: Sendable, Equatable {
        case go
        /// The phone waits. It stays behind, and nothing is written for it.
        case hold(Closure)
    }

    package var closed: [PushRoute: Closure]
    /// Closed routes that want exactly one harmless push, to find out whether APNs has recovered.
    package var probes: Set<PushRoute>
    /// Routes of `probes` that have waited for a harmless push in vain. Any push may be their probe, even a start.
    package var trials: Set<PushRoute>
    /// Routes whose probe this claim has taken.
    package private(set) var probed: Set<PushRoute> = []
    /// Routes on which this claim has held back a push.
    package private(set) var held: Set<PushRoute> = []
    /// Number of each circuit's state. Answers of a flight that left under another number are ignored.
    var lives: [PushRoute: Int]
    /// Time of the next check while a probe is on its way.
    var probeAnswerAt: UnixTime

    /// A gate that closes no route.
    package static let open = CircuitGate(closed: [:], probes: [], trials: [])

    package init(closed: [PushRoute: Closure], probes: Set<PushRoute>, trials: Set<PushRoute> = []) {
        self.closed = closed
        self.probes = probes
        self.trials = trials
        lives = [:]
        probeAnswerAt = UnixTime(milliseconds: .max)
    }

    /// Returns whether a push may leave on a route now. If the push is the route's probe, it consumes the probe.
    package mutating func admit(_ plan: PushPlan, to route: PushRoute) -> Admission {
        admit(isHarmless: plan.isHarmless, to: route)
    }

    /// Returns whether a closed route wants such a push as its probe.
    package func wantsProbe(on route: PushRoute, isHarmless: Bool) -> Bool {
        probes.contains(route) && (isHarmless || trials.contains(route))
    }

    /// Returns whether a push may leave on a route now. If the push is the route's probe, it consumes the probe.
    ///
    /// - Parameter isHarmless: `true` if the push may be lost without a person seeing something twice or missing it.
    package mutating func admit(isHarmless: Bool, to route: PushRoute) -> Admission {
        guard let closure = closed[route] else { return .go }
        if wantsProbe(on: route, isHarmless: isHarmless) {
            probes.remove(route)
            trials.remove(route)
            probed.insert(route)
            // The other phones are checked again soon after the probe's answer.
            closed[route]?.until = min(closure.until, probeAnswerAt)
            return .go
        }
        held.insert(route)
        return .hold(closure)
    }
}
