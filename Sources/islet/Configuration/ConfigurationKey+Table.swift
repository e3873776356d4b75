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
        ConfigurationKey("limits", .object(front), .group(isOptional: true), "The limits of the HTTP API."),
        ConfigurationKey(
            "storage", .text("sqlite:path, or postgres://user@host/database"), .defaulted(Default.storage),
            "The database. A relative path begins at this file's folder; the file is made when it is missing. A "
                + "PostgreSQL database must exist, and needs `tokenKeys`. Its password may stand in ~/.pgpass, or the "
                + "whole URL in ISLET_STORAGE."),
        ConfigurationKey(
            "durability", .scalar("server or twoSafe"), .defaulted("server"),
            "What an answer of 2xx means with PostgreSQL. `server`: the change is as durable as the database server's "
                + "settings make it. `twoSafe`: a synchronous standby has it; while `synchronous_standby_names` is "
                + "empty, the server does not start, and changes are refused."),
        ConfigurationKey(
            "tokenKeys", .object(tokenKeys), .group(isOptional: true),
            "The ring of keys that push tokens are sealed under in the database. Without it the ring is the file "
                + "beside a SQLite database whose name has `.keys` behind the database's, made with the database."),
        ConfigurationKey(
            "nodes", .object(nodes), .group(isOptional: true),
            "Makes this process one of several on the same PostgreSQL database: each takes every call, one does the "
                + "work, and another takes over when it has gone (docs/scaling.md)."),
        ConfigurationKey(
            "metrics", .object(metrics), .group(isOptional: true),
            "`GET /metrics`: Prometheus's text, without tokens, ids or keys, for all apps together. `metrics: false` "
                + "is short for `served: false`."),
        ConfigurationKey(
            "console", .scalar("true or false"), .defaulted("\(Default.console)"),
            "Whether `/` is the console: pages for people, who sign in with an API key (docs/console.md)."),
        ConfigurationKey(
            "tracing", .object(tracing), .group(isOptional: true),
            "Where spans of requests, decisions and pushes are exported: OTLP over HTTP in JSON, which OpenTelemetry's "
                + "collector accepts. Without it there are none."),
        ConfigurationKey(
            "connections", .object(connections), .group(isOptional: true),
            "The connections to APNs, per key and endpoint."),
        ConfigurationKey(
            "keep", .object(keep), .group(isOptional: true), "Number of days that finished data is kept."),
        ConfigurationKey(
            "refreshesPerSecond", .scalar("number"), .defaulted("\(Default.refreshesPerSecond)"),
            "Maximum number of people per second and type that a provider computes in the background (at local "
                + "midnight, or for a whole population). A refresh of one person by a call is not limited."),
        ConfigurationKey(
            "apps", .objects(app), .group(isOptional: false),
            "The apps that are served; one with another bundle id is an app of its own."),
    ]

    private static let nodes: [ConfigurationKey] = [
        ConfigurationKey(
            "listen", .text("host:port"), .required("10.0.0.5:8090"),
            "Where the other nodes reach this one: an address of a private network. It uses TLS if the API does."),
        ConfigurationKey(
            "address", .text("URL"), .optional("https://islet-1.internal:8090"),
            "The URL of `listen` as the other nodes write it, if it is another: with TLS a name in the certificate, "
                + "and always where `listen` is 0.0.0.0 or [::]."),
        ConfigurationKey(
            "trustRoots", .text("path"), .optional("ca.pem"),
            "Certificates in PEM form that the other nodes' certificates are checked with, besides the system's."),
    ]

    private static let metrics: [ConfigurationKey] = [
        ConfigurationKey(
            "served", .scalar("true or false"), .defaulted("\(Default.metrics)"),
            "Whether the server answers `GET "
                + "/metrics`."),
        ConfigurationKey(
            "listen", .text("host:port"), .optional("127.0.0.1:9090"),
            "A separate address, which answers /metrics, /healthz and /readyz and nothing else. The API's address then "
                + "does not answer /metrics. It uses TLS if the API does. Without it, everybody who can reach the API "
                + "can read the metrics, unless `needsKey` is set."),
        ConfigurationKey(
            "needsKey", .scalar("true or false"), .defaulted("false"),
            "Whether `GET /metrics` requires an API key with scope read (of any app)."),
    ]

    private static let tracing: [ConfigurationKey] = [
        ConfigurationKey(
            "endpoint", .text("URL"), .required("http://127.0.0.1:4318/v1/traces"),
            "The whole URL. Spans contain activity ids, routes and results, but no payload, token, person or phone."),
        ConfigurationKey(
            "share", .scalar("number"), .defaulted("1"),
            "Share of the traces started by the server that is exported, from 0 to 1. For traces started by a caller "
                + "(`traceparent`), the caller's sampling decision applies."),
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
            "Calls per second with one API key. After a pause, a burst of twice as many is accepted. Further calls get "
                + "429. A batch counts as one call."),
        ConfigurationKey(
            "requestsPerSecondPerDevice", .scalar("number or off"),
            .defaulted(rate(frontLimits.requestsPerSecondPerDevice)),
            "Calls per second by one person or phone that calls directly, and calls about one device."),
        ConfigurationKey(
            "joinsPerMinutePerAddress", .scalar("number or off"),
            .defaulted(rate(frontLimits.joinsPerMinutePerAddress)),
            "Calls per minute from one remote address (IPv6: one /64 network) that join an activity without a "
                + "credential (`join: anonymous`). Behind a proxy, all callers have the proxy's address: turn it off "
                + "and let the proxy count."),
        ConfigurationKey(
            "openRequests", .scalar("number"), .defaulted("\(frontLimits.openRequests)"),
            "Requests in progress at the same time; further ones are answered with 503."),
        ConfigurationKey(
            "connections", .scalar("number"), .defaulted("\(frontLimits.connections)"),
            "Connections at the same time; further ones wait."),
        ConfigurationKey(
            "connectionsPerAddress", .scalar("number"), .optional("1000"),
            "Connections from one remote address (IPv6: one /64 network); further ones are closed. Default: half of "
                + "`connections`. Behind a proxy, all connections have the proxy's address."),
    ]

    private static func rate(_ rate: Int?) -> String { rate.map(String.init) ?? "off" }

    private static let options = APNSClient.Options()

    private static let connections: [ConfigurationKey] = [
        ConfigurationKey(
            "maximum", .scalar("1 to 64"), .defaulted("\(options.maximumConnections)"),
            "Maximum number of connections for pushes. Another one is opened only when all existing ones are full."),
        duration(
            "idleLifetime", options.idleConnectionLifetime,
            "A connection that has sent no push for this time is closed, unless it is the only one."),
        ConfigurationKey(
            "queuedPushes", .scalar("number"), .defaulted("\(options.maximumQueuedPushes)"),
            "Pushes of each priority that may wait for a connection; further ones are retried a moment later."),
    ]

    private static let limits = PruneLimits()

    private static let keep: [ConfigurationKey] = [
        days("historyDays", limits.history, "Timelines of activities."),
        days(
            "endedDays", limits.ended,
            "Activities, counted from their end. They are then erased, and their ids are "
                + "free."),
        days(
            "signedOutDays", limits.signedOut,
            "Devices whose person signed out. Their tokens are erased after 12 hours in any case."),
        days("silentDays", limits.silent, "Devices that have not been in touch."),
        days(
            "credentialDays", Default.credentialIdle,
            "Device credentials that have not been used. Their phones then need the person's own token again."),
        days("eventDays", limits.events, "Events. At most the newest 1,000,000 events of all apps are kept."),
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
            "How people prove who they are, for phones that call the server directly. Without it, phones need a "
                + "backend."),
        ConfigurationKey(
            "activities", .objects(activity), .group(isOptional: false), "The kinds of Live Activity of the app."),
        ConfigurationKey(
            "webhooks", .objects(webhook), .group(isOptional: true),
            "Endpoints that receive events about cards, tokens and keys. See docs/webhooks.md."),
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
            "An endpoint that behaves like APNs, in place of Apple's endpoint for the environment."),
        ConfigurationKey(
            "channelEndpoint", .text("https://host:port"), .optional("https://127.0.0.1:2195"),
            "Where that endpoint's broadcast channels are made and deleted, in place of Apple's endpoint."),
        ConfigurationKey(
            "trustRoots", .text("path"), .optional("simulator-ca.pem"),
            "The root certificates, in PEM form, that the endpoint's certificate must chain to, in place of the "
                + "system's."),
        ConfigurationKey(
            "certificateFile", .text("path"), .optional("never"),
            "Not supported: Apple accepts no certificates for Live Activities, only a token key."),
    ]

    private static let activity: [ConfigurationKey] = [
        ConfigurationKey(
            "type", .text("text"), .required("OrderTracking"), "What the HTTP API calls the type; 1 to 128 bytes."),
        ConfigurationKey(
            "attributesType", .text("text"), .required("OrderTrackingAttributes"),
            "The Swift name of the app's ActivityAttributes type, exactly."),
        ConfigurationKey(
            "activityIDAttribute", .text("JSON Pointer"), .optional("/orderId"),
            "Where the attributes name the activity, if they do. The server fills it in, and identifies cards by it."),
        ConfigurationKey(
            "contract", .text("path"), .optional("Contracts/OrderTracking.json"),
            "What attributes and content state look like (docs/contracts.md): a state that phones could not decode is "
                + "refused. A relative path begins at this file's folder."),
        ConfigurationKey(
            "contracts", .objects(contracts), .group(isOptional: true),
            "In place of contract, one for the newest build of the app and one for each range of older ones. A state "
                + "is not sent to phones on a build that could not decode it."),
        ConfigurationKey(
            "policy", .object(policy), .group(isOptional: true), "How activities of the type are started and updated."),
        ConfigurationKey(
            "provider", .object(provider), .group(isOptional: true),
            "The backend that computes what a person should see: each of their devices has an activity of its own "
                + "then. See docs/providers.md."),
        ConfigurationKey(
            "public", .scalar("true or false"), .defaulted("false"),
            "Everybody may see what anybody sees. Broadcast channels need it, because whoever knows a channel's id can "
                + "follow it, and so does `join: anonymous`."),
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
            "Second line of the notification."),
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
            "The URL that receives signed POST requests for states. Redirects are not followed."),
        ConfigurationKey(
            "secretFile", .text("path"), .required("provider-secret"),
            "The file with the secret that the calls are signed with (Standard Webhooks): `whsec_` and 24 to 64 bytes "
                + "in base64. Give it or secretEnvironment."),
        ConfigurationKey(
            "secretEnvironment", .text("name of a variable"), .optional("PROVIDER_SECRET"),
            "The environment variable that holds the secret, in place of secretFile."),
        ConfigurationKey(
            "timeout", .scalar("duration"), .defaulted(Wording.duration(Default.providerTimeout)),
            "Maximum time for one answer, from 100 ms to 60s; then the call is retried later."),
        ConfigurationKey(
            "allowPrivate", .scalar("true or false"), .defaulted("false"),
            "Whether the URL may be plain http, or lead to this machine or a private network."),
    ]
}
