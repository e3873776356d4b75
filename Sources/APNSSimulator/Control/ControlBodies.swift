internal import APNSModel
internal import JSONText

extension Duration {
    /// Creates a duration from a number of seconds in a body, limited to 1e9 s.
    static func bounded(seconds: Double) -> Duration {
        .milliseconds(Int64(min(max(seconds, -1e9), 1e9) * 1000))
    }
}

extension UnixTime {
    static func bounded(seconds: Double) -> UnixTime {
        UnixTime(milliseconds: Int64(min(max(seconds, -1e11), 1e11) * 1000))
    }
}

struct AdvanceBody: Decodable {
    let seconds: Double
}

struct GoAwayBody: Decodable {
    let reason: String?
    let lastStreamID: Int?

    func checkedLastStreamID() throws(SimulatorError) -> Int? {
        guard (0...APNSSimulator.largestNumber).contains(lastStreamID ?? 0) else {
            throw SimulatorError(.badValue, "`lastStreamID` is 0 to \(APNSSimulator.largestNumber)")
        }
        return lastStreamID
    }
}

struct StreamsBody: Decodable {
    let streams: Int

    func checkedStreams() throws(SimulatorError) -> Int {
        guard (0...APNSSimulator.largestNumber).contains(streams) else {
            throw SimulatorError(.badValue, "`streams` is 0 to \(APNSSimulator.largestNumber)")
        }
        return streams
    }
}

struct KeyBody: Decodable {
    let keyID: String?
    let teamID: String?
    let pem: String?
    let environments: [String]?
    let topics: [String]?
    let relatedKeyID: String?

    /// Returns the key, and its `.p8` text if it was created here.
    func key() throws(SimulatorError) -> (ProviderKey, p8: String?) {
        var allowed: Set<APNSEnvironment> = Set(APNSEnvironment.allCases)
        if let environments {
            allowed = Set(try environments.map { text throws(SimulatorError) in try parsedEnvironment(text) })
        }
        var bundles: Set<BundleID>?
        if let topics { bundles = Set(try topics.map { text throws(SimulatorError) in try parsedBundleID(text) }) }
        guard let pem else {
            let (key, p8) = ProviderKey.fresh(
                keyID: keyID, teamID: teamID, environments: allowed, topics: bundles, relatedKeyID: relatedKeyID)
            return (key, p8)
        }
        guard let keyID, let teamID else { throw SimulatorError(.badKey, "`pem` needs `keyID` and `teamID`") }
        return (
            try ProviderKey(
                keyID: keyID, teamID: teamID, pem: pem, environments: allowed, topics: bundles,
                relatedKeyID: relatedKeyID), nil
        )
    }
}

func parsedEnvironment(_ text: String) throws(SimulatorError) -> APNSEnvironment {
    guard let environment = APNSEnvironment(rawValue: text) else {
        throw SimulatorError(.badValue, "an environment is `sandbox` or `production`")
    }
    return environment
}

func parsedBundleID(_ text: String) throws(SimulatorError) -> BundleID {
    guard let bundleID = BundleID(text) else { throw SimulatorError(.badValue, "the bundle id is not valid") }
    return bundleID
}

func parsedChannelID(_ text: String) throws(SimulatorError) -> ChannelID {
    guard let id = ChannelID(text) else { throw SimulatorError(.badValue, "`channel` is not the id of a channel") }
    return id
}

struct PhonesBody: Decodable {
    let user: String
    let bundleID: String
    let count: Int?
    let id: String?
    let environment: String?
    let iOS: String?
    let appVersion: String?
    let build: String?
    let model: String?
    let timeZone: String?
    let locale: String?
    let activitiesEnabled: Bool?
    let frequentPushesEnabled: Bool?
    let notificationAuthorization: NotificationAuthorization?
    let appState: AppState?
    let isLocked: Bool?
    let isOnline: Bool?
    let asksToAllow: Bool?
    let noticesInBackground: Bool?
    let startsWantedCards: Bool?
    let clockSkew: Double?
    let activityTypes: [String]?

    /// Maximum number of phones of one call.
    private static let atOnce = 10_000

    func specifications(
        installing known: [InstalledActivityType]
    ) throws(SimulatorError) -> [PhoneSpecification] {
        let count = count ?? 1
        guard (1...Self.atOnce).contains(count) else {
            throw SimulatorError(.badValue, "`count` is 1 to \(Self.atOnce)")
        }
        var specifications: [PhoneSpecification] = []
        for number in 1...count {
            var specification = try specification(installing: known)
            let suffix = count == 1 ? "" : "-\(number)"
            specification.user = user + suffix
            if let id {
                guard let id = PhoneID(id + suffix) else {
                    throw SimulatorError(.badValue, "an id has 1 to 128 letters, digits, `-`, `_`, `.` or `:`")
                }
                specification.id = id
            }
            specifications.append(specification)
        }
        return specifications
    }

