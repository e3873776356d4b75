import JSONText
import LiveActivityAPI

/// The schemas of requests.
extension Schema.Name {
    private static let sequence = Schema.field(
        "sequence", .integer(0...Int.max),
        "Grows with each call about a run: one that is not greater than the last taken changes nothing.")

    private static let stale: [Schema.Field] = [
        Schema.field(
            "staleAt", .named(.instant),
            "When the card is to look outdated, at least 10 s ahead; excludes `staleAfter`."
        ),
        Schema.field("staleAfter", .named(.duration), "The same, counted from this call; at least 10 s."),
    ]

    private static let priority = Schema.field("priority", .choice(ActivityRequest.Priority.self), "Default: `auto`.")
    private static let relevance = Schema.field(
        "relevance", .number, "The highest of the app's activities takes the Dynamic Island.")

    /// The requests about activities.
    var activitySchema: Schema {
        switch self {
        case .alert: Self.alertBody
        case .fallback:
            .request(
                "What an ordinary notification says on phones that cannot show a card.",
                [
                    Schema.needed(
                        "alert",
                        .request(
                            "Words, with places such as `{/sender|Somebody}` for values of the state.",
                            [
                                Schema.needed("title", .named(.words)), Schema.field("body", .named(.words)),
                                Schema.field("sound", .text(1...256)),
                            ]))
                ])
        case .activityRequest: Self.activityBody
        case .patchRequest:
            .request(
                "Parts of what should be shown; what is absent stays as it stands.",
                [
                    Schema.field("state", .anything, "A merge patch (RFC 7396) of the content state."),
                    Schema.field("alert", .named(.alert)), Self.priority, Self.relevance,
                ] + Self.stale + [Self.sequence])
        case .endRequest:
            .request(
                "The last state, and when the card leaves the lock screen; at most one of the `dismiss` fields.",
                [
                    Schema.field("state", .anything, "The last content state; absent: the newest there is."),
                    Schema.field("alert", .named(.alert)),
                    Schema.field("dismissAt", .named(.instant), "At most 4 h ahead."),
                    Schema.field("dismissAfter", .named(.duration), "More than nothing, at most 4 h."),
                    Schema.field("dismissNow", .flag), Self.sequence,
                ])
        default: Self.audienceBody
        }
    }

    private static let alertBody = Schema.request(
        "An alert that goes with a state, once to each phone.",
        [
            Schema.field("id", .text(1...256), "The same id is the same alert."),
            Schema.needed("title", .named(.words), "Not blank."), Schema.field("body", .named(.words)),
            Schema.field("sound", .text(1...256), "A sound file of the app by its name, or `default`."),
            Schema.field("expiresAfter", .named(.duration), "How long it is worth showing, from 1 s; default: 10 min."),
            Schema.field("keep", .flag, "Whether a later state carries it to phones that it has not reached."),
            Schema.field("onUnknown", .choice(Alert.OnUnknown.self), "Default: `drop`."),
        ])

    private static let activityBody = Schema.request(
        "What every phone of the audience should show.",
        [
            Schema.needed("type", .text(), "The activity type, as configured."),
            Schema.needed("state", .anything, "The content state, as the app decodes it."),
            Schema.field("attributes", .anything, "Fixed while the activity runs."),
            Schema.field(
                "audience",
                .request(
                    "Who should see it.",
                    [
                        Schema.needed("users", .list(.named(.id), 0...1000)),
                        Schema.field("devices", .named(.devices), "Where a card is started; default: `lastActive`."),
                    ])), Schema.field("alert", .named(.alert)), priority, relevance,
        ] + stale + [
            Schema.field("start", .choice(ActivityRequest.Start.self), "Default: the type's, `ifPossible`."),
            Schema.field("restart", .choice(ActivityRequest.Restart.self), "Default: the type's, `never`."),
            Schema.field("fallback", .named(.fallback)),
            Schema.field("reopen", .flag, "Whether an ended activity begins a new run."), sequence,
        ])

