// The table of findings of `islet doctor`. A test compares it with docs/operating/doctor.md.

extension Finding {
    /// Stable names of the findings, for programs that read `--json`.
    enum ID: String, CaseIterable {
        case configurationGood = "configuration-good"
        case configurationWrong = "configuration-wrong"
        case configurationDoubtful = "configuration-doubtful"

        case databaseGood = "database-good"
        case databaseAbsent = "database-absent"
        case databaseFolder = "database-folder"
        case databaseDiskLow = "database-disk-low"
        case databaseDiskFull = "database-disk-full"
        case databaseUnreadable = "database-unreadable"
        case databaseDamaged = "database-damaged"
        case databaseOlder = "database-older"
        case databaseNewer = "database-newer"
        case databaseForeign = "database-foreign"
        case databaseTokenKeys = "database-token-keys"
        case databaseMode = "database-mode"
        case databaseLog = "database-log"

        case contractGood = "contract-good"
        case contractDrift = "contract-drift"
        case contractNotChecked = "contract-not-checked"

        case keyGood = "key-good"
        case keyUnusable = "key-unusable"

        case certificateGood = "certificate-good"
        case certificateEnds = "certificate-ends"
        case certificateEnded = "certificate-ended"

        case clockGood = "clock-good"
        case clockUnknown = "clock-unknown"
        case clockNotChecked = "clock-not-checked"
        case clockOff = "clock-off"
        case clockFarOff = "clock-far-off"
        case clockStands = "clock-stands"

        case nameGood = "name-good"
        case nameUnknown = "name-unknown"
        case nameNotChecked = "name-not-checked"

        case connectionGood = "connection-good"
        case connectionClosed = "connection-closed"
        case connectionNotTrusted = "connection-not-trusted"
        case connectionNotHTTP2 = "connection-not-http2"
        case connectionCertificateEnds = "connection-certificate-ends"
        case connectionNotChecked = "connection-not-checked"

        case pushGood = "push-good"
        case pushUnanswered = "push-unanswered"
        case pushSignature = "push-signature"
        case pushExpired = "push-expired"
        case pushEnvironment = "push-environment"
        case pushTopic = "push-topic"
        case pushNotLetIn = "push-not-let-in"
        case pushRefused = "push-refused"
        case pushNotAPNs = "push-not-apns"
        case pushVague = "push-vague"
        case pushNotChecked = "push-not-checked"

        case peopleGood = "people-good"
        case peopleUnusable = "people-unusable"
        case peopleNotChecked = "people-not-checked"

        case providerGood = "provider-good"
        case providerAddress = "provider-address"
        case providerUnreachable = "provider-unreachable"
        case providerNotChecked = "provider-not-checked"

        case webhookGood = "webhook-good"
        case webhookAddress = "webhook-address"
        case webhookUnreachable = "webhook-unreachable"
        case webhookNotChecked = "webhook-not-checked"

        case projectGood = "project-good"
        case projectAbsent = "project-absent"
        case projectUnreadable = "project-unreadable"
        case projectWithoutApp = "project-without-app"
        case projectFileAbsent = "project-file-absent"
        case projectSettingUnknown = "project-setting-unknown"
        case projectCut = "project-cut"

        case activitiesGood = "activities-good"
        case activitiesOff = "activities-off"
        case activitiesRare = "activities-rare"

        case entitlementGood = "entitlement-good"
        case entitlementAbsent = "entitlement-absent"
        case entitlementWrong = "entitlement-wrong"

        case backgroundGood = "background-good"
        case backgroundAbsent = "background-absent"

        case widgetGood = "widget-good"
        case widgetAbsent = "widget-absent"
        case widgetNotEmbedded = "widget-not-embedded"
        case widgetBundleID = "widget-bundle-id"
        case widgetOld = "widget-old"
        case widgetNew = "widget-new"

        case systemGood = "system-good"
        case systemWithoutStart = "system-without-start"
        case systemWithoutCards = "system-without-cards"
        case systemOld = "system-old"
        case systemUnknown = "system-unknown"

        case serverGood = "server-good"
        case serverApp = "server-app"
        case serverEnvironment = "server-environment"
        case serverNotChecked = "server-not-checked"
    }
}

extension Finding.ID {
    var entry: Entry { Self.entries[self, default: Entry(.configuration, .failed, rawValue)] }

    static let entries = serverEntries.merging(projectEntries) { first, _ in first }

