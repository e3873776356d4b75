import JSONText
import LiveActivityAPI
import LiveActivityCore

/// The schemas of answers.
extension Schema.Name {
    static let moment = Schema.text(format: "date-time")
    private static let phase = Schema.choice(ActivityRecord.Phase.allCases.map(\.rawValue))
    private static let next = Schema.field("next", .text(), "The cursor of the next page; absent: this is the last.")

    /// The answers of calls that change activities.
    var changeSchema: Schema {
        switch self {
        case .reason:
            .answer(
                "Why the server does or did something.",
                [Schema.needed("code", .text(), "Stable."), Schema.needed("text", .text(), "For people.")])
        case .reasonCounts:
            .list(
                .answer(
                    "How many phones a reason holds for.",
                    [Schema.needed("reason", .text()), Schema.needed("count", .count)])
            ).about("The most frequent first.")
        case .phones:
            .answer(
                "What follows on how many phones.",
                [
                    Schema.needed("start", .count), Schema.needed("update", .count), Schema.needed("pending", .count),
                    Schema.needed("none", .count), Schema.field("fallback", .count),
                ])
        case .deviceVerdict:
            .answer(
                "What follows on one phone.",
                [
                    Schema.needed("device", .named(.id)), Schema.needed("user", .named(.id)),
                    Schema.needed("course", .choice(["start", "update", "fallback", "pending", "none"])),
                    Schema.needed("reason", .named(.reason)),
                ])
        case .activityAnswer:
            .answer(
                "What a change means for its phones.",
                [
                    Schema.needed("revision", .count), Schema.needed("changed", .flag),
                    Schema.needed("phase", Self.phase), Schema.needed("phones", .named(.phones)),
                    Schema.needed("reasons", .named(.reasonCounts)),
                    Schema.field("superseded", .flag, "It came after one with a greater `sequence`."),
                ] + Self.outlook)
        default:
            .answer(
                "What a change of an audience did.",
                [
                    Schema.needed("added", .count), Schema.needed("removed", .count),
                    Schema.needed("unchanged", .count), Schema.needed("members", .count),
                    Schema.needed("revision", .count), Schema.needed("phase", Self.phase),
                    Schema.field("phones", .named(.phones)), Schema.field("reasons", .named(.reasonCounts)),
                ] + Self.outlook)
        }
    }

    private static let outlook: [Schema.Field] = [
        Schema.field("summary", .text(), "The same in a sentence."),
        Schema.field("estimated", .flag, "The counts are worked out from a sample."),
        Schema.field("more", .count, "Phones beyond those counted."),
        Schema.field("dryRun", .flag, "Nothing was done."),
        Schema.field("devices", .list(.named(.deviceVerdict)), "Of a dry run: one page of phones."), next,
    ]

    /// The answers of calls that read.
    var viewSchema: Schema {
        switch self {
        case .activityList: Self.list
        case .activityView: Self.view
        case .deviceView: Self.phone
        case .timeline: Self.history
        case .desiredStates: Self.desired
        case .diagnosis: Self.findings
        case .notificationAnswer:
            .answer(
                "How many devices get it.",
                [
                    Schema.needed("devices", .count), Schema.needed("others", .count),
                    Schema.needed("reasons", .named(.reasonCounts)),
                ])
        case .refreshAsked:
            .answer("What is computed.", [Schema.needed("asked", .count, "The computations that are due now.")])
        case .credentialsRevoked:
            .answer(
                "Whether the phone had credentials.",
                [Schema.needed("revoked", .count, "The credentials that are not taken any more.")])
        default: Self.refreshes
        }
    }

    private static let list = Schema.answer(
        "An app's activities in the order in which they were made, or the newest first.",
        [
            Schema.needed(
                "activities",
                .list(
                    .answer(
                        "One activity.",
                        [
                            Schema.needed("activity", .named(.id)), Schema.needed("type", .text()),
                            Schema.needed("phase", phase), Schema.needed("run", .count),
                            Schema.needed("revision", .count), Schema.field("createdAt", moment),
                            Schema.needed("updatedAt", moment), Schema.field("phones", .count),
                        ]))), next,
        ])

