import JSONText
import LiveActivityAPI
import LiveActivityCore

/// The schemas of answers.
extension Schema.Name {
    static let moment = Schema.text(format: "date-time")
    private static let phase = Schema.choice(ActivityRecord.Phase.allCases.map(\.rawValue))
    private static let next = Schema.field("next", .text(), "Cursor of the next page; absent on the last page.")

    /// The answers of calls that change activities.
    var changeSchema: Schema {
        switch self {
        case .reason:
            .answer(
                "Reason for what the server does or did.",
                [Schema.needed("code", .text(), "Stable."), Schema.needed("text", .text(), "For people.")])
        case .reasonCounts:
            .list(
                .answer(
                    "Number of phones to which a reason applies.",
                    [Schema.needed("reason", .text()), Schema.needed("count", .count)])
            ).about("The most frequent first.")
        case .phones:
            .answer(
                "Number of phones by what follows on them.",
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
                "Result of a change, and what follows on its phones.",
                [
                    Schema.needed("revision", .count), Schema.needed("changed", .flag),
                    Schema.needed("phase", Self.phase), Schema.needed("phones", .named(.phones)),
                    Schema.needed("reasons", .named(.reasonCounts)),
                    Schema.field(
                        "superseded", .flag,
                        "`true` if a call with a greater `sequence` came before, so this one changed nothing."),
                ] + Self.outlook)
        default:
            .answer(
                "Result of a change of an audience.",
                [
                    Schema.needed("added", .count), Schema.needed("removed", .count),
                    Schema.needed("unchanged", .count), Schema.needed("members", .count),
                    Schema.needed("revision", .count), Schema.needed("phase", Self.phase),
                    Schema.field("phones", .named(.phones)), Schema.field("reasons", .named(.reasonCounts)),
                ] + Self.outlook)
        }
    }

    private static let outlook: [Schema.Field] = [
        Schema.field("summary", .text(), "The answer as a sentence."),
        Schema.field("estimated", .flag, "`true` if the counts are estimated from a sample."),
        Schema.field("more", .count, "Phones beyond those counted."),
        Schema.field("dryRun", .flag, "`true` if this was a dry run, which changes nothing."),
        Schema.field("devices", .list(.named(.deviceVerdict)), "One page of phones, in the answer to a dry run."), next,
    ]

    /// The answers of calls that read.
    var viewSchema: Schema {
        switch self {
        case .activityList: Self.list
        case .activityView: Self.view
        case .deviceView: Self.phone
        case .timeline: Self.history
        case .desiredStates: Self.desiredAll
        case .desiredState: Self.desired
        case .diagnosis: Self.findings
        case .notificationAnswer:
            .answer(
                "Number of devices that the notification goes to.",
                [
                    Schema.needed("devices", .count), Schema.needed("others", .count),
                    Schema.needed("reasons", .named(.reasonCounts)),
                ])
        case .refreshAsked:
            .answer(
                "Result of a request to recompute states.",
                [Schema.needed("asked", .count, "Number of computations that are due now.")])
        case .credentialsRevoked:
            .answer(
                "Result of revoking a phone's credentials.",
                [Schema.needed("revoked", .count, "Number of credentials that the server no longer accepts.")])
        default: Self.refreshes
        }
    }

    private static let list = Schema.answer(
        "An app's activities, in the order in which they were created, or the newest first.",
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
        "The desired state, and what the phones show.",
        [
            Schema.needed("activity", .named(.id)), Schema.needed("type", .text()), Schema.needed("phase", phase),
            Schema.needed("run", .count), Schema.needed("revision", .count), Schema.needed("state", .anything),
            Schema.needed("attributes", .anything), Schema.field("createdAt", moment),
            Schema.needed("updatedAt", moment),
            Schema.needed(
                "counts", Schema(["type": "object", "additionalProperties": ["type": "integer", "minimum": 0]]),
                "Number of phones in each state."),
            Schema.field("more", .count, "Phones beyond those counted."),
            Schema.field(
                "fanOut",
                .answer(
                    "Progress of the newest change; absent when it has reached every phone.",
                    [Schema.needed("done", .count), Schema.needed("phones", .count)])),
            Schema.field("reason", .named(.reason), "Reason why nothing is sent at the moment."),
            Schema.needed("devices", .list(.named(.deviceView))), next,
        ])

