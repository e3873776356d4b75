internal import APNSModel
internal import JSONText

/// The body of an action: its name, and only the fields that belong to it.
struct ActionBody: Decodable {
    let action: String
    let localID: String?
    let isOn: Bool?
    let user: String?
    let status: NotificationAuthorization?
    let attributesType: String?
    let attributes: JSONObject?
    let contentState: JSONObject?
    let activity: String?
    let staleDate: Double?
    let relevance: Double?
    let channel: String?
    let dismissNow: Bool?

    private static let plain: [String: PhoneAction] = [
        "foreground": .foreground, "background": .background, "launch": .launch, "kill": .kill,
        "forceQuit": .forceQuit, "uninstall": .uninstall, "install": .install, "allow": .allow, "offline": .offline,
        "online": .online,
        "lock": .lock, "unlock": .unlock, "rotatePushToStartToken": .rotatePushToStartToken,
        "rotateDeviceToken": .rotateDeviceToken, "spendBudget": .spendBudget,
    ]

    private static let fields: [String: Set<String>] = [
        "swipe": ["localID"], "tap": ["localID"], "rotateUpdateToken": ["localID"], "setActivitiesEnabled": ["isOn"],
        "setFrequentPushes": ["isOn"], "signIn": ["user"], "setNotificationAuthorization": ["status"],
        "startLocally": [
            "attributesType", "attributes", "contentState", "activity", "staleDate", "relevance", "channel",
        ],
        "updateLocally": ["localID", "contentState", "staleDate"],
        "endLocally": ["localID", "contentState", "dismissNow"],
    ]

    static func parse(_ value: JSONValue) throws -> PhoneAction {
        let body = try value.decode(ActionBody.self)
        let allowed = fields[body.action] ?? []
        for key in value.object?.keys ?? [] where key != "action" && !allowed.contains(key) {
            throw SimulatorError(.badValue, "`\(key)` does not belong to this action")
        }
        return try body.phoneAction()
    }

    private func phoneAction() throws(SimulatorError) -> PhoneAction {
        if let plain = Self.plain[action] { return plain }
        switch action {
        case "swipe": return .swipe(localID: localID)
        case "tap": return .tap(localID: localID)
        case "rotateUpdateToken": return .rotateUpdateToken(localID: localID)
        case "setActivitiesEnabled": return .setActivitiesEnabled(try need(isOn, "isOn"))
        case "setFrequentPushes": return .setFrequentPushes(try need(isOn, "isOn"))
        case "signIn": return .signIn(user: user)
        case "setNotificationAuthorization":
            return .setNotificationAuthorization(try need(status, "status"))
        case "startLocally":
            var start = PhoneAction.LocalStart(
                attributesType: try need(attributesType, "attributesType"), attributes: attributes ?? [:],
                contentState: try need(contentState, "contentState"), activity: activity,
                staleDate: staleDate.map { .bounded(seconds: $0) }, relevance: relevance ?? 0)
            if let channel { start.channel = try parsedChannelID(channel) }
            return .startLocally(start)
        case "updateLocally":
            return .updateLocally(
                PhoneAction.LocalUpdate(
                    localID: try need(localID, "localID"), contentState: try need(contentState, "contentState"),
                    staleDate: staleDate.map { .bounded(seconds: $0) }))
        case "endLocally":
            return .endLocally(
                localID: try need(localID, "localID"), contentState: contentState, isImmediate: dismissNow ?? false)
        default: throw SimulatorError(.badValue, "`action` is unknown")
        }
    }

    private func need<Value>(_ value: Value?, _ name: String) throws(SimulatorError) -> Value {
        guard let value else { throw SimulatorError(.badValue, "this action needs `\(name)`") }
        return value
    }
}
