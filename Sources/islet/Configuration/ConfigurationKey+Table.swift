import LiveActivityAPI
import LiveActivityCore

extension ConfigurationKey {
    /// What holds for the keys of the top that are left out.
    enum Default {
        static let listen = "127.0.0.1:8080"
        static let storage = "sqlite:islet.db"
        static let metrics = true
        static let refreshesPerSecond = 100
        static let providerTimeout = Duration.seconds(10)
    }

    /// Every key of the file, in the order in which it is printed.
    static let file: [ConfigurationKey] = [
        ConfigurationKey(
            "listen", .text("host:port"), .defaulted(Default.listen),
            "Where the HTTP API listens. An IPv6 address stands in brackets; port 0 takes a free port, which is "
                + "printed. Islet speaks plain HTTP: beyond this machine put a proxy with TLS in front of it."),
        ConfigurationKey(
            "storage", .text("sqlite:path"), .defaulted(Default.storage),
            "The database. A relative path begins at this file's folder; the database is made when it is missing."),
        ConfigurationKey(
            "metrics", .scalar("true or false"), .defaulted("\(Default.metrics)"),
            "Whether `GET /metrics` answers: Prometheus's text, without tokens, ids or keys, to anybody who can reach "
                + "the address."),
        ConfigurationKey(
            "refreshesPerSecond", .scalar("number"), .defaulted("\(Default.refreshesPerSecond)"),
            "How many people of a type are computed by its provider in a second, of those whom nobody waits for: local "
                + "midnights, and whole populations. What a call asks for one person does not wait for it."),
        ConfigurationKey(
            "apps", .objects(app), .group(isOptional: false),
            "The apps that are served; one with another bundle id is an app of its own."),
    ]

    private static let app: [ConfigurationKey] = [
        ConfigurationKey(
            "bundleID", .text("text"), .required("com.example.pizza"),
            "The app's bundle id, as in Xcode. APNs's topics follow from it."),
        ConfigurationKey(
            "apns", .object(environments), .group(isOptional: false),
            "The keys that sign the pushes: for sandbox, production or both."),
        ConfigurationKey(
            "activities", .objects(activity), .group(isOptional: false), "The kinds of Live Activity of the app."),
    ]

    private static let environments: [ConfigurationKey] = [
        ConfigurationKey(
            "sandbox", .object(key), .group(isOptional: false), "For builds that Xcode installs."),
        ConfigurationKey(
            "production", .object(key), .group(isOptional: true), "For TestFlight and the App Store."),
    ]

    private static let key: [ConfigurationKey] = [
        ConfigurationKey(
            "keyFile", .text("path"), .required("AuthKey_ABC123DEFG.p8"),
            "The .p8 file of the developer portal; a relative path begins at this file's folder. Give it or "
                + "keyEnvironment."),
        ConfigurationKey(
            "keyEnvironment", .text("name of a variable"), .optional("APNS_KEY"),
            "The environment variable that holds the text of the .p8 file, in place of keyFile."),
        ConfigurationKey(
            "keyID", .text("10 letters and digits"), .required("ABC123DEFG"),
            "The key's id, from the portal's list of keys. In quotes when it has digits only."),
        ConfigurationKey(
            "teamID", .text("10 letters and digits"), .required("XYZ987MNOP"),
            "The team's id, from \"Membership details\"."),
        ConfigurationKey(
            "endpoint", .text("https://host:port"), .optional("https://127.0.0.1:2197"),
            "Something that behaves like APNs, in place of Apple's endpoint for the environment."),
        ConfigurationKey(
            "trustRoots", .text("path"), .optional("simulator-ca.pem"),
            "The certificates, in PEM form, that the endpoint's must lead to, in place of the system's."),
        ConfigurationKey(
            "certificateFile", .text("path"), .optional("never"),
            "Refused, with the reason: Apple takes no certificate for Live Activities, only a token key."),
    ]

    private static let activity: [ConfigurationKey] = [
        ConfigurationKey(
            "type", .text("text"), .required("OrderTracking"), "What the HTTP API calls the type; 1 to 128 bytes."),
        ConfigurationKey(
            "attributesType", .text("text"), .required("OrderTrackingAttributes"),
            "The Swift name of the app's ActivityAttributes type, exactly."),
        ConfigurationKey(
            "activityIDAttribute", .text("JSON Pointer"), .optional("/orderId"),
            "Where the attributes name the activity, if they do. The server fills it in, and tells cards apart by it."),
        ConfigurationKey(
            "policy", .object(policy), .group(isOptional: true), "How activities of the type are started and updated."),
        ConfigurationKey(
            "provider", .object(provider), .group(isOptional: true),
            "The backend that computes what a person should see: each of their devices has an activity of its own "
                + "then. See docs/providers.md."),
    ]

