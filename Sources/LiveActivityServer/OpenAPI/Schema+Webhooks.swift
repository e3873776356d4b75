import LiveActivityCore

extension Schema.Name {
    /// The schemas of webhooks.
    var webhookSchema: Schema {
        switch self {
        case .webhookList: Self.endpoints
        case .deadDeliveryList: Self.dead
        case .replayRequest:
            .request(
                "What is told again; without a body all that was given up.",
                [
                    Schema.field("events", .list(Self.eventID, 1...1000), "Only these of those that were given up."),
                    Schema.field("since", Self.eventID, "Everything after this event that is kept; 0: all."),
                ])
        case .replayed:
            .answer(
                "What is told again.",
                [Schema.field("replayed", .count, "How many that were given up; absent with `since`.")])
        case .discardRequest:
            .request(
                "Which of those that were given up: `events`, or `all`.",
                [
                    Schema.field("events", .list(Self.eventID, 1...1000), "These."),
                    Schema.field("all", .flag, "`true`: all of them."),
                ])
        case .discarded:
            .answer("What is not on the list any more.", [Schema.needed("discarded", .count)])
        default:
            .answer("Whether something was changed.", [Schema.needed("changed", .flag, "It was off before.")])
        }
    }

    private static let eventID = Schema.text(pattern: "^(0|[1-9][0-9]*)$")

    private static let endpoints = Schema.answer(
        "The endpoints that the app's events are told to.",
        [
            Schema.needed(
                "webhooks",
                .list(
                    .answer(
                        "One endpoint.",
                        [
                            Schema.needed("name", .text(1...64)),
                            Schema.field("origin", .text(), "Of its URL; absent: it is not configured any more."),
                            Schema.field(
                                "kinds", .list(.choice(EventRecord.Kind.allCases.map(\.name))), "Absent: all."),
                            Schema.needed("state", .choice(WebhookStanding.State.allCases.map(\.rawValue))),
                            Schema.field("since", moment, "Since when it fails, or is off."),
                            Schema.field("reason", .text(), "The last failure."),
                            Schema.field("fix", .text(), "What somebody has to do."),
                            Schema.needed("failures", .count, "In a row."),
                            Schema.needed("behind", .count, "Events newer than all that it was told."),
                            Schema.needed("waiting", .count, "Events that failed, or wait behind one that did."),
                            Schema.needed("dead", .count, "Events that were given up."),
                        ])))
        ])

    private static let dead = Schema.answer(
        "Events that an endpoint was not told.",
        [
            Schema.needed(
                "dead",
                .list(
                    .answer(
                        "One event.",
                        [
                            Schema.needed("id", eventID),
                            Schema.field("event", .named(.event), "Absent: it is erased."),
                            Schema.needed("tries", .count), Schema.field("firstTriedAt", moment),
                            Schema.field("givenUpAt", moment), Schema.field("failure", .text()),
                        ]))), Schema.field("next", .text(), "What `after` takes for the next page."),
        ])
}