    private func specification(installing known: [InstalledActivityType]) throws(SimulatorError) -> PhoneSpecification {
        var phone = PhoneSpecification(user: user, bundleID: try parsedBundleID(bundleID))
        if let environment { phone.environment = try parsedEnvironment(environment) }
        if let iOS {
            guard let version = IOSVersion(iOS) else { throw SimulatorError(.badValue, "`iOS` must be like 17.2") }
            phone.iOS = version
        }
        phone.appVersion = appVersion ?? phone.appVersion
        phone.build = build ?? phone.build
        phone.model = model ?? phone.model
        phone.timeZone = timeZone ?? phone.timeZone
        phone.locale = locale ?? phone.locale
        phone.activitiesEnabled = activitiesEnabled ?? phone.activitiesEnabled
        phone.frequentPushesEnabled = frequentPushesEnabled ?? phone.frequentPushesEnabled
        phone.notificationAuthorization = notificationAuthorization ?? phone.notificationAuthorization
        phone.appState = appState ?? phone.appState
        phone.isLocked = isLocked ?? phone.isLocked
        phone.isOnline = isOnline ?? phone.isOnline
        phone.asksToAllow = asksToAllow ?? phone.asksToAllow
        phone.noticesInBackground = noticesInBackground ?? phone.noticesInBackground
        phone.startsWantedCards = startsWantedCards ?? phone.startsWantedCards
        phone.clockSkew = .bounded(seconds: clockSkew ?? 0)
        for name in activityTypes ?? known.map(\.name) {
            phone.installs(known.first { $0.name == name } ?? InstalledActivityType(named: name))
        }
        return phone
    }
}

/// The body of a change of faults: rules, or the name of a profile.
struct FaultsBody: Decodable {
    let faults: [Rule]?
    let profile: String?
    /// Length of the profile, in seconds.
    let seconds: Double?

    struct Rule: Decodable {
        let effect: String
        let status: Int?
        let reason: String?
        let loss: FaultRule.Loss?
        let seconds: Double?
        let last: JSONValue?
        let streams: Int?
        let phone: String?
        let tokenPrefix: String?
        let event: String?
        let topic: String?
        let channel: String?
        let skip: Int?
        let every: Int?
        let count: Int?
        let probability: Double?
        let after: Double?
        let lasting: Double?
    }

    func rules() throws(SimulatorError) -> [FaultRule] {
        if let profile {
            guard faults == nil, let profile = FaultProfile(rawValue: profile) else {
                let names = FaultProfile.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                throw SimulatorError(.badValue, "give either `faults`, or `profile`, which is one of \(names)")
            }
            return profile.rules(over: seconds.map { .bounded(seconds: $0) } ?? FaultProfile.usual)
        }
        guard let faults, seconds == nil else {
            throw SimulatorError(.badValue, "give either `faults`, or `profile` and `seconds`")
        }
        guard faults.count <= FaultList.capacity else {
            throw SimulatorError(.badValue, "at most \(FaultList.capacity) faults")
        }
        return try faults.map { rule throws(SimulatorError) in try rule.rule() }
    }
}

extension FaultsBody.Rule {
    fileprivate func rule() throws(SimulatorError) -> FaultRule {
        var rule = FaultRule(try faultEffect())
        if let phone {
            guard let id = PhoneID(phone) else { throw SimulatorError(.badValue, "`phone` is not a phone's id") }
            rule.phone = id
        }
        rule.tokenPrefix = tokenPrefix
        rule.event = event
        rule.topic = topic
        if let channel { rule.channel = try parsedChannelID(channel) }
        rule.skip = max(0, skip ?? 0)
        rule.every = max(1, every ?? 1)
        rule.count = count
        rule.after = .bounded(seconds: after ?? 0)
        rule.lasting = lasting.map { .bounded(seconds: $0) }
        rule.probability = probability ?? 1
        return rule
    }

    private func faultEffect() throws(SimulatorError) -> FaultRule.Effect {
        switch effect {
        case "refuse":
            guard let status, (200...599).contains(status), let reason else {
                throw SimulatorError(.badValue, "`refuse` needs `status` and `reason`")
            }
            return .refuse(status: status, reason: reason)
        case "stall": return .stall
        case "refuseStream": return .refuseStream
        case "loseAnswer": return .loseAnswer(loss ?? .reset)
        case "slow": return .slow(.bounded(seconds: seconds ?? 1))
        case "delay": return .delay(.bounded(seconds: seconds ?? 1))
        case "goAway": return .goAway(reason: reason ?? "Shutdown", last: try lastStream())
        case "limitStreams": return .limitStreams(streams ?? 1)
        default: throw SimulatorError(.badValue, "`effect` is unknown")
        }
    }

    private func lastStream() throws(SimulatorError) -> FaultRule.LastStream {
        switch (last, last?.string, last?.int) {
        case (nil, _, _), (_, "this", _): return .this
        case (_, "previous", _): return .previous
        case (_, _, let id?) where id >= 0 && id < 1 << 31: return .id(id)
        default: throw SimulatorError(.badValue, "`last` is `this`, `previous` or a stream's number")
        }
    }
}