    private static let provider: [ConfigurationKey] = [
        ConfigurationKey(
            "url", .text("https URL"), .required("https://backend.example.com/next-up"),
            "Where it is asked, by a signed POST. Redirects are not followed."),
        ConfigurationKey(
            "secretFile", .text("path"), .required("provider-secret"),
            "The file with the secret that the calls are signed with (Standard Webhooks): `whsec_` and 24 to 64 bytes "
                + "in base64. Give it or secretEnvironment."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("PROVIDER_SECRET"),
            "The environment variable that holds the secret, in place of secretFile."),
        ConfigurationKey(
            "timeout", .scalar("duration"), .defaulted(Wording.duration(Default.providerTimeout)),
            "How long one answer may take, at most 60s; then it is asked again later."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, and lead to this machine or a private network."),
    ]

    private static let defaults = TypePolicy()

    private static let policy: [ConfigurationKey] = [
        duration(
            "coalescingWindow", defaults.coalescingWindow,
            "Changes within this time of a push go out together; at least 1s."),
        duration(
            "startGrace", defaults.startGrace,
            "How long a start waits for a phone that was in touch within the last minute: its app may be starting the "
                + "card itself."),
        duration(
            "startWindow", defaults.startWindow, "How long APNs keeps a start for a phone that is off."),
        duration(
            "startStaleAfter", defaults.startStaleAfter,
            "When a card that was started by push and not updated shows as stale."),
        ConfigurationKey(
            "staleAfter", .scalar("duration"), .optional("2h"),
            "How long a state counts as fresh after it was last set. Left out, cards have no stale date."),
        duration(
            "highPriorityInterval", defaults.highPriorityInterval,
            "One high-priority push per activity and phone in this time; another goes out at once at low priority."),
        ConfigurationKey(
            "highWhen", .object(highWhen), .group(isOptional: true),
            "States that are worth a high-priority push. Left out, updates without an alert go at low priority, unless "
                + "the call that sets them says otherwise."),
        ConfigurationKey(
            "startAlert", .object(startAlert), .group(isOptional: false),
            "What a start says when the state brings no alert. Needed unless `start` is appOnly or never: a phone "
                + "drops a start without an alert. {/pointer} stands for a value of the state or the attributes, "
                + "{/pointer|otherwise} says what stands there without one, {{ and }} are the braces themselves."),
        ConfigurationKey(
            "reusable", .scalar("true or false"), .defaulted("\(defaults.isReusable)"),
            "An ended activity may be set again without asking for it."),
        ConfigurationKey(
            "start", .text(oneOf(ActivityRecord.StartMode.self)), .defaulted(defaults.start.rawValue),
            "Whether a push may start the card, or only the app does."),
        ConfigurationKey(
            "restart", .text(oneOf(ActivityRecord.Restart.self)), .defaulted(defaults.restart.rawValue),
            "Whether a card comes back after the person swiped it away or it vanished."),
    ]

    private static let highWhen: [ConfigurationKey] = [
        ConfigurationKey(
            "pointer", .text("JSON Pointer"), .required("/status"), "Where in the content state to look."),
        ConfigurationKey(
            "values", .scalars("JSON values"), .required("delivering"), "What has to stand there."),
    ]

    private static let startAlert: [ConfigurationKey] = [
        ConfigurationKey(
            "title", .text("text or {locKey, locArgs}"), .required("Your order"),
            "The alert's title; never only a {/pointer}, since it might be empty."),
        ConfigurationKey(
            "body", .text("text or {locKey, locArgs}"), .optional("Follow it here"), "The alert's body."),
        ConfigurationKey("sound", .text("text"), .optional("default"), "A sound file of the app, or `default`."),
    ]

    private static func duration(_ name: String, _ value: Duration, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("duration"), .defaulted(Wording.duration(value)), meaning)
    }

    private static func oneOf<Case: CaseIterable & RawRepresentable>(_ type: Case.Type) -> String
    where Case.RawValue == String {
        let names = type.allCases.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }
}
