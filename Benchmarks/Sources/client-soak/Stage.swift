import APNSModel
import APNSSimulator

/// A simulator with one crowd member for each push and with constant faults.
struct Stage: Sendable {
    static let crowd = "soak"
    static let app = "com.example.soak"

    let simulator: APNSSimulator
    let keyID = "SOAK123456"
    let teamID = "TEAM123456"
    let p8: String

    init(members: Int) throws {
        let (key, p8) = ProviderKey.fresh(keyID: keyID, teamID: teamID)
        self.p8 = p8
        var configuration = APNSSimulator.Configuration()
        configuration.keys = [key]
        configuration.rememberedPushes = 100
        configuration.crowdMembers = members
        simulator = try APNSSimulator(configuration)
        guard let bundleID = BundleID(Self.app) else { throw SoakProblem("no bundle id") }
        try simulator.addCrowd(
            CrowdSpecification(name: Self.crowd, count: members, bundleID: bundleID, attributesType: "Soak"))
        simulator.faults = Self.faults
    }

    /// The faults and their intervals in pushes. The intervals are primes, so that the faults coincide in every order.
    private static let faults: [FaultRule] = [
        rule(997, .refuse(status: 503, reason: "ServiceUnavailable")),
        rule(1_009, .refuse(status: 429, reason: "TooManyRequests")),
        rule(503, .refuseStream), rule(50_021, .stall), rule(9_973, .loseAnswer(.reset)),
        rule(40_009, .loseAnswer(.close)), rule(60_013, .loseAnswer(.abort)), rule(55_001, .loseAnswer(.silence)),
        rule(401, .slow(.milliseconds(30))), rule(5_003, .goAway(reason: "Shutdown", last: .this)),
        rule(7_001, .goAway(reason: "Shutdown", last: .previous)), rule(3_001, .limitStreams(1)),
        rule(211, .limitStreams(1_000)),
    ]

    /// The largest number of unknown fates that these faults can cause. A fault affects its own push, or every push
    /// that is open on its connection.
    static func unknownFates(of pushes: Int, outstanding: Int) -> Int {
        faults.reduce(0) { sum, rule in
            // Some pushes are sent again and meet the rules again.
            let times = pushes * 11 / 10 / rule.every + 1
            return switch rule.effect {
            case .stall, .loseAnswer(.reset), .loseAnswer(.silence): sum + times
            case .loseAnswer(.close), .loseAnswer(.abort): sum + times * outstanding
            case .refuse, .refuseStream, .slow, .goAway, .limitStreams: sum
            }
        }
    }

    private static func rule(_ every: Int, _ effect: FaultRule.Effect) -> FaultRule {
        var rule = FaultRule(effect)
        rule.every = every
        return rule
    }
}

struct SoakProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
