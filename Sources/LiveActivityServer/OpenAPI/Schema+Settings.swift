import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityStorage

extension Schema.Name {
    /// The schemas of configuration and server state.
    var settingsSchema: Schema {
        switch self {
        case .typeList: Self.types
        case .keyList: Self.keys
        case .event: Self.happened
        case .alertList: Self.alerts
        default: Self.figures
        }
    }

    private static let number = Schema(["type": "number", "minimum": 0])
    private static let counts = Schema([
        "type": "object", "additionalProperties": ["type": "integer", "minimum": 0],
    ])

    private static let types = Schema.answer(
        "The app's activity types, as they are configured.",
        [
            Schema.needed(
                "types",
                .list(
                    .answer(
                        "One type.",
                        [
                            Schema.needed("type", .text()), Schema.needed("attributesType", .text()),
                            Schema.field("activityIDAttribute", .text(), "A JSON Pointer."),
                            Schema.needed("isProvided", .flag, "A provider computes what it shows."),
                            Schema.field("contract", .anything, "As docs/contracts.md has it."),
                            Schema.needed("policy", .anything, "In the words of the configuration."),
                            Schema.field(
                                "view",
                                .answer(
                                    "Which field is what where a card is drawn.",
                                    ["title", "subtitle", "progress", "countdown", "image"].map {
                                        Schema.field($0, .text())
                                    })),
                        ])))
        ])

    private static let happened = Schema.answer(
        "Something that happened, as streams and webhooks tell it.",
        [
            Schema.needed("id", .text(pattern: "^[0-9]+$"), "Grows with each event."),
            Schema.needed("type", .choice(EventRecord.Kind.allCases.map(\.name))),
            Schema.needed("timestamp", moment), Schema.needed("app", .text(), "The bundle id."),
            Schema.field("activity", .text(1...256)), Schema.field("run", .count),
            Schema.field("revision", .count), Schema.field("device", .text(1...256)),
            Schema.field("reason", .text(), "Why, as a code of docs/api.md."),
            Schema.field(
                "token", .choice(EventRecord.Subject.allCases.filter(\.isToken).map(\.rawValue)),
                "Which token is dead."),
            Schema.field("environment", .choice(["sandbox", "production"]), "Where the key is halted."),
        ])

    private static let keys = Schema.answer(
        "The app's API keys, without what proves them.",
        [
            Schema.needed(
                "keys",
                .list(
                    .answer(
                        "One key.",
                        [
                            Schema.needed("id", .text()),
                            Schema.needed("scope", .choice(APIKeyRecord.Scope.allCases.map(\.rawValue))),
                            Schema.field("name", .text()),
                            Schema.needed("standing", .choice(APIKeyRecord.Standing.allCases.map(\.rawValue))),
                            Schema.needed("createdAt", moment), Schema.field("expiresAt", moment),
                            Schema.field("usedAt", moment),
                        ])))
        ])

    private static let alerts = Schema.answer(
        "What somebody should look at, as the server itself sees it.",
        [
            Schema.field("evaluatedAt", moment),
            Schema.needed(
                "alerts",
                .list(
                    .answer(
                        "An alert that fires.",
                        [
                            Schema.needed("name", .choice(AlertRule.all.map(\.name))),
                            Schema.needed("severity", .choice(AlertRule.Severity.allCases.map(\.rawValue))),
                            Schema.needed("since", moment),
                            Schema.needed("value", Schema(["type": "number"]), "What the rule's expression comes to."),
                            Schema.needed(
                                "labels", Schema(["type": "object", "additionalProperties": ["type": "string"]]),
                                "Which app, environment, type or webhook it is about."),
                            Schema.needed("summary", .text()), Schema.needed("meaning", .text()),
                        ]))),
        ])

    private static let histogram = Schema.answer(
        "How often a value fell into each range.",
        [Schema.needed("bounds", .list(number)), Schema.needed("counts", .list(.count))])

    private static let sample = Schema.answer(
        "One reading; counters begin at 0 with the process.",
        [
            Schema.needed("at", moment), Schema.needed("pushes", counts, "By verdict."),
            Schema.needed("reasons", counts, "Those that were not accepted, by reason."),
            Schema.needed(
                "lag",
                .answer(
                    "Seconds from the commit of a state to APNs's acceptance.",
                    [
                        Schema.needed("bounds", .list(number)), Schema.needed("counts", .list(.count)),
                    ])),
            Schema.field(
                "failedLag",
                .answer(
                    "Seconds from the commit of a state to the end of an attempt that another may follow.",
                    [
                        Schema.needed("bounds", .list(number)), Schema.needed("counts", .list(.count)),
                    ])),
            Schema.field(
                "budgets",
                .answer(
                    "What pushes left of phones' budgets, of what a phone may get at once.",
                    ["high", "start"].map { Schema.field($0, histogram) } + [
                        Schema.needed("startsPutOff", .count, "A budget of starts was used up.")
                    ])),
            Schema.field("queueAge", number), Schema.needed("inFlight", .count), Schema.needed("queued", .count),
            Schema.field("waiting", .count), Schema.needed("connections", .count), Schema.needed("streams", .count),
            Schema.needed("streamLimit", .count), Schema.field("memory", .count),
        ])

    private static let figures = Schema.answer(
        "How the server does.",
        [
            Schema.needed("startedAt", moment), Schema.needed("version", .text()),
            Schema.needed("interval", .count, "Seconds between two samples."),
            Schema.needed("samples", .list(sample)),
            Schema.needed(
                "routes",
                .list(
                    .answer(
                        "A way to APNs that is not well.",
                        [
                            Schema.needed("environment", .choice(["sandbox", "production"])),
                            Schema.needed("state", .choice(["halted", "inTrouble"])), Schema.needed("code", .text()),
                            Schema.needed("text", .text()), Schema.needed("since", moment),
                            Schema.needed("nextAttemptAt", moment),
                        ]))),
        ])
}
