internal import APNSModel
internal import HTTPTypes
internal import Hummingbird
internal import JSONText

struct CrowdBody: Decodable {
    let name: String
    let count: Int
    let bundleID: String
    let environment: String?
    let attributesType: String

    func specification() throws(SimulatorError) -> CrowdSpecification {
        var crowd = CrowdSpecification(
            name: name, count: count, bundleID: try parsedBundleID(bundleID), attributesType: attributesType)
        if let environment { crowd.environment = try parsedEnvironment(environment) }
        return crowd
    }
}

struct CrowdWaitBody: Decodable {
    let pushes: Int?
    let state: JSONObject?
    let members: Int?
    let seconds: Double?

    /// Longest wait of one call, in seconds.
    private static let longest = 3600.0

    func timeout() throws(SimulatorError) -> Duration {
        guard pushes != nil || state != nil else {
            throw SimulatorError(.badValue, "`pushes` or `state` is required: it says what to wait for")
        }
        guard members == nil || state != nil else { throw SimulatorError(.badValue, "`members` needs `state`") }
        let seconds = seconds ?? 60
        guard (0...Self.longest).contains(seconds) else {
            throw SimulatorError(.badValue, "`seconds` is 0 to \(Int(Self.longest))")
        }
        return .bounded(seconds: seconds)
    }
}

struct CrowdCardsBody: Decodable {
    let channel: String
    let first: Int?
    let count: Int?

    func channelID() throws(SimulatorError) -> ChannelID {
        guard let id = ChannelID(channel) else {
            throw SimulatorError(.badValue, "`channel` is not the id of a broadcast channel")
        }
        return id
    }

    /// Returns the numbers of the members that the body names.
    ///
    /// - Parameter total: Number of members of the crowd.
    func members(of total: Int) throws(SimulatorError) -> Range<Int> {
        let first = first ?? 0
        guard (0..<total).contains(first), (1...(total - first)).contains(count ?? 1) else {
            throw SimulatorError(.badValue, "the crowd has \(total) members: `first` and `count` name others")
        }
        return first..<(first + (count ?? total - first))
    }
}

extension ControlRouter {
    func addCrowds(to router: Router<Context>) {
        router.post("v1/crowd") { request, _ in
            let crowd = try await body(CrowdBody.self, of: request).specification()
            try simulator.addCrowd(crowd)
            return try reply(try simulator.crowdTotals(crowd.name).view(name: crowd.name), status: .created)
        }
        router.get("v1/crowd/:crowd") { request, context in
            let name = try context.parameters.require("crowd")
            var view = try simulator.crowdTotals(name).view(name: name).object ?? [:]
            let holdings =
                if let text = request.uri.queryParameters["state"] {
                    [try simulator.crowdHolding(try Self.contentState(String(text)), in: name)]
                } else {
                    try simulator.crowdHoldings(name)
                }
            view["holding"] = .array(holdings.map(\.view))
            return try reply(.object(view))
        }
        router.get("v1/crowd/:crowd/members/:member") { _, context in
            let name = try context.parameters.require("crowd")
            guard let member = Int(try context.parameters.require("member")) else {
                throw SimulatorError(.unknownPhone, "a member is a number from 0")
            }
            return try reply(try simulator.crowdMember(member, of: name).view)
        }
        router.post("v1/crowd/:crowd/cards") { request, context in
            let name = try context.parameters.require("crowd")
            let body = try await body(CrowdCardsBody.self, of: request)
            let members = try body.members(of: try simulator.crowdTotals(name).members)
            try simulator.startCards(of: name, on: try body.channelID(), members: members)
            return try reply(try simulator.crowdTotals(name).view(name: name))
        }
        router.post("v1/crowd/:crowd/wait") { request, context in
            let name = try context.parameters.require("crowd")
            let body = try await body(CrowdWaitBody.self, of: request)
            do {
                let totals = try await simulator.waitForCrowd(
                    name, pushes: body.pushes ?? 0, holding: body.state, members: body.members,
                    timeout: try body.timeout())
                return try reply(totals.view(name: name))
            } catch let error as SimulatorError where error.code == .timedOut {
                return try reply(try simulator.crowdTotals(name).view(name: name), status: .requestTimeout)
            }
        }
        router.delete("v1/crowd/:crowd") { _, context in
            try simulator.removeCrowd(try context.parameters.require("crowd"))
            return Response(status: .noContent)
        }
    }

    private static func contentState(_ text: String) throws -> JSONObject {
        guard let object = try JSONValue(parsing: text).object else {
            throw SimulatorError(.badValue, "`state` is a JSON object")
        }
        return object
    }
}

extension CrowdTotals {
    func view(name: String) -> JSONValue {
        var priorities: JSONObject = [:]
        for (priority, count) in acceptedByPriority.sorted(by: { $0.key > $1.key }) {
            priorities[String(priority)] = .init(count)
        }
        return [
            "name": .string(name), "members": .init(members), "accepted": .init(accepted),
            "acceptedByPriority": .object(priorities), "refused": .init(refused), "reached": .init(reached),
            "starts": .init(starts), "secondCards": .init(secondCards), "updates": .init(updates),
            "ends": .init(ends), "staleIgnored": .init(staleIgnored), "dropped": .init(dropped),
            "notifications": .init(notifications), "broadcasts": .init(broadcasts), "running": .init(running),
        ]
    }
}

extension CrowdHolding {
    var view: JSONValue { ["digest": .string(digest.description), "members": .init(members)] }
}

extension CrowdMember {
    var view: JSONValue {
        [
            "accepted": .init(accepted), "isRunning": .bool(isRunning), "hasEnded": .bool(hasEnded),
            "timestamp": timestamp.map { .init($0) } ?? .null, "digest": .init(digest?.description),
        ]
    }
}
