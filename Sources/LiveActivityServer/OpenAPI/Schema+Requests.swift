import JSONText
import LiveActivityAPI

/// The schemas of requests.
extension Schema.Name {
    private static let sequence = Schema.field(
        "sequence", .integer(0...Int.max),
        "A number that grows with each call about a run. A call whose number is not greater than the last "
            + "accepted one changes nothing.")

    private static let stale: [Schema.Field] = [
        Schema.field(
            "staleAt", .named(.instant),
            "Time from which the card is marked as out of date, at least 10 s ahead; excludes `staleAfter`."
        ),
        Schema.field("staleAfter", .named(.duration), "Like `staleAt`, counted from this call; at least 10 s."),
    ]

    private static let priority = Schema.field("priority", .choice(ActivityRequest.Priority.self), "Default: `auto`.")
    private static let relevance = Schema.field(
        "relevance", .number, "Relevance score. The app's activity with the highest score takes the Dynamic Island.")

    /// The requests about activities.
    var activitySchema: Schema {
        switch self {
        case .alert: Self.alertBody
        case .fallback:
            .request(
                "Ordinary notification for phones that cannot show a card.",
                [
                    Schema.needed(
                        "alert",
                        .request(
                            "Text, with placeholders such as `{/sender|Somebody}` for values of the state.",
                            [
                                Schema.needed("title", .named(.words)), Schema.field("body", .named(.words)),
                                Schema.field("sound", .text(1...256)),
                            ]))
                ])
        case .activityRequest: Self.activityBody
        case .patchRequest:
            .request(
                "Parts of the desired state to change. What is absent stays unchanged.",
                [
                    Schema.field("state", .anything, "A merge patch (RFC 7396) of the content state."),
                    Schema.field("alert", .named(.alert)), Self.priority, Self.relevance,
                ] + Self.stale + [Self.sequence])
        case .endRequest:
            .request(
                "The final state, and when the card leaves the lock screen. At most one of the `dismiss` fields.",
                [
                    Schema.field("state", .anything, "Final content state; absent: the newest state."),
                    Schema.field("alert", .named(.alert)),
                    Schema.field("dismissAt", .named(.instant), "At most 4 h ahead."),
                    Schema.field("dismissAfter", .named(.duration), "More than 0, at most 4 h."),
                    Schema.field("dismissNow", .flag), Self.sequence,
                ])
        default: Self.audienceBody
        }
    }

    private static let alertBody = Schema.request(
        "Alert that is sent with a state, once to each phone.",
        [
            Schema.field("id", .text(1...256), "Id of the alert. An alert with the same id is the same alert."),
            Schema.needed("title", .named(.words), "Not blank."), Schema.field("body", .named(.words)),
            Schema.field("sound", .text(1...256), "A sound file of the app by its name, or `default`."),
            Schema.field(
                "expiresAfter", .named(.duration),
                "Time for which the alert is worth showing, from 1 s; default: 10 min."),
            Schema.field(
                "keep", .flag, "`true` to send the alert with a later state to phones that it has not reached."),
            Schema.field("onUnknown", .choice(Alert.OnUnknown.self), "Default: `drop`."),
        ])

    private static let activityBody = Schema.request(
        "Desired state: what every phone of the audience should show.",
        [
            Schema.needed("type", .text(), "The activity type, as configured."),
            Schema.needed("state", .anything, "The content state, as the app decodes it."),
            Schema.field("attributes", .anything, "Fixed while the activity runs."),
            Schema.field(
                "audience",
                .request(
                    "People who should see the activity.",
                    [
                        Schema.needed("users", .list(.named(.id), 0...1000)),
                        Schema.field(
                            "devices", .named(.devices), "Devices on which a card is started; default: `lastActive`."),
                    ])), Schema.field("alert", .named(.alert)), priority, relevance,
        ] + stale + [
            Schema.field(
                "start", .choice(ActivityRequest.Start.self),
                "Default: unchanged; in a new run the type's (`ifPossible`)."),
            Schema.field(
                "restart", .choice(ActivityRequest.Restart.self),
                "Default: unchanged; in a new run the type's (`never`)."),
            Schema.field("fallback", .named(.fallback)),
            Schema.field("reopen", .flag, "`true` to begin a new run of an ended activity."), sequence,
        ])

    private static let audienceBody = Schema.anyOf([
        .request(
            "People who join and leave, at most 1,000 in total.",
            [
                Schema.needed("add", .list(.named(.id), 0...1000)),
                Schema.field("remove", .list(.named(.id), 0...1000)), Schema.field("replace", Schema(["type": "null"])),
            ]),
        .request(
            "People who leave.",
            [
                Schema.needed("remove", .list(.named(.id), 0...1000)),
                Schema.field("add", Schema(["type": "null"])), Schema.field("replace", Schema(["type": "null"])),
            ]),
        .request(
            "The whole audience, at once or page by page.",
            [
                Schema.needed(
                    "replace",
                    .anyOf([
                        .list(.named(.id), 0...1000),
                        .request(
                            "One page of a larger audience.",
                            [
                                Schema.needed("session", .text(1...256)),
                                Schema.needed("users", .list(.named(.id), 0...1000)),
                                Schema.field(
                                    "last", .flag,
                                    "`true` on the last page. Users whom no page has named leave the audience."),
                            ]),
                    ])), Schema.field("add", Schema(["type": "null"])),
                Schema.field("remove", Schema(["type": "null"])),
            ]),
    ])

