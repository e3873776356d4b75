package import APNSModel

/// What a lane waits for instead of a time.
///
/// While an outage lasts, or while the configuration lacks a type, looking at a lane again changes nothing. Such a lane
/// costs nothing until its condition is met, or until something new concerns its activity or one of its phones.
package enum LaneCondition: Sendable, Hashable {
    /// The route's circuit closes. `isHarmless` is `true` if the lane has a push that may be the route's probe.
    case route(PushRoute, isHarmless: Bool)
    /// The configuration has this type of an app again.
    case type(BundleID, String)

    /// Number of phones up to which a lane can wait for a route. A larger lane looks again at a time, because one claim
    /// may not see all its phones.
    package static let phones = 32
    /// Maximum number of lanes that one claim searches for a route's probe.
    package static let lanesForProbe = 16
    /// Longest time that a lane waits for a route before it is looked at anyway. Its decisions also depend on the time.
    package static let limit = Duration.seconds(3600)
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
    /// Returns how many of `lanes` lanes that wait for the condition may be looked at now; 0 while it is not met.
    package func room(for lanes: Int, _ apps: [BundleID: AppSettings], _ gate: CircuitGate) -> Int {
        switch self {
        case .type(let app, let type): return apps[app]?.types[type] == nil ? 0 : lanes
        case .route(let route, let isHarmless):
            guard gate.closed[route] != nil else { return lanes }
            let maySearch = gate.probes.contains(route) && (isHarmless || gate.trials.contains(route))
            return maySearch ? min(lanes, Self.lanesForProbe) : 0
        }
    }
}

extension DueLanes {
    /// Returns how many lanes to take that wait for a condition; 0 while it is not met.
    ///
    /// They leave up to half of a claim to lanes that are due.
    package func room(for condition: LaneCondition, besides due: Int) -> Int {
        condition.room(for: max(1, lanes / 2, lanes - due), apps, gate)
    }

    /// Types whose starts depend on the number of cards on the device. Their phones come with `Snapshot.deviceCards`.
    package var counting: [BundleID: Set<String>] {
        apps.mapValues { app in Set(app.types.values.filter { $0.policy.atCeiling != .ignore }.map(\.name)) }
            .filter { !$0.value.isEmpty }
    }
}