    private static let view = Schema.answer(
        "What should be shown, and what is.",
        [
            Schema.needed("activity", .named(.id)), Schema.needed("type", .text()), Schema.needed("phase", phase),
            Schema.needed("run", .count), Schema.needed("revision", .count), Schema.needed("state", .anything),
            Schema.needed("attributes", .anything), Schema.field("createdAt", moment),
            Schema.needed("updatedAt", moment),
            Schema.needed(
                "counts", Schema(["type": "object", "additionalProperties": ["type": "integer", "minimum": 0]]),
                "How many phones are in which state."),
            Schema.field("more", .count, "Phones beyond those counted."),
            Schema.field(
                "fanOut",
                .answer(
                    "How far the newest change has come; absent: to every phone.",
                    [Schema.needed("done", .count), Schema.needed("phones", .count)])),
            Schema.field("reason", .named(.reason), "Why nothing goes out at the moment."),
            Schema.needed("devices", .list(.named(.deviceView))), next,
        ])

    private static let phone = Schema.answer(
        "One activity on one phone, as the server knows it.",
        [
            Schema.needed("device", .named(.id)), Schema.needed("user", .named(.id)),
            Schema.field("localID", .text()), Schema.needed("state", .text()), Schema.needed("revision", .count),
            Schema.field("shownRevision", .count),
            Schema.needed("confirmation", .choice(DeviceView.Confirmation.self)),
            Schema.field(
                "lastDelivery",
                .answer(
                    "The last push.",
                    [
                        Schema.needed("kind", .text()), Schema.needed("at", moment), Schema.field("status", .count),
                        Schema.needed("verdict", .text()), Schema.field("reason", .text()),
                        Schema.field("detail", .text()),
                    ])), Schema.needed("reason", .named(.reason)),
        ])

    private static let history = Schema.answer(
        "What happened, the oldest first.",
        [
            Schema.needed(
                "entries",
                .list(
                    .answer(
                        "One thing that happened.",
                        [
                            Schema.needed("at", moment), Schema.needed("kind", .text()),
                            Schema.field("device", .named(.id)), Schema.needed("revision", .count),
                            Schema.needed("code", .text()), Schema.needed("text", .text()),
                            Schema.field("status", .count), Schema.field("apnsID", .text()),
                            Schema.field("priority", .count), Schema.field("alert", .flag),
                            Schema.field("timestamp", .count),
                            Schema.field("state", .anything, "The content state that a change set."),
                            Schema.field("payload", .anything, "What a push carried, made anew."),
                            Schema.field("bytes", .count),
                        ]))), next,
        ])

    private static let desired = Schema.answer(
        "What this phone should show; the app applies it itself.",
        [
            Schema.needed(
                "activities",
                .list(
                    .answer(
                        "What one card should show.",
                        [
                            Schema.needed("activity", .named(.id)), Schema.needed("type", .text()),
                            Schema.field("attributes", .anything), Schema.needed("state", .anything),
                            Schema.needed("revision", .count), Schema.needed("phase", phase),
                            Schema.field("staleAt", moment),
                            Schema.field("relevance", .number, "The place among other cards; absent: as it is."),
                            Schema.field(
                                "dismissAt", moment, "When the ended card leaves the lock screen; past: at once."),
                            Schema.field("localID", .text(), "The card that shows it, where the server knows it."),
                            Schema.field("startedAt", moment, "When it was started."),
                            Schema.field("lastTimestamp", moment, "The newest timestamp of a push to it."),
                        ]))),
            Schema.field("credential", .text(), "What the phone calls with from now on, where it asked for one."),
            Schema.field(
                "supersededBy", .count,
                "The greatest sequence accepted from this device; this inventory changed nothing."),
        ])

