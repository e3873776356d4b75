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
        case databaseServerGood = "database-server-good"
        case databaseServer = "database-server"
        case databaseClock = "database-clock"
        case databaseUnsafe = "database-unsafe"
        case databaseNoStandby = "database-no-standby"
        case databaseStandbyAway = "database-standby-away"
        case databaseSlow = "database-slow"
        case databaseMoved = "database-moved"
        case databaseRestored = "database-restored"

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

        case channelGood = "channel-good"
        case channelNotEnabled = "channel-not-enabled"
        case channelFew = "channel-few"
        case channelUnanswered = "channel-unanswered"
        case channelRefused = "channel-refused"
        case channelNotChecked = "channel-not-checked"

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
            .configuration, .ok, "the server can start with this configuration"),
        .configurationWrong: Entry(
            .configuration, .failed, "the configuration has an error; the detail says where",
            "correct it; `islet config reference` lists every key"),
        .configurationDoubtful: Entry(
            .configuration, .warning, "the configuration is valid, but a setting is probably not what you intended",
            "check the named setting; `islet config check` explains the whole configuration"),
        .databaseGood: Entry(
            .database, .ok, "the database is intact, has this version's schema, and only its owner can read it"),
        .databaseAbsent: Entry(
            .database, .ok, "no database exists yet: the first start of the server creates it"),
        .databaseFolder: Entry(
            .database, .failed, "the database's folder is missing, or this user cannot write to it",
            "create the folder, or run as the server's user: SQLite keeps its log beside the database"),
        .databaseDiskLow: Entry(
            .database, .warning, "the disk has less than 1 GB free, or less than the size of the database",
            "free disk space: the server rejects every change on a full disk, and a backup needs as much space as the "
                + "database"),
        .databaseDiskFull: Entry(
            .database, .failed, "the disk has less than 64 MB free",
            "free disk space: the server rejects every change on a full disk, and a backup needs as much space as the "
                + "database"),
        .databaseUnreadable: Entry(
            .database, .failed, "the database cannot be opened or read",
            "check the file's owner and mode; if it is damaged, stop the server and restore a backup: `islet restore "
                + "FILE`"),
        .databaseDamaged: Entry(
            .database, .failed, "SQLite's integrity check found damage",
            "stop the server and restore a backup: `islet restore FILE`"),
        .databaseOlder: Entry(
            .database, .warning, "the database was written by an earlier version",
            "nothing to do: the next start of the server migrates it"),
        .databaseNewer: Entry(
            .database, .failed, "the database was written by a later version",
            "run that version, or restore an older backup"),
        .databaseForeign: Entry(
            .database, .failed, "the file is a database of another program",
            "name another file as `storage`"),
        .databaseTokenKeys: Entry(
            .database, .failed, "the ring of keys cannot decrypt the database's tokens",
            "the server will not start until the right ring of keys is configured; see \"Token keys\" in "
                + "docs/operating.md"),
        .databaseMode: Entry(
            .database, .warning, "users other than the owner can read or write the database",
            "chmod 600: the database holds what people are shown"),
        .databaseLog: Entry(
            .database, .warning, "the database's log (-wal) is larger than 256 MB",
            "a long-running reader keeps the log from shrinking: end that process, or restart the server"),
        .databaseServerGood: Entry(
            .database, .ok, "the PostgreSQL database can be used by this version"),
        .databaseServer: Entry(
            .database, .failed, "the PostgreSQL database cannot be reached or used",
            "the detail says what to correct: the URL in `storage`, the server, or its settings"),
        .databaseClock: Entry(
            .database, .warning, "the clocks of this machine and of the PostgreSQL server differ by more than 2 s",
            "let NTP set both clocks"),
        .databaseUnsafe: Entry(
            .database, .failed, "the PostgreSQL server may lose or damage committed data when its machine stops",
            "turn `fsync` and `full_page_writes` on in the server's settings"),
        .databaseNoStandby: Entry(
            .database, .failed, "`durability: twoSafe` is set, and the PostgreSQL server names no synchronous standby",
            "name the standby in the server's `synchronous_standby_names`: until then the server does not start"),
        .databaseStandbyAway: Entry(
            .database, .failed, "the PostgreSQL server waits for more synchronous standbys than are connected",
            "start the standby: no change returns without it"),
        .databaseSlow: Entry(
            .database, .warning, "the PostgreSQL server takes more than 10 ms to answer",
            "run it near the server: a change asks it several times, one after the other"),
        .databaseMoved: Entry(
            .database, .failed, "the file's rows were moved, or a move began (`islet move`)",
            "do what the detail says; to serve the file again, restore a backup or a copy of it"),
        .databaseRestored: Entry(
            .database, .warning,
            "less than a day ago, the PostgreSQL database was restored, or a failover lost its last changes",
            "have your backend set its activities again, those that the database lacks with `start: appOnly`: phones "
                + "may show older states until then (docs/operating/backup.md, \"What the server assumes after a "
                + "restore\")"),
        .contractGood: Entry(
            .contract, .ok,
            "running activities fit their contracts (checked: the newest 200 of each type)"),
        .contractDrift: Entry(
            .contract, .warning,
            "phones on the newest build could not decode some running activities: the contract has changed since they "
                + "were set",
            "set their states again in the form of the new contract, or list the contract of earlier builds under "
                + "`contracts:` (docs/contracts.md, \"Contracts by build\")"),
        .contractNotChecked: Entry(
            .contract, .skipped,
            "the database could not be opened, or too many activities of other types are running to find this type's "
                + "newest 200"),
        .keyGood: Entry(
            .key, .ok, "the key can sign a provider token"),
        .keyUnusable: Entry(
            .key, .failed, "the key cannot sign a provider token",
            "configure the .p8 file from the developer portal again"),
        .certificateGood: Entry(
            .certificate, .ok, "the server's certificate matches its key and is valid for at least 14 more days"),
        .certificateEnds: Entry(
            .certificate, .warning, "the server's certificate expires within 14 days",
            "renew it: the server reloads changed files within 10 seconds, or at once on SIGHUP"),
        .certificateEnded: Entry(
            .certificate, .failed, "the server's certificate has expired",
            "renew it: the server reloads changed files within 10 seconds, or at once on SIGHUP"),
        .clockGood: Entry(
            .clock, .ok, "this machine's clock is within 10 seconds of APNs's"),
        .clockUnknown: Entry(
            .clock, .warning, "no answer from APNs contained a date",
            "see the findings about the connection to APNs"),
        .clockNotChecked: Entry(
            .clock, .skipped, "offline"),
        .clockOff: Entry(
            .clock, .warning,
            "this machine's clock differs from APNs's by more than 10 seconds; the server uses "
                + "APNs's time",
            "let NTP set the clock (`timedatectl`): until APNs first answers, the server has no other"),
        .clockFarOff: Entry(
            .clock, .failed, "this machine's clock differs from APNs's by more than a minute",
            "let NTP set the clock now (`timedatectl set-ntp true`, `chronyc makestep`), and find out why NTP stopped: "
                + "certificates are checked against this clock, and until APNs first answers the server has no other"),
        .clockStands: Entry(
            .clock, .failed, "the machine's monotonic clock does not advance",
            "restart the machine; a virtual machine's host may be at fault"),
        .nameGood: Entry(
            .name, .ok, "the name of the APNs endpoint resolves to an address"),
        .nameUnknown: Entry(
            .name, .failed, "the name of the APNs endpoint cannot be resolved",
            "check the spelling of `endpoint`, and the machine's DNS (`getent hosts NAME`)"),
        .nameNotChecked: Entry(
            .name, .skipped, "offline"),
        .connectionGood: Entry(
            .connection, .ok, "the endpoint speaks TLS and HTTP/2"),
        .connectionClosed: Entry(
            .connection, .failed, "no connection to the endpoint could be made",
            "let the firewall pass TCP to port 443 (or 2197) of api.push.apple.com and api.sandbox.push.apple.com; a "
                + "proxy that terminates TLS does not work"),
        .connectionNotTrusted: Entry(
            .connection, .failed, "TLS failed: the certificate is not trusted, or the other side does not use TLS",
            "for Apple, leave `trustRoots` out and keep the system's certificates up to date (ca-certificates); for "
                + "another endpoint, set `trustRoots` to its certificate authority"),
        .connectionNotHTTP2: Entry(
            .connection, .failed, "the other side did not agree to HTTP/2",
            "APNs always does, so something else answers there, such as a proxy that inspects TLS"),
        .connectionCertificateEnds: Entry(
            .connection, .warning, "the endpoint's certificate expires within 14 days",
            "renew the certificate if it is yours; if it is Apple's, a proxy or this machine's clock is at fault"),
        .connectionNotChecked: Entry(
            .connection, .skipped, "offline, or the name has no address"),
        .pushGood: Entry(
            .push, .ok, "APNs accepts key, team and app; it refused only the invalid test token, as expected"),
        .pushUnanswered: Entry(
            .push, .failed, "APNs did not answer the test push",
            "run this again; if it still fails, check firewalls and proxies between this machine and APNs"),
        .pushSignature: Entry(
            .push, .failed, "APNs does not accept the key's signature",
            "the .p8 file, keyID and teamID must belong together: compare them with the portal's list of keys "
                + "and \"Membership details\"; a revoked key has to be replaced"),
        .pushExpired: Entry(
            .push, .failed, "APNs says that a provider token signed just now has expired",
            "correct this machine's clock (NTP)"),
        .pushEnvironment: Entry(
            .push, .failed, "the key is for the other environment",
            "create a key for this environment in the portal, or move this key to the other environment under `apns`"),
        .pushTopic: Entry(
            .push, .failed, "the key may not push to the app's Live Activities",
            "check bundleID, that the app belongs to the team, that its App ID has push notifications enabled, and "
                + "that the key is not restricted to other topics"),
        .pushNotLetIn: Entry(
            .push, .failed, "APNs denied access (missing or invalid authorization)",
            "a proxy may be removing or changing request headers: connect without it"),
        .pushRefused: Entry(
            .push, .failed, "APNs refused the request",
            "see Apple's page \"Handling notification responses from APNs\""),
        .pushNotAPNs: Entry(
            .push, .warning, "the endpoint accepted an invalid token",
            "the endpoint is not APNs: check `endpoint`"),
        .pushVague: Entry(
            .push, .warning, "APNs answered with a temporary error, so the key could not be checked",
            "run this again in a moment"),
        .pushNotChecked: Entry(
            .push, .skipped, "offline, no connection, or the key cannot sign"),
        .channelGood: Entry(
            .channel, .ok, "APNs lists the app's broadcast channels; fewer than 8,000 of 10,000 are in use"),
        .channelNotEnabled: Entry(
            .channel, .failed, "the app may not use broadcast channels (FeatureNotEnabled)",
            "open the App ID in the developer portal, and enable Broadcast Capability under Push Notifications; until "
                + "then, types with `delivery: auto` use tokens, and `delivery: channel` starts nothing"),
        .channelFew: Entry(
            .channel, .warning, "8,000 or more of the app's 10,000 broadcast channels are in use",
            "`islet channels` shows which are the server's; delete those that other programs have made and no longer "
                + "need, with `islet channels delete`"),
        .channelUnanswered: Entry(
            .channel, .failed, "APNs did not list the app's broadcast channels",
            "let the firewall pass TCP to port 2195 of api-manage-broadcast.sandbox.push.apple.com and to port 2196 of "
                + "api-manage-broadcast.push.apple.com, then run this again"),
        .channelRefused: Entry(
            .channel, .failed, "APNs refused to list the app's broadcast channels",
            "see Apple's page \"Handling error responses from APNs\""),
        .channelNotChecked: Entry(
            .channel, .skipped, "offline, no connection, or the key cannot sign"),
        .peopleGood: Entry(
            .people, .ok, "the key set for people's tokens can be fetched and has keys"),
        .peopleUnusable: Entry(
            .people, .failed, "the key set for people's tokens cannot be fetched or read",
            "check `jwks` of the app's `people` (curl it from this machine): without it the server accepts only tokens "
                + "signed with keys that it has already fetched"),
        .peopleNotChecked: Entry(
            .people, .skipped, "offline"),
        .providerGood: Entry(
            .provider, .ok, "the backend that computes states can be reached"),
        .providerAddress: Entry(
            .provider, .failed, "the host's name cannot be resolved, or resolves to a private address",
            "check the URL and the machine's DNS; for a backend in a private network, set `allowPrivate: true`"),
        .providerUnreachable: Entry(
            .provider, .failed, "no connection could be made, or TLS failed",
            "check the backend, the firewall, and the backend's certificate: the system's roots must trust it"),
        .providerNotChecked: Entry(
            .provider, .skipped, "offline"),
        .webhookGood: Entry(
            .webhook, .ok, "the endpoint's host can be reached; the endpoint itself was not called"),
        .webhookAddress: Entry(
            .webhook, .failed, "the host's name cannot be resolved, or resolves to a private address",
            "check the URL and the machine's DNS; for an endpoint in a private network, set `allowPrivate: true`"),
        .webhookUnreachable: Entry(
            .webhook, .failed, "no connection could be made, or TLS failed",
            "check the endpoint, the firewall, and the endpoint's certificate: the system's roots must trust it. "
                + "An event is given up after 30 tries or a day"),
        .webhookNotChecked: Entry(
            .webhook, .skipped, "offline"),
    ]
}
