import LiveActivityCore

extension Schema.Name {
    /// The schemas of webhooks.
    var webhookSchema: Schema {
        switch self {
        case .webhookList: Self.endpoints
        case .deadDeliveryList: Self.dead
        case .replayRequest:
            .request(
                "Events to send again; without a body, all whose delivery was given up.",
                [
                    Schema.field(
                        "events", .list(Self.eventID, 1...1000),
                        "Only these of the events whose delivery was given up."),
                    Schema.field("since", Self.eventID, "All stored events after this one; 0: all."),
                ])
        case .replayed:
            .answer(
                "Result of a replay.",
                [
                    Schema.field(
                        "replayed", .count, "Number of events whose delivery had been given up; absent with `since`.")
                ])
        case .discardRequest:
            .request(
                "Events to discard, of those whose delivery was given up: `events`, or `all`.",
                [
                    Schema.field("events", .list(Self.eventID, 1...1000), "Numbers of the events to discard."),
                    Schema.field("all", .flag, "`true` to discard all of them."),
                ])
        case .discarded:
            .answer("Result of a discard.", [Schema.needed("discarded", .count)])
        default:
            .answer(
                "Result of enabling an endpoint.",
                [Schema.needed("changed", .flag, "`true` if the endpoint was off before.")])
        }
    }

    private static let eventID = Schema.text(pattern: "^(0|[1-9][0-9]*)$")

    private static let endpoints = Schema.answer(
        "Endpoints that the app's events are sent to.",
        [
            Schema.needed(
                "webhooks",
                .list(
                    .answer(
                        "One endpoint.",
                        [
                            Schema.needed("name", .text(1...64)),
                            Schema.field("origin", .text(), "Origin of its URL; absent if it is no longer configured."),
                            Schema.field(
                                "kinds", .list(.choice(EventRecord.Kind.allCases.map(\.name))),
                                "Kinds of events that it gets; absent: all."),
                            Schema.needed("state", .choice(WebhookStanding.State.allCases.map(\.rawValue))),
                            Schema.field("since", moment, "Time since which it fails, or is off."),
                            Schema.field("reason", .text(), "The last failure."),
                            Schema.field("fix", .text(), "Advice on what to do."),
                            Schema.needed("failures", .count, "Number of consecutive failures."),
                            Schema.needed("behind", .count, "Number of events newer than every event it was sent."),
                            Schema.needed(
                                "waiting", .count, "Number of events that failed, or wait behind one that did."),
                            Schema.needed("dead", .count, "Number of events whose delivery was given up."),
                        ])))
        ])

    private static let dead = Schema.answer(
        "Events whose delivery to an endpoint was given up.",
        [
            Schema.needed(
                "dead",
                .list(
                    .answer(
                        "One event.",
                        [
                            Schema.needed("id", eventID),
                            Schema.field("event", .named(.event), "The event; absent if it was erased."),
                            Schema.needed("tries", .count), Schema.field("firstTriedAt", moment),
                            Schema.field("givenUpAt", moment), Schema.field("failure", .text()),
                        ]))), Schema.field("next", .text(), "Value of `after` for the next page."),
        ])
}
