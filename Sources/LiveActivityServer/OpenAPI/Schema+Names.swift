import JSONText

extension Schema {
    /// The names of the schemas.
    enum Name: String, CaseIterable, Sendable {
        case id = "ID"
        case instant = "Instant"
        case duration = "Duration"
        case token = "Token"
        case words = "Words"
        case devices = "Devices"
        case alert = "Alert"
        case fallback = "Fallback"
        case activityRequest = "ActivityRequest"
        case patchRequest = "PatchRequest"
        case endRequest = "EndRequest"
        case audienceRequest = "AudienceRequest"
        case deviceRequest = "DeviceRequest"
        case tokenRequest = "PushToStartTokenRequest"
        case instanceRequest = "InstanceRequest"
        case inventoryRequest = "InventoryRequest"
        case notificationRequest = "NotificationRequest"
        case refreshRequest = "RefreshRequest"
        case refreshesRequest = "RefreshesRequest"
        case batchLine = "BatchLine"
        case problem = "Problem"
        case reason = "Reason"
        case reasonCounts = "ReasonCounts"
        case phones = "Phones"
        case deviceVerdict = "DeviceVerdict"
        case activityAnswer = "ActivityAnswer"
        case audienceAnswer = "AudienceAnswer"
        case activityList = "ActivityList"
        case activityView = "ActivityView"
        case deviceView = "DeviceView"
        case timeline = "Timeline"
        case typeList = "TypeList"
        case whatIfRequest = "WhatIfRequest"
        case whatIf = "WhatIf"
        case keyList = "KeyList"
        case overview = "Overview"
        case alertList = "AlertList"
        case nodeList = "NodeList"
        case channelList = "ChannelList"
        case event = "Event"
        case webhookList = "WebhookList"
        case deadDeliveryList = "DeadDeliveryList"
        case replayRequest = "ReplayRequest"
        case replayed = "Replayed"
        case discardRequest = "DiscardRequest"
        case discarded = "Discarded"
        case webhookEnabled = "WebhookEnabled"
        case desiredStates = "DesiredStates"
        case desiredState = "DesiredState"
        case credentialsRevoked = "CredentialsRevoked"
        case diagnosis = "Diagnosis"
        case notificationAnswer = "NotificationAnswer"
        case refreshAsked = "RefreshAsked"
        case refreshView = "RefreshView"
        case lineAnswer = "LineAnswer"
        case health = "Health"
        case readiness = "Readiness"
        case description = "Description"

        /// The schema with this name.
        var schema: Schema {
            switch self {
            case .id, .instant, .duration, .token, .words, .devices: formatSchema
            case .alert, .fallback, .activityRequest, .patchRequest, .endRequest, .audienceRequest: activitySchema
            case .deviceRequest, .tokenRequest, .instanceRequest, .inventoryRequest, .notificationRequest,
                .refreshRequest, .refreshesRequest, .batchLine:
                otherRequestSchema
            case .problem, .health, .readiness, .description, .lineAnswer: commonSchema
            case .reason, .reasonCounts, .phones, .deviceVerdict, .activityAnswer, .audienceAnswer:
                changeSchema
            case .activityList, .activityView, .deviceView, .timeline, .desiredStates, .desiredState,
                .credentialsRevoked, .diagnosis, .notificationAnswer, .refreshAsked, .refreshView:
                viewSchema
            case .whatIfRequest, .whatIf: whatIfSchema
            case .typeList, .keyList, .overview, .alertList, .nodeList, .event: settingsSchema
            case .channelList: channelSchema
            case .webhookList, .deadDeliveryList, .replayRequest, .replayed, .discardRequest, .discarded,
                .webhookEnabled:
                webhookSchema
            }
        }
    }
}

extension Schema.Name {
    /// The schemas of single values.
    private var formatSchema: Schema {
        switch self {
        case .id: .text(1...256).about("An id of yours: 1 to 256 bytes without control characters.")
        case .instant:
            .anyOf([
                .text(format: "date-time"),
                Schema.number.with("minimum", 0).with("maximum", 253_402_300_799),
            ]).about("RFC 3339 text with a zone, or seconds since 1970; from 1970 through 9999.")
        case .duration:
            .anyOf([
                .text(pattern: "^[0-9]+[smhd]$"), Schema.number.with("minimum", 0).with("maximum", 2_592_000),
            ]).about("`90s`, `5m`, `1h`, `2d`, or seconds; at most 30 days.")
        case .token:
            .text(pattern: "^([0-9A-Fa-f]{2}){16,256}$").about("A push token: hexadecimal digits, an even number.")
        case .words:
            .anyOf([
                .text(),
                .request(
                    "A key of the app's own strings.",
                    [Schema.needed("locKey", .text()), Schema.field("locArgs", .list(.text()))]),
            ]).about("A text, or a key of the app's own strings.")
        default:
            .anyOf([.choice(["all", "lastActive"]), .list(.named(.id), 1...1000)])
                .about("Which devices of the users: the one in touch last, all, or these.")
        }
    }
}
