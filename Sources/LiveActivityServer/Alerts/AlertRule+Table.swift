// The table of alert rules. `docs/alerts.yml` is generated from it, and the server itself evaluates it.
import LiveActivityCore

extension AlertRule {
    private static let route = ["app", "environment"]

    /// All rules, in the order of `docs/metrics.md`.
    static let all: [AlertRule] = [
        errorRate, tokensDie, tooManyRequests, halted, late, routeDown, standsStill, storeFails, storeHangs,
        contradicted, startsAbsent, channelsRefused, channelsRunOut, channelsStandStill, webhookOff, webhookGaveUp,
        clockWrong, configurationRefused,
    ]

    /// Time between two evaluations.
    static let interval = Duration.seconds(5)

    private static let deliveries = AlertSelector(.deliveries)

    private static let notAccepted = deliveries.without("verdict", "accepted", "token_dead")
    /// The second condition is needed because a single failure is a large share of few pushes, and no problem.
    private static let errorRate = AlertRule(
        name: "IsletErrorRate",
        expression: .and(
            .above(
                .over(
                    .sum(by: route, .rate(notAccepted, .seconds(300))),
                    .sum(by: route, .rate(deliveries, .seconds(300)))), 0.05),
            .above(.sum(by: route, .increase(notAccepted, .seconds(300))), 3)),
        lasts: .seconds(120), severity: .page,
        summary: "More than 5 % of the pushes of {{ $labels.app }} ({{ $labels.environment }}) are not accepted",
        meaning: "APNs, the connection or the key is in trouble: the reasons of islet_deliveries_total say which. The "
            + "server retries whatever can be retried.")

    private static let dead = deliveries.with("verdict", "token_dead")
    private static let tokensDie = AlertRule(
        name: "IsletTokensDie",
        expression: .and(
            .above(.sum(by: route, .increase(dead, .seconds(900))), 20),
            .aboveThose(
                .sum(by: route, .rate(dead, .seconds(900))), .scaled(3, .sum(by: route, .rate(dead, .seconds(86_400)))))
        ),
        severity: .ticket,
        summary: "Tokens of {{ $labels.app }} die three times as fast as over the day: a release, or an environment",
        meaning: "Many 410s at once: an app that was removed or reset by a release, or tokens of another environment. "
            + "islet_tokens_dead_total says which tokens, and why.")

    private static let tooManyRequests = AlertRule(
        name: "IsletTooManyRequests",
        expression: .above(.sum(by: route, .growth(deliveries.with("verdict", "slow_down"), .seconds(300))), 0),
        severity: .ticket, summary: "APNs asks {{ $labels.app }} to slow down (429)",
        meaning: "Too many pushes to one token in a row. They are spaced, and the newest state is sent. Find out what "
            + "changes so often.")

    private static let halted = AlertRule(
        name: "IsletHalted",
        expression: .above(
            .sum(by: route + ["reason"], .increase(deliveries.with("verdict", "halted"), .seconds(300))), 0),
        severity: .page,
        summary: "APNs refuses the key of {{ $labels.app }}: {{ $labels.reason }}; the work is kept",
        meaning: "Correct the key, its environment or its topic, as the reason says. Nothing is lost meanwhile, and "
            + "delivery resumes by itself.")

    /// Time in seconds from which a state is late. It must be a bucket bound of both histograms.
    static let lateAfter = 10.0
    private static let late = AlertRule(
        name: "IsletLate",
        expression: .above(
            .quantile(
                0.99,
                .sum(
                    by: [AlertVector.bound],
                    .plus(
                        .rate(AlertSelector(.deliveryLag, .buckets), .seconds(60)),
                        .rate(AlertSelector(.deliveryFailedLag, .buckets), .seconds(60))))), lateAfter),
        lasts: .seconds(15), severity: .page, summary: "States reach APNs more than 10 s after they were set",
        meaning: "Of the last minute's states, at least 1 in 100 took longer or has not arrived yet. Look at "
            + "islet_apns_trouble_seconds, at the streams in use and their limit, and at the time of the store's "
            + "commits.")

    private static let routeDown = AlertRule(
        name: "IsletRouteDown", expression: .above(.latest(AlertSelector(.apnsTrouble)), 30), severity: .page,
        summary: "Nothing leaves for {{ $labels.app }} ({{ $labels.environment }}) since {{ $value }} s",
        meaning: "Pushes failed in a row, so all pushes except one probe a minute are held back. The log and /readyz "
            + "say why. Delivery resumes by itself once a probe is answered.")

    private static let standsStill = AlertRule(
        name: "IsletStandsStill", expression: .above(.latest(AlertSelector(.queueAge)), 30), lasts: .seconds(120),
        severity: .page, summary: "Work that is due is not claimed",
        meaning: "Delivery has stopped, or the store cannot keep up: check islet_store_commit_seconds and the log.")

    private static let storeFails = AlertRule(
        name: "IsletStoreFails",
        expression: .above(.sum(by: ["work"], .increase(AlertSelector(.storeFailures), .seconds(300))), 3),
        severity: .page, summary: "The database does not {{ $labels.work }}: it failed {{ $value }} times",
        meaning: "Calls are answered 503 storage_unavailable, and nothing new is sent: a disk that is full or broken, "
            + "or a file that is damaged or gone. The log has the error, islet doctor checks the database, and islet "
            + "restore restores a backup. Accepted changes are sent once the database answers.")

