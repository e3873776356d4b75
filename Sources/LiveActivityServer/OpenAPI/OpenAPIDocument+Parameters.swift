import APNSModel
import HTTPTypes
import JSONText
import LiveActivityCore

extension OpenAPIDocument {
    /// Returns the parameters of the path, the query and the headers.
    static func parameters(_ route: Route, _ operation: Operation) -> [JSONValue] {
        var all = route.path.parameters.map { name in
            parameter(
                name, in: "path", isRequired: true, .text(1...256), about: pathMeanings[name] ?? "",
                example: operation.path[name])
        }
        all += route.query.sorted().map { name in
            let (schema, about) = query(name, of: route)
            return parameter(name, in: "query", schema, about: about)
        }
        if route.takesIfMatch {
            all.append(
                parameter(
                    "If-Match", in: "header", .text(pattern: #"^("[0-9]+"|\*)$"#),
                    about: "Accepts the call only while the activity is at this revision; several may be given."))
        }
        if route.isStream {
            all.append(
                parameter(
                    "Last-Event-ID", in: "header", .text(pattern: "^[0-9]+$"),
                    about: "Events after this one; without it, those from now on. 0: all that are kept, if none is "
                        + "erased."))
        }
        if route.takesKey, !route.readsLines {
            all.append(
                parameter(
                    "Idempotency-Key", in: "header", .text(pattern: "^[!-~]{1,255}$"),
                    about: "Idempotency key. Within 24 hours, the same call with the same key changes nothing and gets "
                        + "the same answer."))
        }
        return all
    }

    private static let pathMeanings = [
        "activity": "The activity's id, chosen by the backend.", "device": "The app's own id of this installation.",
        "user": "The person's id.", "type": "An activity type, as configured.",
        "localID": "ActivityKit's `Activity.id`.", "webhook": "The endpoint's name in the configuration.",
    ]

    private static let kinds = EventRecord.Kind.allCases.map(\.name).joined(separator: "|")

    private static func query(_ name: String, of route: Route) -> (Schema, String) {
        switch name {
        case "kinds": (.text(pattern: "^(\(kinds))(,(\(kinds)))*$"), "Only those of these kinds, with commas between.")
        case "limit": (.integer(1...1000), "Maximum number of entries in the answer; default: 100.")
        case "after": (.text(), "The `next` of an earlier answer.")
        case "newest" where route.path.parameters.isEmpty:
            (.flag, "Returns the newest activities first; `after` continues with older ones.")
        case "newest": (.flag, "Answers the last entries instead of the first; not with `after`.")
        case "payloads": (.flag, "Adds to each push its payload, rebuilt from the recorded change.")
        case "dryRun": (.flag, "Makes the call a dry run: it decides on the current state and changes nothing.")
        case "sequence": (.integer(0...Int.max), "Like `sequence` in a body.")
        case "phase": (.choice(ActivityRecord.Phase.allCases.map(\.rawValue)), "Only those of this phase.")
        case "type": (.text(), "Only those of this type.")
        case "user": (.text(1...256), "Only those with this person in the audience.")
        case "app":
            (
                .text(1...256),
                "Bundle id of the app, for a call without a credential. Needed where several apps take such calls."
            )
        case "environment":
            (
                .choice(APNSEnvironment.self),
                "APNs environment of the app's build; for a phone, that of its device. Default: production, if the "
                    + "server has a key for it."
            )
        default: (.text(1...256), "Only this one.")
        }
    }

    private static func parameter(
        _ name: String, in place: String, isRequired: Bool = false, _ schema: Schema, about: String,
        example: String? = nil
    ) -> JSONValue {
        var object: JSONObject = [
            "name": .string(name), "in": .string(place), "required": .bool(isRequired),
            "description": .string(about), "schema": .object(schema.json),
        ]
        object["example"] = example.map(JSONValue.string)
        return .object(object)
    }
}
