import JSONText
import LiveActivityCore

extension Schema.Name {
    /// The schemas of policy trials.
    var whatIfSchema: Schema {
        guard self == .whatIfRequest else { return Self.answer }
        return .request(
            "A policy to try, and the time to try it on: by default the last 24 hours.",
            [
                Schema.needed(
                    "policy", .anything,
                    "Configuration keys, merged into the present policy; null removes a key."),
                Schema.field("from", .named(.instant), "At most 24 h before `to`; excludes `hours`."),
                Schema.field("to", .named(.instant), "Default: now."),
                Schema.field("hours", .integer(1...24), "Number of hours before `to`."),
            ])
    }

    private static let seconds = Schema(["type": "number", "minimum": 0])
    private static let counts = Schema([
        "type": "object", "additionalProperties": ["type": "integer", "minimum": 0],
    ])

    private static let figures: [Schema.Field] = [
        Schema.needed("pushes", .count, "Starts, updates and ends."), Schema.needed("starts", .count),
        Schema.needed("updates", .count), Schema.needed("ends", .count),
        Schema.needed("fallbacks", .count, "Ordinary notifications in place of a card."),
        Schema.needed("high", .count), Schema.needed("low", .count),
        Schema.needed("alerts", .count, "Pushes with an alert; a start has one, unless it renews a card."),
        Schema.needed("reasons", counts, "Number of pushes by reason."),
        Schema.needed(
            "changes",
            .answer(
                "Outcome of the changes.",
                [
                    Schema.needed("sent", .count, "Changes that a push carried."),
                    Schema.needed("together", .count, "Changes that went out together with a later one."),
                    Schema.needed("unsent", .count, "Changes of which neither they nor a later one went out."),
                ])),
        Schema.field(
            "delay",
            .answer(
                "Seconds from a change to the push that carried it.",
                ["p50", "p95", "longest"].map { Schema.needed($0, seconds) })),
        Schema.needed("endedIdle", .count, "Activities that the server ended because nobody set them any more."),
    ]

    private static let played: [Schema.Field] = [
        Schema.field("held", counts, "Number of cards that had to wait, by reason."),
        Schema.field(
            "lowered",
            .answer(
                "Pushes sent at low instead of high priority, by cause.",
                [
                    Schema.needed("byInterval", .count, "Pushes for which `highPriorityInterval` was not over."),
                    Schema.needed("byBudget", .count, "Pushes for which the phone's budget was used up."),
                ])),
        Schema.field("refused", .count, "Changes that would have been refused."),
    ]

    private static let answer = Schema.answer(
        "A recorded day: what was sent, and its replay under two policies.",
        [
            Schema.needed("from", moment), Schema.needed("to", moment), Schema.needed("activities", .count),
            Schema.needed("changes", .count), Schema.needed("phones", .count),
            Schema.needed("isPart", .flag, "`true` if there was more than one trial can replay."),
            Schema.needed("policy", .anything, "The policy that was tried, in the words of the configuration."),
            Schema.needed("sent", .answer("What was really sent.", figures)),
            Schema.needed("now", .answer("Under the present policy.", figures + played)),
            Schema.needed("then", .answer("Under the policy that was tried.", figures + played)),
            Schema.needed(
                "unknown", .list(.text()), "Facts that are not recorded, and what the replay assumes for each."),
        ])
}
