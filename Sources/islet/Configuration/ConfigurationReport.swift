import APNSClient
import APNSModel
import EmbeddedIslet
import JSONText
import LiveActivityCore
import LiveActivityProviders
import StorageSQL
import StorageSQLite

/// A description of a configuration in words, with warnings about unwise settings.
struct ConfigurationReport {
    let settings: Settings
    /// Names of the variables that set a key, by the key's pointer.
    let variables: [String: String]
    let files: FileLook

    /// Interval with which a card gets only one high-priority push in its life, because iOS ends a card after eight
    /// hours.
    private static let longInterval = Reconciler.activityLifetime

    // MARK: - Meaning

    var lines: [String] {
        var lines = [
            "listens on   \(listens)",
            "stores in    \(settings.database) (\(database))",
            "seals with   \(tokenKeys)",
        ]
        if let nodes = settings.nodes { lines.append("one node at  \(nodes.address), for the other nodes") }
        if let tracing = settings.tracing {
            lines.append("traces to    \(tracing.endpoint), \(tracing.share) of the traces that the server starts")
        }
        for (pointer, variable) in variables.sorted(by: { $0.value < $1.value }) {
            lines.append("environment  \(variable) sets \(pointer)")
        }
        for app in settings.apps {
            lines.append("app \(app.bundleID)")
            for key in settings.keys where key.app == app.bundleID { lines += Self.words(key) }
            lines.append(contentsOf: Self.words(settings.people[app.bundleID]))
            for type in app.types.values.sorted(by: { $0.name < $1.name }) {
                lines += Self.words(type)
                lines += backend(of: type, app.bundleID)
            }
            for webhook in settings.webhooks where webhook.key.app == app.bundleID { lines += Self.words(webhook) }
        }
        return lines
    }

    private func backend(of type: ActivityType, _ app: BundleID) -> [String] {
        settings.backends.filter { $0.app == app && $0.type == type.name }.map { backend in
            "    computed by \(backend.target.url), which has \(Wording.duration(backend.target.timeout)) to answer"
        }
    }

    private static func words(_ webhook: ServerParts.Webhook) -> [String] {
        let kinds = webhook.kinds.map { $0.sorted().map(\.name).joined(separator: ", ") } ?? "everything"
        return [
            "  webhook \(webhook.key.name): sends \(kinds) to \(webhook.target.url)"
                + (webhook.target.allowPrivate ? ", which may have a private address" : "")
        ]
    }

    private var listens: String {
        let scheme = settings.certificates == nil ? "http" : "https"
        let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
        let port =
            settings.port == 0 ? "a free port of \(host), which it prints" : "\(scheme)://\(host):\(settings.port)"
        return port + (settings.isLoopback ? " (reachable only from this machine)" : " (reachable from other machines)")
    }

    private var database: String {
        guard let path = settings.database.path else {
            return settings.needsStandby ? "PostgreSQL with a standby" : "PostgreSQL"
        }
        return files.mode(path) == nil ? "SQLite, made at the first start" : "SQLite, there already"
    }

    private var tokenKeys: String {
        switch settings.tokenKeys {
        case .given(let ring, let name): "the keys \(ring) of the variable \(name)"
        case .file(let path, let isMade):
            files.mode(path) == nil && isMade ? "\(path) (made with the database)" : path
        }
    }

    private static func words(_ key: Settings.KeySettings) -> [String] {
        let source =
            switch key.source {
            case .file(let path): path
            case .variable(let name): "the variable \(name)"
            }
        let roots =
            switch key.route.trustRoots {
            case .system: "the system's trust roots"
            case .pem: "trust roots of its own"
            case .file(let path): "the trust roots in \(path)"
            }
        return [
            "  \(key.environment.rawValue): \(key.key), a P-256 key from \(source)",
            "    pushes to \(key.route.endpoint), with \(roots)",
        ]
    }

