import APNSClient
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer
import LiveActivityStorage

extension ConfigurationKey {
    /// Defaults of top-level keys, and of a few others, that are used in more than one place.
    enum Default {
        static let listen = "127.0.0.1:8080"
        static let storage = "sqlite:islet.db"
        static let metrics = true
        static let console = true
        static let refreshesPerSecond = 100
        static let providerTimeout = Duration.seconds(10)
        static let webhookTimeout = Duration.seconds(15)
        static let credentialIdle = Duration.seconds(90 * 86_400)
    }

    /// Every key of the file, in the order in which the reference prints them.
    static let file: [ConfigurationKey] = [
        ConfigurationKey(
            "listen", .text("host:port"), .defaulted(Default.listen),
            "Where the HTTP API listens. An IPv6 address stands in brackets; port 0 takes a free port, which is "
                + "printed. Beyond this machine give it `tls`, or put a proxy with TLS in front of it."),
        ConfigurationKey(
            "tls", .object(tls), .group(isOptional: true),
            "The certificate of the HTTP API, which then speaks HTTP/2 and HTTP/1.1 over TLS 1.2 or 1.3. Files that "
                + "change are read anew within 10s, and at once on SIGHUP."),
        ConfigurationKey("limits", .object(front), .group(isOptional: true), "What the HTTP API takes at most."),
        ConfigurationKey(
            "storage", .text("sqlite:path"), .defaulted(Default.storage),
            "The database. A relative path begins at this file's folder; the database is made when it is missing."),
        ConfigurationKey(
            "tokenKeys", .object(tokenKeys), .group(isOptional: true),
            "The ring of keys that push tokens are sealed under in the database. Without it the ring is the file "
                + "beside the database whose name has `.keys` behind the database's, made with the database."),
        ConfigurationKey(
            "metrics", .object(metrics), .group(isOptional: true),
            "`GET /metrics`: Prometheus's text, without tokens, ids or keys, for all apps together. `metrics: false` "
                + "is short for `served: false`."),
        ConfigurationKey(
            "console", .scalar("true or false"), .defaulted("\(Default.console)"),
            "Whether `/` is the console: pages for people, who sign in with an API key (docs/console.md)."),
        ConfigurationKey(
            "tracing", .object(tracing), .group(isOptional: true),
            "Where spans of requests, decisions and pushes are told: OTLP over HTTP in JSON, as OpenTelemetry's "
                + "collector takes it. Without it there are none."),
        ConfigurationKey(
            "connections", .object(connections), .group(isOptional: true),
            "The connections to APNs, for each key and endpoint."),
        ConfigurationKey(
            "keep", .object(keep), .group(isOptional: true), "For how many days what is over is kept."),
        ConfigurationKey(
            "refreshesPerSecond", .scalar("number"), .defaulted("\(Default.refreshesPerSecond)"),
            "How many people of a type are computed by its provider in a second, of those whom nobody waits for: local "
                + "midnights, and whole populations. What a call asks for one person does not wait for it."),
        ConfigurationKey(
            "apps", .objects(app), .group(isOptional: false),
            "The apps that are served; one with another bundle id is an app of its own."),
    ]

    private static let metrics: [ConfigurationKey] = [
        ConfigurationKey(
            "served", .scalar("true or false"), .defaulted("\(Default.metrics)"), "Whether it answers."),
        ConfigurationKey(
            "listen", .text("host:port"), .optional("127.0.0.1:9090"),
            "An address of its own, which answers /metrics, /healthz and /readyz and nothing else. The API's address "
                + "then does not answer /metrics. It speaks TLS where the API does. Without it everybody who reaches "
                + "the API reads the numbers, unless `needsKey` is set."),
        ConfigurationKey(
            "needsKey", .scalar("true or false"), .defaulted("false"),
            "Whether it takes an API key of the scope read, of any app."),
    ]

    private static let tracing: [ConfigurationKey] = [
        ConfigurationKey(
            "endpoint", .text("URL"), .required("http://127.0.0.1:4318/v1/traces"),
            "The whole URL. Activity ids, routes and results are told, and no payload, token, person or phone."),
        ConfigurationKey(
            "share", .scalar("number"), .defaulted("1"),
            "How much of the traces that begin here is told, from 0 to 1; of those that a caller began "
                + "(`traceparent`), what the caller keeps."),
    ]

    private static let tokenKeys: [ConfigurationKey] = [
        ConfigurationKey(
            "file", .text("path"), .optional("/etc/islet/token-keys.json"),
            "The ring's file, which must be there: `islet keys new-ring` prints one. Nobody but its owner may change "
                + "it, and its group at most read it. A relative path begins at this file's folder."),
        ConfigurationKey(
            "environment", .text("name of a variable"), .optional("TOKEN_KEYS"),
            "The environment variable that holds the ring's text, in place of file."),
    ]

    private static let tls: [ConfigurationKey] = [
        ConfigurationKey(
            "certificate", .text("path"), .required("islet.crt"),
            "The chain in PEM form, the server's own certificate first. A relative path begins at this file's folder."),
        ConfigurationKey(
            "key", .text("path"), .required("islet.key"), "Its private key in PEM form, without a password."),
    ]

    private static let frontLimits = LiveActivityServer.Limits()

