package import APNSModel
import IsletBasics

/// Condition that a lane waits for instead of a time.
///
/// While an outage lasts, or while the configuration lacks a type, looking at a lane again changes nothing. Such a lane
/// costs nothing until its condition is met, or until something new concerns its activity or one of its phones.
package enum LaneCondition: Sendable, Hashable {
    /// The route's circuit closes. `isHarmless` is `true` if the lane has a push that may be the route's probe.
    case route(PushRoute, isHarmless: Bool)
    /// The configuration has this type of an app again.
    case type(BundleID, String)

    /// Maximum number of lanes that one claim searches for a route's probe.
    package static let lanesForProbe = 16
}

extension LaneCondition {
    /// Kind, then environment or bundle identifier, then the rest. Neither of the first two contains a slash.
    package var stored: String {
        switch self {
        case .route(let route, let isHarmless):
            "\(isHarmless ? "probe" : "route")/\(route.environment.rawValue)/\(route.app)"
        case .type(let app, let type): "type/\(app)/\(type)"
        }
    }

    /// Creates a condition from its stored form; `nil` if it has another form.
    package init?(stored text: String) {
        let parts = text.split(separator: "/", maxSplits: 2).map(String.init)
        guard parts.count == 3 else { return nil }
        switch parts[0] {
        case "probe", "route":
            guard let environment = APNSEnvironment(rawValue: parts[1]), let app = BundleID(parts[2]) else {
                return nil
            }
            self = .route(PushRoute(app, environment), isHarmless: parts[0] == "probe")
        case "type":
            guard let app = BundleID(parts[1]) else { return nil }
            self = .type(app, parts[2])
        default: return nil
        }
    }
}

extension LaneCondition {
    /// Returns whether the lane need not wait any more.
    package func isMet(_ apps: [BundleID: AppSettings], _ gate: CircuitGate) -> Bool {
        switch self {
        case .type(let app, let type): apps[app]?.types[type] != nil
        case .route(let route, _): gate.closed[route] == nil
        }
    }

    /// Returns whether the lane may have the push that its closed route wants as a probe.
    package func mayProbe(_ gate: CircuitGate) -> Bool {
        switch self {
        case .type: false
        case .route(let route, let isHarmless):
            gate.closed[route] != nil && gate.wantsProbe(on: route, isHarmless: isHarmless)
        }
    }

    /// Returns when a lane that waits for its condition is looked at anyway: after 45 to 75 minutes.
    ///
    /// Its decisions also depend on the time. Lanes that began to wait together do not come together.
    package static func checkAt(_ lane: LaneKey, from now: UnixTime) -> UnixTime {
        let mixed = SplitMix64.mix(UInt64(bitPattern: lane.activity) &+ UInt64(bitPattern: lane.fromDevice))
        return now + .seconds(45 * 60) + .milliseconds(Int64(mixed % (30 * 60 * 1000)))
    }
}

extension DueLanes {
    /// Returns how many lanes of each condition to take: none of one that is not met.
    ///
    /// Met conditions share what lanes that are due leave of a claim, but half of it at least. Routes that want a probe
    /// come first, so that no other route delays it.
    package func rooms(for conditions: [LaneCondition], besides due: Int) -> [(condition: LaneCondition, lanes: Int)] {
        let met = conditions.filter { $0.isMet(apps, gate) }
        let share = max(1, max(lanes / 2, lanes - due) / max(1, met.count))
        let probing = conditions.filter { $0.mayProbe(gate) }
        return probing.map { ($0, min(lanes, LaneCondition.lanesForProbe)) } + met.map { ($0, share) }
    }

    /// Two lists that are read in turns, so that neither takes all the room of a claim.
    package struct Turns<Element> {
        private var lists: (ArraySlice<Element>, ArraySlice<Element>)
        private var isFirst = true

        package init(_ first: [Element], _ second: [Element]) {
            lists = (first[...], second[...])
        }

        /// Returns the next element of the list whose turn it is, or of the other one if it has no more.
        package mutating func next() -> Element? {
            isFirst ? lists.0.popFirst() ?? lists.1.popFirst() : lists.1.popFirst() ?? lists.0.popFirst()
        }

        /// Gives the other list its turn. An element that brought no lane uses up none.
        package mutating func pass() { isFirst.toggle() }
    }

    /// Types whose starts depend on the number of cards on the device. Their phones come with `Snapshot.deviceCards`.
    package var counting: [BundleID: Set<String>] {
        apps.mapValues { app in Set(app.types.values.filter { $0.policy.atCeiling != .ignore }.map(\.name)) }
            .filter { !$0.value.isEmpty }
    }
}