    private static func words(_ type: ActivityType) -> [String] {
        let policy = type.policy
        var lines = ["  type \(type.name): the app's \(type.attributesType)"]
        func add(_ line: String) { lines.append("    " + line) }
        if let pointer = type.activityIDAttribute {
            add("the attribute \(pointer) names the activity")
        } else {
            add("no attribute names the activity: the server adds the tag `islet`, or tells cards apart by attributes")
        }
        add(
            type.contract == nil
                ? "no contract: only the size of a state is checked"
                : "a contract: states and attributes that phones could not decode are refused")
        if !type.olderContracts.isEmpty {
            let builds = type.olderContracts.map(\.before.description).joined(separator: ", ")
            add("contracts of builds before \(builds): phones on one that could not decode a state are not sent it")
        }
        add(start(policy))
        if policy.start == .ifPossible {
            add(
                "a start waits \(Wording.duration(policy.startGrace)) for an app that was just in touch, is kept "
                    + "\(Wording.duration(policy.startWindow)) for a phone that is off, and is stale after "
                    + Wording.duration(policy.startStaleAfter))
        }
        if let fallback = policy.fallback {
            add("where no card can be shown an ordinary notification says \(words(fallback))")
        }
        add("changes within \(Wording.duration(policy.coalescingWindow)) go out together")
        add(priority(policy))
        add(
            policy.staleAfter.map { "a state is stale \(Wording.duration($0)) after it was last set" }
                ?? "a state has no stale date unless the call that sets it gives one")
        add(restart(policy))
        add(
            policy.endAfter.map { "an activity that nobody has set for \(Wording.duration($0)) is ended" }
                ?? "the server never ends an activity that nobody sets any more")
        lines += rarer(policy).map { "    " + $0 }
        return lines
    }

    /// Describes the settings that most types leave at their defaults.
    private static func rarer(_ policy: TypePolicy) -> [String] {
        var lines: [String] = []
        if let dismissAfter = policy.dismissAfter {
            lines.append("an ended card leaves the lock screen after \(Wording.duration(dismissAfter))")
        }
        if let quiet = policy.quietHours {
            let others = quiet.zone.map { "; phones without a zone follow \($0)" } ?? ""
            let alerts = quiet.holdsAlerts ? ", alert or not" : ", unless the state brings an alert"
            lines.append("no start from \(quiet.from) to \(quiet.to) on the phone's clock\(alerts)\(others)")
        }
        if policy.renewal { lines.append("a card is replaced by a new one after 7h 15m, before iOS stops updating it") }
        if policy.join.isOpen {
            lines.append(
                "every phone that reports a card joins the audience: whoever can name an activity sees its states")
        }
        if policy.join == .anonymous {
            lines.append("whoever can name an activity gets its state and its channel without a credential")
        }
        switch policy.delivery {
        case .token: break
        case .channel: lines.append("new cards are on a broadcast channel of the activity, on phones with iOS 18")
        case .auto:
            lines.append(
                "new cards are on a broadcast channel where the activity has at least "
                    + "\(DesiredSituation.channelAudience) phones or everybody may join, on phones with iOS 18")
        }
        switch policy.channelAlerts {
        case _ where policy.delivery == .token: break
        case .broadcast: lines.append("an alert rings for everybody who has a card on the channel")
        case .notification:
            lines.append("people with a card on the channel get an alert by a notification, each on their phones")
        case .none: lines.append("people with a card on the channel get no alerts")
        }
        if policy.authority == .app { lines.append("a state that the app set stays until the server has a newer one") }
        switch policy.atCeiling {
        case .ignore: break
        case .wait: lines.append("a start waits on a phone with \(policy.ceiling) cards of the app")
        case .endOldest, .endLeastRelevant:
            let which = policy.atCeiling == .endOldest ? "oldest" : "least relevant"
            lines.append("on a phone with \(policy.ceiling) cards of the app, the \(which) one is ended before a start")
        }
        if policy.budgets != BudgetPolicy() {
            let budgets = policy.budgets
            lines.append(
                "budgets in an hour and a day: \(budgets.high.perHour) and \(budgets.high.perDay) of high priority, "
                    + "\(budgets.highFrequent.perHour) and \(budgets.highFrequent.perDay) where frequent pushes are "
                    + "allowed, \(budgets.start.perHour) and \(budgets.start.perDay) starts")
        }
        return lines
    }

    private static func start(_ policy: TypePolicy) -> String {
        switch policy.start {
        case .ifPossible:
            let alert = policy.startAlert.map { " with \(words($0))" } ?? ""
            return "started by push where the phone can\(alert), unless the state brings an alert"
        case .appOnly: return "started only by the app, never by push"
        case .never: return "never started by the server; an existing card is kept up to date"
        }
    }

    private static func words(_ alert: AlertTemplate) -> String {
        ([alert.title] + (alert.body.map { [$0] } ?? [])).map { text in
            switch text {
            case .text(let text): "\"\(text)\""
            case .localized(let key, _): "the app's text `\(key)`"
            }
        }.joined(separator: ", ")
    }