    private static let phone = Schema.answer(
        "One activity on one phone, as the server knows it.",
        [
            Schema.needed("device", .named(.id)), Schema.needed("user", .named(.id)),
            Schema.field("localID", .text()), Schema.needed("state", .text()), Schema.needed("revision", .count),
            Schema.field("shownRevision", .count),
            Schema.field("channel", .text(), "Broadcast channel that the card is on; absent: pushes go to its token."),
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
        "Timeline of the activity, the oldest entry first.",
        [
            Schema.needed(
                "entries",
                .list(
                    .answer(
                        "One entry of the timeline.",
                        [
                            Schema.needed("at", moment), Schema.needed("kind", .text()),
                            Schema.field("device", .named(.id)), Schema.needed("revision", .count),
                            Schema.needed("code", .text()), Schema.needed("text", .text()),
                            Schema.field("status", .count), Schema.field("apnsID", .text()),
                            Schema.field("priority", .count), Schema.field("alert", .flag),
                            Schema.field("timestamp", .count),
                            Schema.field("state", .anything, "The content state that a change set."),
                            Schema.field(
                                "payload", .anything, "Payload of the push, rebuilt from the recorded change."),
                            Schema.field("bytes", .count),
                        ]))), next,
        ])

    private static let desired = Schema.answer(
        "Desired state of one card.",
        [
            Schema.needed("activity", .named(.id)), Schema.needed("type", .text()),
            Schema.field("attributes", .anything),
            Schema.field("channel", .text(), "Broadcast channel to start the card with; absent: with a token."),
            Schema.needed("state", .anything), Schema.needed("revision", .count), Schema.needed("phase", phase),
            Schema.field("staleAt", moment),
            Schema.field("relevance", .number, "Relevance score; absent: unchanged."),
            Schema.field(
                "dismissAt", moment,
                "Time when the ended card leaves the lock screen; a past time removes it at once."),
            Schema.field("localID", .text(), "Local id of the card, if the server knows it."),
            Schema.field("startedAt", moment, "Time when the card was started."),
            Schema.field("lastTimestamp", moment, "Newest timestamp of a push to the card or its channel."),
            Schema.field(
                "retryAfter", .count,
                "Seconds after which to ask again for the channel that is not there yet; only in answers to a join."),
        ])

    private static let desiredAll = Schema.answer(
        "Desired states of the phone's cards. The app applies them itself.",
        [
            Schema.needed("activities", .list(.named(.desiredState))),
            Schema.field(
                "credential", .text(), "Credential for the phone's further calls, if the phone asked for one."),
            Schema.field(
                "supersededBy", .count,
                "The greatest sequence accepted from this device; this inventory changed nothing."),
        ])

    private static let findings = Schema.answer(
        "Diagnosis of one phone: why something did not arrive there.",
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
                        ])), "Findings, the most severe first."),
        ])

    private static let refreshes = Schema.answer(
        "State of a person's computations.",
        [
            Schema.needed(
                "refreshes",
                .list(
                    .answer(
                        "The computation for one type.",
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
                "Answer to one line of the batch.",
                [
                    Schema.needed("line", .count, "Number of the line, from 1."),
                    Schema.needed("status", .integer(200...599)),
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
            Schema.needed(
                "code", .choice(Problem.Code.allCases.map(\.rawValue)), "Stable code. Programs should decide by it."),
            Schema.field("pointer", .text(), "A JSON Pointer into the body that was sent."),
            Schema.field("expected", .text()), Schema.field("given", .text()), Schema.field("fix", .text()),
            Schema.field("instance", .text(), "Identifies this call in the server's log."),
            Schema.field("revision", .count, "Current revision of the activity."),
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
                        "A member, and its number of bytes in the push.",
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
                        "A route on which no pushes are sent at the moment.",
                        [
                            Schema.needed("app", .text()), Schema.needed("environment", .text()),
                            Schema.needed("state", .choice(["halted", "inTrouble"])), Schema.needed("code", .text()),
                            Schema.needed("text", .text()), Schema.needed("since", moment),
                            Schema.needed("nextAttemptAt", moment),
                        ]))),
        ])
}