    /// The reports of phones, and the remaining requests.
    var otherRequestSchema: Schema {
        switch self {
        case .deviceRequest: Self.device
        case .tokenRequest:
            .request("The newest push-to-start token of a type.", [Schema.needed("token", .named(.token))])
        case .instanceRequest: .request("One card, as the phone knows it.", Self.card)
        case .inventoryRequest:
            .request(
                "All cards of the phone. A card that is not listed is no longer there.",
                [
                    Schema.needed(
                        "sequence", .integer(1...Int.max),
                        "A number that grows with every inventory and every numbered report of the device."),
                    Schema.needed(
                        "instances",
                        .list(
                            .request("One card.", [Schema.needed("localID", .named(.id))] + Self.card),
                            0...InventoryRequest.maximumCards)),
                ])
        case .notificationRequest: Self.notification
        case .refreshRequest:
            .request(
                "States of a person to recompute.",
                [Schema.field("type", .text(), "Activity type; absent: every type with a provider.")])
        case .refreshesRequest:
            .request(
                "People whose states to recompute: either `users` or `all`.",
                [
                    Schema.field("type", .text()), Schema.field("users", .list(.named(.id), 0...1000)),
                    Schema.field("all", .flag),
                ])
        default:
            .request(
                "One write of a batch.",
                [
                    Schema.needed("method", .choice(["PUT", "PATCH", "POST", "DELETE"])),
                    Schema.needed("path", .text(), "Path with its query, percent-encoded."),
                    Schema.field("body", Schema([:])), Schema.field("idempotencyKey", .text(1...255)),
                    Schema.field("ifMatch", .text()),
                ])
        }
    }

    private static let device = Schema.request(
        "Registration of a phone: its person and abilities. What is absent stays unchanged.",
        [
            Schema.field(
                "user", .named(.id), "Person who is signed in; required unless the call is authenticated as a person."),
            Schema.field("platform", .choice(DeviceRequest.Platform.self)),
            Schema.field("timeZone", .text(pattern: "^[A-Za-z0-9/_+-]{1,48}$"), "An IANA name."),
            Schema.field("locale", .text(1...64)),
            Schema.field("osVersion", .text(pattern: #"^[0-9]+(\.[0-9]+){0,2}$"#), "Starts by push need 17.2."),
            Schema.field("appVersion", .text(1...64)), Schema.field("build", .text(1...64)),
            Schema.field("model", .text(1...64)),
            Schema.field("environment", .choice(DeviceRequest.Environment.self)),
            Schema.field("activitiesEnabled", .flag), Schema.field("frequentPushesEnabled", .flag),
            Schema.field("channels", .flag, "The app can show Live Activities on broadcast channels (iOS 18)."),
            Schema.field("notificationAuthorization", .choice(DeviceRequest.NotificationAuthorization.self)),
            Schema.field("deviceToken", .named(.token), "For ordinary notifications."),
            Schema.field("wantsCredential", .flag, "`true` to get the phone's own credential with the answer."),
        ])

    private static let card: [Schema.Field] = [
        Schema.needed("type", .text(), "The activity type."),
        Schema.field("activity", .named(.id), "Activity that the card shows; absent: the attributes name it."),
        Schema.field("attributes", .anything), Schema.needed("state", .choice(InstanceRequest.State.self)),
        Schema.field("token", .named(.token), "The newest update token."),
        Schema.field(
            "channel", .text(pattern: Self.channelPattern),
            "Broadcast channel of the card, which then has no update token."),
        Schema.field("startedAt", .named(.instant)),
        Schema.field("lastTimestamp", .named(.instant), "The newest timestamp that the card applied."),
        Schema.field("contentState", .anything, "Content state that the card holds."),
        Schema.field("basedOn", .integer(0...Int.max), "Revision that the card showed when the app changed it itself."),
        Schema.field(
            "sequence", .integer(1...Int.max),
            "A number that grows with every report of the device; in an inventory, the inventory's own number counts."
        ),
        Schema.field(
            "opens", .integer(0...InstanceRequest.maximumOpens),
            "Number of times that the person has opened the app by the card so far."),
    ]

    /// The form that ``ChannelID`` accepts.
    private static let channelPattern =
        "^(?:[A-Za-z0-9+/]{4}){0,63}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$"

    private static let notification = Schema.request(
        "An ordinary notification, or a push that wakes the app. One of `alert` and `background` is required.",
        [
            Schema.field(
                "alert",
                .request(
                    "Text of the notification.",
                    [
                        Schema.needed("title", .named(.words)), Schema.field("body", .named(.words)),
                        Schema.field("subtitle", .named(.words)), Schema.field("sound", .text(1...256)),
                        Schema.field("threadId", .text(1...256)),
                    ])), Schema.field("background", .flag),
            Schema.field("data", .anything, "Members that the payload has beside `aps`."),
            Schema.field("devices", .named(.devices), "Default: `all`."),
            Schema.field(
                "id", .text(1...256), "Id of the notification; required unless the header `Idempotency-Key` is given."),
            Schema.field("expiresAfter", .named(.duration), "At least 1 s; default: a day."),
            Schema.field("collapse", .text(pattern: "^[!-~]{1,64}$"), "`apns-collapse-id`."),
        ])
}
