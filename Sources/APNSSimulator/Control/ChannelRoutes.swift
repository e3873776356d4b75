internal import APNSModel
internal import HTTPTypes
internal import Hummingbird
internal import JSONText

struct ChannelRulesBody: Decodable {
    let broadcastApps: [String]?
    let channelsPerApp: Int?
    let broadcastsPerSecond: Int?
    let lateSubscribersGetStored: Bool?

    /// Returns the rules. What the body leaves out has its standard value.
    func rules() throws(SimulatorError) -> ChannelRules {
        var rules = ChannelRules()
        if let broadcastApps {
            rules.broadcastApps = Set(
                try broadcastApps.map { text throws(SimulatorError) in try parsedBundleID(text) })
        }
        rules.channelsPerApp = channelsPerApp ?? rules.channelsPerApp
        guard rules.channelsPerApp >= 0 else { throw SimulatorError(.badValue, "`channelsPerApp` is at least 0") }
        rules.broadcastsPerSecond = broadcastsPerSecond
        guard broadcastsPerSecond ?? 1 > 0 else {
            throw SimulatorError(.badValue, "`broadcastsPerSecond` is at least 1")
        }
        rules.lateSubscribersGetStored = lateSubscribersGetStored ?? rules.lateSubscribersGetStored
        return rules
    }
}

struct ForgetChannelBody: Decodable {
    let channel: String
}

extension ControlRouter {
    func addChannels(to router: Router<Context>) {
        router.get("v1/channels") { request, _ in
            let channels = simulator.channels
            let after = request.uri.queryParameters["after"].map(String.init)
            let start = try after.map { after in
                guard let index = channels.firstIndex(where: { $0.id.text == after }) else {
                    throw SimulatorError(.unknownChannel, "`after` names no channel")
                }
                return index + 1
            }
            let page = channels.dropFirst(start ?? 0).prefix(try limit(of: request))
            return try reply(["channels": .array(simulator.views(of: Array(page)))])
        }
        router.post("v1/channels/forget") { request, _ in
            let body = try await body(ForgetChannelBody.self, of: request)
            try simulator.forgetChannel(try parsedChannelID(body.channel))
            return Response(status: .noContent)
        }
        router.get("v1/channels/rules") { _, _ in try reply(simulator.channelRules.view) }
        router.put("v1/channels/rules") { request, _ in
            simulator.channelRules = try await body(ChannelRulesBody.self, of: request).rules()
            return Response(status: .noContent)
        }
    }
}

extension APNSSimulator {
    func views(of channels: [BroadcastChannel]) -> [JSONValue] {
        let subscribers = engine.withWorld { world, _ in world.subscribers }
        return channels.map { channel -> JSONValue in
            let owner = ChannelStore.Owner(bundleID: channel.bundleID, environment: channel.environment)
            return [
                "id": .string(channel.id.text), "bundleID": .string(channel.bundleID.text),
                "environment": .string(channel.environment.rawValue),
                "storage": .string(channel.policy == .mostRecent ? "mostRecent" : "none"),
                "subscribers": .init(subscribers[owner]?[channel.id] ?? 0),
            ]
        }
    }
}

extension ChannelRules {
    var view: JSONValue {
        let apps = broadcastApps?.map(\.text).sorted().map(JSONValue.string)
        return [
            "broadcastApps": apps.map(JSONValue.array) ?? .null, "channelsPerApp": .init(channelsPerApp),
            "broadcastsPerSecond": broadcastsPerSecond.map { .init($0) } ?? .null,
            "lateSubscribersGetStored": .bool(lateSubscribersGetStored),
        ]
    }
}