    private static let front: [ConfigurationKey] = [
        ConfigurationKey(
            "requestsPerSecond", .scalar("number or off"), .defaulted(rate(frontLimits.requestsPerSecond)),
            "Calls of one API key, and twice as many at once after a pause; beyond, 429. A batch is one call."),
        ConfigurationKey(
            "requestsPerSecondPerDevice", .scalar("number or off"),
            .defaulted(rate(frontLimits.requestsPerSecondPerDevice)),
            "The same of one person or phone that calls by itself, and of the calls about one device."),
        ConfigurationKey(
            "openRequests", .scalar("number"), .defaulted("\(frontLimits.openRequests)"),
            "Requests that are worked on at the same time; one more is answered with 503."),
        ConfigurationKey(
            "connections", .scalar("number"), .defaulted("\(frontLimits.connections)"),
            "Connections at the same time; further ones wait."),
        ConfigurationKey(
            "connectionsPerAddress", .scalar("number"), .optional("1000"),
            "Connections of one remote address, of IPv6 of one network of 64 bits; further ones are closed. Half of "
                + "`connections` where nothing is said. Behind a proxy all have the proxy's address."),
    ]

    private static func rate(_ rate: Int?) -> String { rate.map(String.init) ?? "off" }

    private static let options = APNSClient.Options()

    private static let connections: [ConfigurationKey] = [
        ConfigurationKey(
            "maximum", .scalar("1 to 64"), .defaulted("\(options.maximumConnections)"),
            "Connections that take pushes. Another one is made only when those there are full."),
        duration(
            "idleLifetime", options.idleConnectionLifetime,
            "A connection that took no push for so long is closed, unless it is the only one."),
        ConfigurationKey(
            "queuedPushes", .scalar("number"), .defaulted("\(options.maximumQueuedPushes)"),
            "Pushes of each priority that may wait for a connection; one more is tried again a moment later."),
    ]

    private static let limits = PruneLimits()

    private static let keep: [ConfigurationKey] = [
        days("historyDays", limits.history, "Timelines of activities."),
        days("endedDays", limits.ended, "Activities, from their end on. Then they are erased, and their ids are free."),
        days(
            "signedOutDays", limits.signedOut,
            "Devices whose person signed out. Their tokens are erased after 12 hours in any case."),
        days("silentDays", limits.silent, "Devices that were not heard of."),
        days(
            "credentialDays", Default.credentialIdle,
            "Device credentials that were not used. Then their phones need their person's own token again."),
        days("eventDays", limits.events, "Events, of which the newest million is kept in any case and no more."),
    ]

    private static func days(_ name: String, _ value: Duration, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("1 to 3650"), .defaulted("\(value.components.seconds / 86_400)"), meaning)
    }

    private static let app: [ConfigurationKey] = [
        ConfigurationKey(
            "bundleID", .text("text"), .required("com.example.pizza"),
            "The app's bundle id, as in Xcode. APNs's topics follow from it."),
        ConfigurationKey(
            "apns", .object(environments), .group(isOptional: false),
            "The keys that sign the pushes: for sandbox, production or both."),
        ConfigurationKey(
            "people", .object(people), .group(isOptional: true),
            "How people prove who they are, for phones that call by themselves. Without it they need a backend."),
        ConfigurationKey(
            "activities", .objects(activity), .group(isOptional: false), "The kinds of Live Activity of the app."),
        ConfigurationKey(
            "webhooks", .objects(webhook), .group(isOptional: true),
            "Endpoints that are told what happens to cards, tokens and keys. See docs/webhooks.md."),
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
            "contract", .text("path"), .optional("Contracts/OrderTracking.json"),
            "What attributes and content state look like (docs/contracts.md): a state that phones could not decode is "
                + "refused. A relative path begins at this file's folder."),
        ConfigurationKey(
            "contracts", .objects(contracts), .group(isOptional: true),
            "In place of contract, one for the newest build of the app and one for each range of older ones: phones on "
                + "a build that could not decode a state are not sent it, and the others are."),
        ConfigurationKey(
            "policy", .object(policy), .group(isOptional: true), "How activities of the type are started and updated."),
        ConfigurationKey(
            "provider", .object(provider), .group(isOptional: true),
            "The backend that computes what a person should see: each of their devices has an activity of its own "
                + "then. See docs/providers.md."),
        ConfigurationKey(
            "view", .object(view), .group(isOptional: true),
            "How the console draws a card of the type: which field is what. Nothing of it is sent."),
    ]

    private static let view: [ConfigurationKey] = [
        ConfigurationKey(
            "title", .text("text with places"), .optional(#""{/restaurant}""#),
            "The first line. A place names a value of the content state, else of the attributes."),
        ConfigurationKey(
            "subtitle", .text("text with places"), .optional(#""{/status}, {/eta|a few} min""#),
            "The second line."),
        ConfigurationKey(
            "progress", .text("JSON Pointer"), .optional("/progress"), "A number from 0 to 1, or to 100: a bar."),
        ConfigurationKey(
            "countdown", .text("JSON Pointer"), .optional("/arrivesAt"), "A date: the time that is left until then."),
        ConfigurationKey(
            "image", .text("text with places"), .optional("bicycle"), "The name of one of Apple's symbols."),
    ]

    private static let contracts: [ConfigurationKey] = [
        ConfigurationKey(
            "builds", .text("<build"), .optional("<120"),
            "The builds (CFBundleVersion) that the file is for: those before this one. One has no builds: the newest's."
        ),
        ConfigurationKey(
            "file", .text("path"), .required("Contracts/OrderTracking-119.json"),
            "The contract. A relative path begins at this file's folder."),
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
}