    private static func priority(_ policy: TypePolicy) -> String {
        let interval = Wording.duration(policy.highPriorityInterval)
        let high =
            policy.highWhen.map { rule in
                let values = rule.values.map(\.text).joined(separator: ", ")
                return "where \(rule.pointer) is one of \(values)"
            } ?? "only if the call asks for it (no highWhen)"
        return "high priority: starts, alerts, ends and phones that fell behind; other states \(high). At most one per "
            + "\(interval), not counting starts and alerts"
    }

    private static func restart(_ policy: TypePolicy) -> String {
        let comeback =
            switch policy.restart {
            case .never: "a card that was swiped away stays away"
            case .onAlert: "a card that was swiped away comes back with the next alert"
            case .always: "a card that was swiped away comes back with the next state"
            }
        return comeback
            + (policy.isReusable
                ? "; an ended activity may simply be set again" : "; an ended activity must be reopened")
    }

    // MARK: - Warnings

    var warnings: [String] {
        var warnings: [String] = []
        if !settings.isLoopback, settings.certificates == nil {
            warnings.append(
                "/listen: other machines reach the API over plain HTTP, so keys and tokens travel in the clear: set "
                    + "`tls`, or listen on 127.0.0.1 behind a proxy with TLS")
        }
        if let path = settings.database.path, !files.folderIsWritable(path) {
            warnings.append(
                "/storage: the folder of \(path) is missing or cannot be written by this user: SQLite "
                    + "keeps its log there")
        }
        if let path = settings.database.path, let mode = files.mode(path), mode & 0o077 != 0 {
            warnings.append(
                "/storage: others may read or write \(path) (mode \(Wording.mode(mode))), which holds "
                    + "what people are shown: chmod 600")
        }
        if case .file(let path, _) = settings.tokenKeys, let mode = files.mode(path), mode & 0o077 != 0 {
            warnings.append(
                "/tokenKeys: others may read \(path) (mode \(Wording.mode(mode))), which opens the push tokens of the "
                    + "database and its backups: chmod 600")
        }
        if case .file(let path, _) = settings.tokenKeys, holdsRealTokens, let database = settings.database.path,
            Self.folder(of: path) == Self.folder(of: database)
        {
            warnings.append(
                "/tokenKeys: the ring \(path) lies in the database's folder: a copy of that folder, such as a snapshot "
                    + "of its disk, holds both and opens every push token. Put the ring elsewhere with `tokenKeys`, or "
                    + "make backups with `islet backup` alone, which leaves the ring out")
        }
        for key in settings.keys { warnings += Self.warning(key, files) }
        for (index, app) in settings.apps.enumerated() {
            for type in app.types.values.sorted(by: { $0.name < $1.name }) {
                warnings += Self.warnings(type).map { "/apps/\(index)/activities, type \(type.name): \($0)" }
            }
        }
        return warnings
    }

    /// `true` if a route leads to another machine. The tokens of a simulator on this machine are not real.
    private var holdsRealTokens: Bool {
        settings.routes.contains { route in
            let host = route.endpoint.host
            return !(host == "localhost" || host == "::1" || host.hasPrefix("127."))
        }
    }

    private static func folder(of path: String) -> Substring { path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }

    /// Warns of a `.p8` file that others may read.
    static func warning(_ key: Settings.KeySettings, _ files: FileLook) -> [String] {
        guard case .file(let path) = key.source, let mode = files.mode(path), mode & 0o077 != 0 else { return [] }
        return [
            "\(key.place)/keyFile: others may read \(path) (mode \(Wording.mode(mode))): chmod 600, and replace the "
                + "key if somebody may have read it"
        ]
    }

    private static func warnings(_ type: ActivityType) -> [String] {
        var warnings: [String] = []
        if let rule = type.policy.highWhen, rule.values.isEmpty {
            warnings.append("highWhen has no values, so it never makes a state high priority")
        }
        if type.policy.highPriorityInterval >= longInterval {
            warnings.append(
                "highPriorityInterval is \(Wording.duration(type.policy.highPriorityInterval)): after its first push "
                    + "only alerts update a card at high priority, because iOS ends the card within 8h")
        }
        if type.policy.startWindow < .seconds(10), type.policy.start == .ifPossible {
            warnings.append(
                "startWindow is \(Wording.duration(type.policy.startWindow)): a phone that is out of reach for a "
                    + "moment never gets the card")
        }
        return warnings
    }
}
