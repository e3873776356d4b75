import JSONText
import LiveActivityCore

extension Schema.Name {
    /// The schemas of policy trials.
    var whatIfSchema: Schema {
        guard self == .whatIfRequest else { return Self.answer }
        return .request(
            "A policy to try, and the day to try it on; without a time the last 24 hours.",
            [
                Schema.needed(
                    "policy", .anything,
                    "Words of the configuration that are laid over the present policy; null: what holds without."),
                Schema.field("from", .named(.instant), "At most 24 h before `to`; excludes `hours`."),
                Schema.field("to", .named(.instant), "Default: now."),
                Schema.field("hours", .integer(1...24), "So many before `to`."),
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
        Schema.needed("reasons", counts, "The pushes by why they went out."),
        Schema.needed(
            "changes",
            .answer(
                "What became of the changes.",
                [
                    Schema.needed("sent", .count, "A push carried them."),
                    Schema.needed("together", .count, "They went out together with a later one."),
                    Schema.needed("unsent", .count, "Neither they nor a later one went out."),
                ])),
        Schema.field(
            "delay",
            .answer(
                "Seconds from a change to the push that carried it.",
                ["p50", "p95", "longest"].map { Schema.needed($0, seconds) })),
        Schema.needed("endedIdle", .count, "Activities that the server ended, since nobody set them any more."),
    ]

    private static let played: [Schema.Field] = [
        Schema.field("held", counts, "Cards that had to wait, by why."),
        Schema.field(
            "lowered",
            .answer(
                "Pushes that would have been of high priority.",
                [
                    Schema.needed("byInterval", .count, "`highPriorityInterval` was not over."),
                    Schema.needed("byBudget", .count, "The phone's budget was used up."),
                ])),
        Schema.field("refused", .count, "Changes that would have been refused."),
    ]

    private static let answer = Schema.answer(
        "A recorded day as it was, and played under two policies.",
        [
            Schema.needed("from", moment), Schema.needed("to", moment), Schema.needed("activities", .count),
            Schema.needed("changes", .count), Schema.needed("phones", .count),
            Schema.needed("isPart", .flag, "There was more than one trial plays."),
            Schema.needed("policy", .anything, "The policy that was tried, in the words of the configuration."),
            Schema.needed("sent", .answer("What went out really.", figures)),
            Schema.needed("now", .answer("Under the present policy.", figures + played)),
            Schema.needed("then", .answer("Under the policy that was tried.", figures + played)),
            Schema.needed("unknown", .list(.text()), "What is not recorded, and what was taken in its place."),
        ])
}