    private static let findings = Schema.answer(
        "Why something did not arrive on one phone.",
        [
            Schema.needed("device", .named(.id)), Schema.field("user", .named(.id)), Schema.needed("at", moment),
            Schema.needed("verdict", .choice(DiagnosisAnswer.Severity.self)),
            Schema.needed(
                "findings",
                .list(
                    .answer(
                        "One finding.",
                        [
                            Schema.needed("id", .text()),
                            Schema.needed("severity", .choice(DiagnosisAnswer.Severity.self)),
                            Schema.field("activity", .named(.id)), Schema.needed("text", .text()),
                            Schema.field("fix", .text()), Schema.needed("evidence", .anything),
                        ])), "The gravest first."),
        ])

    private static let refreshes = Schema.answer(
        "What stands of a person's computations.",
        [
            Schema.needed(
                "refreshes",
                .list(
                    .answer(
                        "One type's computation.",
                        [
                            Schema.needed("type", .text()), Schema.needed("asked", .count),
                            Schema.needed("done", .count), Schema.needed("running", .flag),
                            Schema.field("dueAt", moment), Schema.field("finishedAt", moment),
                            Schema.needed("tries", .count), Schema.field("failure", .text()),
                        ])))
        ])

    /// The answers that every call may give, and those about health.
    var commonSchema: Schema {
        switch self {
        case .problem: Self.problemDocument
        case .health: .answer("The process answers.", [Schema.needed("status", .choice(["ok"]))])
        case .description: Schema(["type": "object", "description": "OpenAPI 3.1.", "required": ["openapi"]])
        case .lineAnswer:
            .answer(
                "The answer to one line.",
                [
                    Schema.needed("line", .count, "From 1."), Schema.needed("status", .integer(200...599)),
                    Schema.field("replayed", .flag), Schema.needed("body", .anything),
                ])
        default: Self.readinessBody
        }
    }

    private static let problemDocument = Schema.answer(
        "Why a call was refused (RFC 9457).",
        [
            Schema.needed("type", .text(), "Relative to the server; names the kind of problem."),
            Schema.needed("title", .text()), Schema.needed("status", .integer(400...599)),
            Schema.needed("detail", .text()),
            Schema.needed("code", .choice(Problem.Code.allCases.map(\.rawValue)), "Stable: decide by it."),
            Schema.field("pointer", .text(), "A JSON Pointer into the body that was sent."),
            Schema.field("expected", .text()), Schema.field("given", .text()), Schema.field("fix", .text()),
            Schema.field("instance", .text(), "Names this call in the server's log."),
            Schema.field("revision", .count, "The revision that the activity is at."),
            Schema.field(
                "errors",
                .list(
                    .answer(
                        "A value that does not fit the contract.",
                        [
                            Schema.needed("pointer", .text()), Schema.needed("expected", .text()),
                            Schema.field("given", .text()), Schema.field("fix", .text()),
                        ]))),
            Schema.field(
                "sizes",
                .list(
                    .answer(
                        "A member, and the bytes it takes of a push.",
                        [Schema.needed("pointer", .text()), Schema.needed("bytes", .count)]))),
        ])

    private static let readinessBody = Schema.answer(
        "The database answers.",
        [
            Schema.needed("status", .choice(["ready"])), Schema.field("damagedRows", .count),
            Schema.needed(
                "routes",
                .list(
                    .answer(
                        "Pushes that do not go out at the moment.",
                        [
                            Schema.needed("app", .text()), Schema.needed("environment", .text()),
                            Schema.needed("state", .choice(["halted", "inTrouble"])), Schema.needed("code", .text()),
                            Schema.needed("text", .text()), Schema.needed("since", moment),
                            Schema.needed("nextAttemptAt", moment),
                        ]))),
        ])
}