    private static let serverEntries: [Self: Entry] = [
        .configurationGood: Entry(
            .configuration, .ok, "the server could start with it"),
        .configurationWrong: Entry(
            .configuration, .failed, "something in it is wrong, and where",
            "mend it; `islet config reference` prints every key"),
        .configurationDoubtful: Entry(
            .configuration, .warning, "it is taken, and hardly meant so",
            "look at what it names; `islet config check` explains the whole of it"),
        .databaseGood: Entry(
            .database, .ok, "sound, of this version, and readable for its owner alone"),
        .databaseAbsent: Entry(
            .database, .ok, "there is none yet: the first start of the server makes it"),
        .databaseFolder: Entry(
            .database, .failed, "its folder is missing, or this user cannot write it",
            "make the folder, or run as the server's user: SQLite keeps its log beside the database"),
        .databaseDiskLow: Entry(
            .database, .warning, "its disk has less than 1 GB left, or less than the database has",
            "make room: without it no change is taken, and a backup needs as much as the database"),
        .databaseDiskFull: Entry(
            .database, .failed, "its disk has less than 64 MB left",
            "make room: without it no change is taken, and a backup needs as much as the database"),
        .databaseUnreadable: Entry(
            .database, .failed, "it cannot be opened or read",
            "check its owner and mode; if it is damaged, stop the server and put a backup in its place: `islet "
                + "restore FILE`"),
        .databaseDamaged: Entry(
            .database, .failed, "SQLite's own check finds it damaged",
            "stop the server and put a backup in its place: `islet restore FILE`"),
        .databaseOlder: Entry(
            .database, .warning, "a version before this one wrote it",
            "the next start of the server brings it up to date"),
        .databaseNewer: Entry(
            .database, .failed, "a version after this one wrote it",
            "run that version, or restore an older backup"),
        .databaseForeign: Entry(
            .database, .failed, "it is a database of something else",
            "name another file as `storage`"),
        .databaseTokenKeys: Entry(
            .database, .failed, "the ring of keys does not open its tokens",
            "the server does not start like this: docs/operating.md, \"Token keys\""),
        .databaseMode: Entry(
            .database, .warning, "others than its owner may read or write it",
            "chmod 600: it holds what people are shown"),
        .databaseLog: Entry(
            .database, .warning, "its log (-wal) has more than 256 MB",
            "some process reads for long and keeps it from shrinking: end it, or restart the server"),
        .contractGood: Entry(
            .contract, .ok,
            "what runs fits the contract of its type: of each type the 200 activities that were made last are "
                + "looked at"),
        .contractDrift: Entry(
            .contract, .warning,
            "activities run that phones of the newest build could not decode: the contract has changed since "
                + "they were set",
            "set their state anew as the contract has it, or give the contract of the builds before under "
                + "`contracts:` (docs/contracts.md, \"Contracts by build\")"),
        .contractNotChecked: Entry(
            .contract, .skipped,
            "the database could not be looked into, or so much of other types runs that the "
                + "newest 200 of this one were not found"),
        .keyGood: Entry(
            .key, .ok, "it signs a provider token"),
        .keyUnusable: Entry(
            .key, .failed, "it signs none",
            "give the .p8 file of the developer portal again"),
        .certificateGood: Entry(
            .certificate, .ok, "the server's own certificate: its key fits, and it is good for more than 14 days"),
        .certificateEnds: Entry(
            .certificate, .warning, "the server's own certificate ends within 14 days",
            "renew it: the server takes new files by itself, or on SIGHUP"),
        .certificateEnded: Entry(
            .certificate, .failed, "the server's own certificate is not valid any more",
            "renew it: the server takes new files by itself, or on SIGHUP"),
        .clockGood: Entry(
            .clock, .ok, "within 10 seconds of APNs's"),
        .clockUnknown: Entry(
            .clock, .warning, "APNs told no time",
            "see what the other findings say of the way to APNs"),
        .clockNotChecked: Entry(
            .clock, .skipped, "nobody was asked the time"),
        .clockOff: Entry(
            .clock, .warning, "more than 10 seconds from APNs's: the server goes by APNs's",
            "let NTP set the clock (`timedatectl`): timestamps, stale dates and provider tokens follow it"),
        .clockFarOff: Entry(
            .clock, .failed, "more than a minute from APNs's",
            "let NTP set the clock now (`timedatectl set-ntp true`, `chronyc makestep`), and look why it "
                + "stopped: people's tokens, webhooks' signatures and certificates are checked by this clock, which "
                + "the server cannot correct for them"),
        .clockStands: Entry(
            .clock, .failed, "the machine's monotonic clock does not advance",
            "restart the machine; a virtual machine's host may be at fault"),
        .nameGood: Entry(
            .name, .ok, "APNs's name has an address"),
        .nameUnknown: Entry(
            .name, .failed, "APNs's name has none",
            "check the spelling of `endpoint`, and the machine's DNS (`getent hosts NAME`)"),
        .nameNotChecked: Entry(
            .name, .skipped, "nobody looked"),
        .connectionGood: Entry(
            .connection, .ok, "APNs speaks TLS and HTTP/2"),
        .connectionClosed: Entry(
            .connection, .failed, "there is no connection",
            "let the firewall pass TCP to port 443 (or 2197) of api.push.apple.com and "
                + "api.sandbox.push.apple.com; a proxy that ends TLS will not do"),
        .connectionNotTrusted: Entry(
            .connection, .failed, "TLS failed: what answers is not trusted, or speaks none",
            "against Apple leave `trustRoots` out and keep the system's certificates up to date "
                + "(ca-certificates); for another endpoint give its authority as `trustRoots`"),
        .connectionNotHTTP2: Entry(
            .connection, .failed, "it chose no HTTP/2",
            "APNs does: something else answers there, such as a proxy that inspects TLS"),
        .connectionCertificateEnds: Entry(
            .connection, .warning, "the certificate of what answers ends within 14 days",
            "renew it if it is yours; if it is Apple's, a proxy or the clock is at fault"),
        .connectionNotChecked: Entry(
            .connection, .skipped, "nobody looked, or the name has no address"),
        .pushGood: Entry(
            .push, .ok, "APNs takes key, team and app, and refuses only the token made up for this"),
        .pushUnanswered: Entry(
            .push, .failed, "it had no answer",
            "run this again; if it stays so, look at what stands between this machine and APNs"),
        .pushSignature: Entry(
            .push, .failed, "APNs does not accept the key's signature",
            "the .p8 file, keyID and teamID must belong together: compare them with the portal's list of keys "
                + "and \"Membership details\"; a revoked key has to be replaced"),
        .pushExpired: Entry(
            .push, .failed, "APNs calls a token that was signed just now expired",
            "set this machine's clock right (NTP)"),
        .pushEnvironment: Entry(
            .push, .failed, "the key is for the other environment",
            "make a key for this environment in the portal, or move this one to the other under `apns`"),
        .pushTopic: Entry(
            .push, .failed, "the key may not push to the app's Live Activities",
            "check bundleID, that the app is the team's, that its App ID has push notifications enabled, and "
                + "that the key is not restricted to other topics"),
        .pushNotLetIn: Entry(
            .push, .failed, "APNs does not let the key in",
            "something between may strip or change the request's headers: connect without a proxy"),
        .pushRefused: Entry(
            .push, .failed, "APNs refuses the request",
            "see Apple's page on the responses of APNs"),
        .pushNotAPNs: Entry(
            .push, .warning, "it accepted a token that cannot be one",
            "what answers there is not APNs: check `endpoint`"),
        .pushVague: Entry(
            .push, .warning, "APNs answers, but not to the point",
            "run this again in a moment"),
        .pushNotChecked: Entry(
            .push, .skipped, "offline, no connection, or no signature"),
        .peopleGood: Entry(
            .people, .ok, "the key set of people's tokens is there, and has keys"),
        .peopleUnusable: Entry(
            .people, .failed, "the key set of people's tokens cannot be fetched or read",
            "check `jwks` of the app's `people` (curl it from this machine): the server takes no person's "
                + "token without, but for those that it fetched before"),
        .peopleNotChecked: Entry(
            .people, .skipped, "offline"),
        .providerGood: Entry(
            .provider, .ok, "the backend that computes states can be reached"),
        .providerAddress: Entry(
            .provider, .failed, "its name is not known, or leads inside a network",
            "check the URL and the machine's DNS; for a backend inside your own network say `allowPrivate: "
                + "true`"),
        .providerUnreachable: Entry(
            .provider, .failed, "there is no connection, or TLS failed",
            "look at the backend, the firewall, and its certificate: the system's roots have to trust it"),
        .providerNotChecked: Entry(
            .provider, .skipped, "offline"),
        .webhookGood: Entry(
            .webhook, .ok, "the endpoint can be reached; it is not called"),
        .webhookAddress: Entry(
            .webhook, .failed, "its name is not known, or leads inside a network",
            "check the URL and the machine's DNS; for an endpoint inside your own network say `allowPrivate: "
                + "true`"),
        .webhookUnreachable: Entry(
            .webhook, .failed, "there is no connection, or TLS failed",
            "look at the endpoint, the firewall, and its certificate: the system's roots have to trust it. "
                + "Events wait three days"),
        .webhookNotChecked: Entry(
            .webhook, .skipped, "offline"),
    ]
}