    private static let storeHangs = AlertRule(
        name: "IsletStoreHangs", expression: .above(.latest(AlertSelector(.storeWriting)), 30), severity: .page,
        summary: "The database has been writing one transaction for {{ $value }} s",
        meaning: "The disk neither fails nor answers: a network disk that is unreachable, or a throttled volume. Calls "
            + "that change something wait, and nothing new is sent. Accepted changes are sent once the disk answers.")

    private static let contradictions = AlertSelector(.confirmations).with("outcome", "contradicted")
    private static let contradicted = AlertRule(
        name: "IsletContradicted",
        expression: .and(
            .above(.sum(by: ["app"], .increase(contradictions, .seconds(900))), 5),
            .above(
                .over(
                    .sum(by: ["app"], .rate(contradictions, .seconds(900))),
                    .sum(by: ["app"], .rate(AlertSelector(.confirmations), .seconds(900)))), 0.05)),
        severity: .ticket,
        summary:
            "Phones of {{ $labels.app }} show other states than they were sent, {{ $value }} in a quarter of an hour",
        meaning: "APNs accepted states that the cards do not show. The app cannot decode a content state, changes its "
            + "cards without reporting it, or a phone's clock is wrong. Diagnose one of the devices for details.")

    private static let absent = AlertSelector(.startsAbsent)
    private static let startsAbsent = AlertRule(
        name: "IsletStartsAbsent",
        expression: .and(
            .above(.sum(by: ["app", "type"], .increase(absent, .seconds(3600))), 20),
            .aboveThose(
                .scaled(4, .sum(by: ["app", "type"], .rate(absent, .seconds(3600)))),
                .sum(by: ["app", "type"], .rate(AlertSelector(.startConfirmation, .count), .seconds(3600))))),
        severity: .ticket,
        summary: "{{ $value }} starts of {{ $labels.type }} of {{ $labels.app }} came to no card within an hour",
        meaning: "APNs accepted them, and later inventories lack their cards: more than one for every four starts that "
            + "led to a card. Push-to-start tokens that are stale, attributes that the app cannot decode, or a start "
            + "budget of iOS's that is used up.")

    private static let refusedForGood = AlertSelector(.channelCalls).with("outcome", "feature_not_enabled")
    private static let channelsRefused = AlertRule(
        name: "IsletChannelsNotEnabled",
        expression: .above(.sum(by: route, .growth(refusedForGood, .seconds(1800))), 0), severity: .ticket,
        summary: "{{ $labels.app }} may not use broadcast channels (FeatureNotEnabled)",
        meaning: "Enable the Broadcast Capability of the app id, under Push Notifications in the developer portal. "
            + "Until then types with delivery auto use tokens, and starts of types with delivery channel wait.")

    /// Number of channels from which an app runs out of them: `auto` makes no more.
    static let channelsWarning = 8000.0
    private static let overQuota = AlertSelector(.channelCalls).with("outcome", "quota")
    private static let channelsRunOut = AlertRule(
        name: "IsletChannelsRunOut",
        expression: .or(
            .above(.sum(by: route, .latest(AlertSelector(.channelsInUse))), channelsWarning - 1),
            .above(.sum(by: route, .growth(overQuota, .seconds(1800))), 0)),
        lasts: .seconds(300), severity: .ticket,
        summary: "{{ $labels.app }} runs out of its 10,000 broadcast channels ({{ $labels.environment }})",
        meaning: "It has 8,000 or more, and types with delivery auto take tokens, or APNs makes no more. islet "
            + "channels shows which activities have channels, and how many belong to somebody else. islet channels "
            + "delete deletes those. Or put fewer activities on channels.")

    private static let channelsStandStill = AlertRule(
        name: "IsletChannelsStandStill", expression: .above(.latest(AlertSelector(.channelQueueAge)), 30),
        lasts: .seconds(120), severity: .page, summary: "Work on broadcast channels that is due is not claimed",
        meaning: "The channel loop has stopped, or the store cannot keep up: check islet_store_commit_seconds and the "
            + "log.")

    private static let configurationRefused = AlertRule(
        name: "IsletConfigurationRefused", expression: .above(.latest(AlertSelector(.configurationRefused)), 0),
        severity: .ticket, summary: "A changed configuration was refused, and the old one goes on",
        meaning: "islet config check says where the fault is: mend it, and reload again. Until then a restart fails.")

    private static let webhookOff = AlertRule(
        name: "IsletWebhookOff", expression: .above(.latest(AlertSelector(.webhookOff)), 0), severity: .ticket,
        summary: "The webhook {{ $labels.webhook }} of {{ $labels.app }} is disabled until somebody enables it",
        meaning: "It accepted nothing for three days, or answered 410: repair the endpoint, then run islet webhooks "
            + "enable.")

    private static let webhookGaveUp = AlertRule(
        name: "IsletWebhookGaveUp", expression: .above(.latest(AlertSelector(.webhookDead)), 0), severity: .ticket,
        summary: "{{ $labels.webhook }} of {{ $labels.app }} has {{ $value }} undelivered events: replay them",
        meaning: "Once the endpoint works again: islet webhooks replay, or the console.")

    private static let clockWrong = AlertRule(
        name: "IsletClockWrong",
        expression: .above(.absolute(.latest(AlertSelector(.apnsClockSkew))), 10), lasts: .seconds(300),
        severity: .ticket,
        summary: "The clocks of this machine and of APNs ({{ $labels.environment }}) differ by more than 10 s",
        meaning:
            "Correct the machine's clock: certificates are checked by it, and after a restart everything is until "
            + "APNs answers."
    )
}
