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
        case .nodeList: Self.nodes
        default: Self.figures
        }
    }

    private static let number = Schema(["type": "number", "minimum": 0])
    private static let counts = Schema([
        "type": "object", "additionalProperties": ["type": "integer", "minimum": 0],
    ])

    private static let types = Schema.answer(
        "The app's configured activity types.",
        [
            Schema.needed(
                "types",
                .list(
                    .answer(
                        "One type.",
                        [
                            Schema.needed("type", .text()), Schema.needed("attributesType", .text()),
                            Schema.field("activityIDAttribute", .text(), "A JSON Pointer."),
                            Schema.needed("isProvided", .flag, "`true` if a provider computes its states."),
                            Schema.field("contract", .anything, "Contract of the type: docs/contracts.md."),
                            Schema.needed(
                                "policy", .anything, "Policy of the type, with the keys of the configuration."),
                            Schema.field(
                                "view",
                                .answer(
                                    "How the console draws a card: the fields that it uses.",
                                    ["title", "subtitle", "progress", "countdown", "image"].map {
                                        Schema.field($0, .text())
                                    })),
                        ])))
        ])

    private static let happened = Schema.answer(
        "An event, as streams and webhooks send it.",
        [
            Schema.needed("id", .text(pattern: "^[0-9]+$"), "Grows with each event."),
            Schema.needed("type", .choice(EventRecord.Kind.allCases.map(\.name))),
            Schema.needed("timestamp", moment), Schema.needed("app", .text(), "The bundle id."),
            Schema.field("activity", .text(1...256)), Schema.field("run", .count),
            Schema.field("revision", .count), Schema.field("device", .text(1...256)),
            Schema.field("reason", .text(), "Reason code: docs/api/reason-codes.md."),
            Schema.field(
                "token", .choice(EventRecord.Subject.allCases.filter(\.isToken).map(\.rawValue)),
                "Kind of the token that is dead."),
            Schema.field("environment", .choice(["sandbox", "production"]), "APNs environment whose key is halted."),
        ])

    private static let nodes = Schema.answer(
        "The servers that share the database.",
        [
            Schema.needed(
                "nodes",
                .list(
                    .answer(
                        "One node.",
                        [
                            Schema.needed("address", .text(), "URL at which the other nodes reach it."),
                            Schema.needed("role", .choice(NodeList.Node.Role.allCases.map(\.rawValue))),
                            Schema.needed("version", .text()),
                            Schema.needed("upSeconds", .count, "Time since it started."),
                            Schema.needed("silentSeconds", .count, "Time since it was last heard of."),
                            Schema.needed("calls", .count, "Calls that callers have made to it since it started."),
                        ])), "The owner first. Empty if there is one server, without `nodes` in its configuration.")
        ])

    private static let keys = Schema.answer(
        "The app's API keys, without their secrets.",
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
        "Alerts that fire in the server's own evaluation.",
        [
            Schema.field("evaluatedAt", moment),
            Schema.needed(
                "alerts",
                .list(
                    .answer(
                        "A firing alert.",
                        [
                            Schema.needed("name", .choice(AlertRule.all.map(\.name))),
                            Schema.needed("severity", .choice(AlertRule.Severity.allCases.map(\.rawValue))),
                            Schema.needed("since", moment),
                            Schema.needed("value", Schema(["type": "number"]), "Value of the rule's expression."),
                            Schema.needed(
                                "labels", Schema(["type": "object", "additionalProperties": ["type": "string"]]),
                                "App, environment, type or webhook that the alert concerns."),
                            Schema.needed("summary", .text()), Schema.needed("meaning", .text()),
                        ]))),
        ])

    private static let histogram = Schema.answer(
        "A histogram: the number of values in each bucket.",
        [Schema.needed("bounds", .list(number)), Schema.needed("counts", .list(.count))])

    private static let sample = Schema.answer(
        "One sample. Counters begin at 0 when the process starts.",
        [
            Schema.needed("at", moment), Schema.needed("pushes", counts, "By verdict."),
            Schema.needed("reasons", counts, "Pushes that were not accepted, by reason."),
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
                    "Seconds from the commit of a state to the end of a failed attempt that another may follow.",
                    [
                        Schema.needed("bounds", .list(number)), Schema.needed("counts", .list(.count)),
                    ])),
            Schema.field(
                "budgets",
                .answer(
                    "Shares of phones' budgets that pushes left, of what a phone may get at once.",
                    ["high", "start"].map { Schema.field($0, histogram) } + [
                        Schema.needed("startsPutOff", .count, "Starts that wait because a start budget is used up.")
                    ])),
            Schema.field("queueAge", number), Schema.needed("inFlight", .count), Schema.needed("queued", .count),
            Schema.field("waiting", .count), Schema.needed("connections", .count), Schema.needed("streams", .count),
            Schema.needed("streamLimit", .count), Schema.field("memory", .count),
        ])

    private static let figures = Schema.answer(
        "Recent figures of the server.",
        [
            Schema.needed("startedAt", moment), Schema.needed("version", .text()),
            Schema.needed("interval", .count, "Seconds between two samples."),
            Schema.needed("samples", .list(sample)),
            Schema.needed(
                "routes",
                .list(
                    .answer(
                        "A route to APNs with a fault.",
                        [
                            Schema.needed("environment", .choice(["sandbox", "production"])),
                            Schema.needed("state", .choice(["halted", "inTrouble"])), Schema.needed("code", .text()),
                            Schema.needed("text", .text()), Schema.needed("since", moment),
                            Schema.needed("nextAttemptAt", moment),
                        ]))),
        ])
}