    private static let audienceBody = Schema.anyOf([
        .request(
            "People who join and leave, at most 1,000 in both together.",
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
                            "One page of a larger whole.",
                            [
                                Schema.needed("session", .text(1...256)),
                                Schema.needed("users", .list(.named(.id), 0...1000)),
                                Schema.field(
                                    "last", .flag,
                                    "`true` on the last page: users whom no page has named leave the audience."),
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
                "Every card of the phone: what is not listed is not there.",
                [
                    Schema.needed(
                        "sequence", .integer(1...Int.max),
                        "Grows with every inventory and every numbered report of the device."),
                    Schema.needed(
                        "instances",
                        .list(
                            .request("One card.", [Schema.needed("localID", .named(.id))] + Self.card),
                            0...InventoryRequest.maximumCards)),
                ])
        case .notificationRequest: Self.notification
        case .refreshRequest:
            .request(
                "What is computed anew.",
                [Schema.field("type", .text(), "The activity type; absent: every one with a provider.")])
        case .refreshesRequest:
            .request(
                "Whose states are computed anew: either `users`, or `all`.",
                [
                    Schema.field("type", .text()), Schema.field("users", .list(.named(.id), 0...1000)),
                    Schema.field("all", .flag),
                ])
        default:
            .request(
                "One write of a batch.",
                [
                    Schema.needed("method", .choice(["PUT", "PATCH", "POST", "DELETE"])),
                    Schema.needed("path", .text(), "With its query, percent-encoded."),
                    Schema.field("body", Schema([:])), Schema.field("idempotencyKey", .text(1...255)),
                    Schema.field("ifMatch", .text()),
                ])
        }
    }

    private static let device = Schema.request(
        "Whose phone it is, and what it can do; what is left out stays as it was.",
        [
            Schema.field("user", .named(.id), "Who is signed in; needed where the caller is no person."),
            Schema.field("platform", .choice(DeviceRequest.Platform.self)),
            Schema.field("timeZone", .text(pattern: "^[A-Za-z0-9/_+-]{1,48}$"), "An IANA name."),
            Schema.field("locale", .text(1...64)),
            Schema.field("osVersion", .text(pattern: #"^[0-9]+(\.[0-9]+){0,2}$"#), "Starts by push need 17.2."),
            Schema.field("appVersion", .text(1...64)), Schema.field("build", .text(1...64)),
            Schema.field("model", .text(1...64)),
            Schema.field("environment", .choice(DeviceRequest.Environment.self)),
            Schema.field("activitiesEnabled", .flag), Schema.field("frequentPushesEnabled", .flag),
            Schema.field("notificationAuthorization", .choice(DeviceRequest.NotificationAuthorization.self)),
            Schema.field("deviceToken", .named(.token), "For ordinary notifications."),
            Schema.field("wantsCredential", .flag, "The answer is to bring a credential of the phone's own."),
        ])

    private static let card: [Schema.Field] = [
        Schema.needed("type", .text(), "The activity type."),
        Schema.field("activity", .named(.id), "Which activity the card shows; absent: the attributes tell."),
        Schema.field("attributes", .anything), Schema.needed("state", .choice(InstanceRequest.State.self)),
        Schema.field("token", .named(.token), "The newest update token."),
        Schema.field(
            "channel", .text(pattern: Self.channelPattern),
            "The broadcast channel that the card is on: it has no token then."),
        Schema.field("startedAt", .named(.instant)),
        Schema.field("lastTimestamp", .named(.instant), "The newest timestamp that the card applied."),
        Schema.field("contentState", .anything, "What the card holds."),
        Schema.field("basedOn", .integer(0...Int.max), "The revision it showed when the app changed it itself."),
        Schema.field(
            "sequence", .integer(1...Int.max), "Grows with every report of the device; an inventory's own counts there."
        ),
        Schema.field(
            "opens", .integer(0...InstanceRequest.maximumOpens), "How often the person opened the app by it, so far."),
    ]

    /// The form that ``ChannelID`` accepts.
    private static let channelPattern =
        "^(?:[A-Za-z0-9+/]{4}){0,63}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$"

    private static let notification = Schema.request(
        "An ordinary notification, or a push that wakes the app: one of `alert` and `background` is needed.",
        [
            Schema.field(
                "alert",
                .request(
                    "What it says.",
                    [
                        Schema.needed("title", .named(.words)), Schema.field("body", .named(.words)),
                        Schema.field("subtitle", .named(.words)), Schema.field("sound", .text(1...256)),
                        Schema.field("threadId", .text(1...256)),
                    ])), Schema.field("background", .flag), Schema.field("data", .anything, "Beside `aps`."),
            Schema.field("devices", .named(.devices), "Default: `all`."),
            Schema.field("id", .text(1...256), "Needed, unless the header `Idempotency-Key` is given."),
            Schema.field("expiresAfter", .named(.duration), "From 1 s; default: a day."),
            Schema.field("collapse", .text(pattern: "^[!-~]{1,64}$"), "`apns-collapse-id`."),
        ])
}
