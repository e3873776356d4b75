import LiveActivityCore

extension ConfigurationKey {
    private static let defaults = TypePolicy()

    static let policy: [ConfigurationKey] = [
        duration(
            "endAfter", defaults.endAfter ?? .zero,
            "The server ends an activity whose state nobody has set for this time; 0s: never. iOS ends a card after 8 "
                + "hours and keeps it for 4 more."),
        duration(
            "coalescingWindow", defaults.coalescingWindow,
            "Changes within this time of a push go out together; 1s to 5m."),
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
            "One high-priority push per activity and phone in this time; another goes out at once at low priority, "
                + "unless it brings an alert."),
        ConfigurationKey(
            "highWhen", .object(highWhen), .group(isOptional: true),
            "States that are worth a high-priority push. Left out, updates without an alert go at low priority, unless "
                + "the call that sets them says otherwise."),
        ConfigurationKey(
            "startAlert", .object(startAlert), .group(isOptional: false),
            "The alert of a start when the state has no alert. Required unless `start` is appOnly or never, because a "
                + "phone drops a start without an alert. {/pointer} inserts a value of the state or the attributes, "
                + "{/pointer|otherwise} has a default for a missing value, {{ and }} are the braces themselves."),
        ConfigurationKey(
            "fallback", .object(startAlert), .group(isOptional: true),
            "The ordinary notification for a phone that cannot show the card: once for the first state and for each "
                + "alert, never beside a card. The texts are templates as in `startAlert`. If it is left out, there is "
                + "a notification only if the call that sets the state has one."),
        ConfigurationKey(
            "reusable", .scalar("true or false"), .defaulted("\(defaults.isReusable)"),
            "Whether a call may set an ended activity again without `reopen`."),
        ConfigurationKey(
            "start", .text(oneOf(ActivityRecord.StartMode.self)), .defaulted(defaults.start.rawValue),
            "Whether a push may start the card, or only the app does."),
        ConfigurationKey(
            "restart", .text(oneOf(ActivityRecord.Restart.self)), .defaulted(defaults.restart.rawValue),
            "Whether a card comes back after the person swiped it away or it vanished."),
        ConfigurationKey(
            "dismissAfter", .scalar("duration"), .optional("30m"),
            "When an ended card leaves the lock screen if the end does not say it; at most 4h, 0s: at once. Left out, "
                + "the system decides."),
        ConfigurationKey(
            "quietHours", .object(quietHours), .group(isOptional: true),
            "A time of day, by each phone's own clock, in which no card is started. Existing cards are updated and "
                + "ended as usual."),
        ConfigurationKey(
            "renewal", .scalar("true or false"), .defaulted("\(defaults.renewal)"),
            "iOS stops updating a card after 8 hours. The server starts a second card at 7h 15m, once, without a sound "
                + "and outside quiet hours. It ends the first card when the second one's token has arrived."),
        ConfigurationKey(
            "join", .text(oneOf(TypePolicy.Join.self)), .defaulted(defaults.join.rawValue),
            "Whose cards the server accepts from a phone that calls directly: those of the audience, or of everybody "
                + "who can name the activity. anonymous: as open, and anybody may ask for the state and the channel of "
                + "an activity without a credential; it needs `public`, and `delivery` channel or auto."),
        ConfigurationKey(
            "delivery", .text(oneOf(DeliveryMode.self)), .defaulted(defaults.delivery.rawValue),
            "How states reach the phones. token: each card has an update token. channel: new cards are on a broadcast "
                + "channel of the activity (iOS 18). auto: on a channel for at least "
                + "\(DesiredSituation.channelAudience) phones, or if `join` is not audience. channel and auto need "
                + "`public`."),
        ConfigurationKey(
            "channelStorage", .text("mostRecent or none"), .defaulted("mostRecent"),
            "Which broadcasts APNs stores for phones that are offline: the newest, for up to 8 hours, or none. Apple "
                + "allows more broadcasts to a channel that stores none."),
        ConfigurationKey(
            "channelAlerts", .text("word"), .defaulted(defaults.channelAlerts.rawValue),
            "How an alert reaches people whose card is on a channel. broadcast: with the state, everybody who has a "
                + "card. notification: an ordinary notification to each phone of the audience. none: not at all."),
        ConfigurationKey(
            "authority", .text(oneOf(TypePolicy.Authority.self)), .defaulted(defaults.authority.rawValue),
            "Which state wins after the app changes its own card: the server's (sent again after one minute), or the "
                + "app's until the server sets a newer state."),
        ConfigurationKey(
            "atCeiling", .text("word"), .defaulted(defaults.atCeiling.rawValue),
            "What to do with a start on a phone that already shows `ceiling` cards of the app. ignore: send it and let "
                + "the phone decide. wait: hold it. endOldest, endLeastRelevant: end a card first. endLeastRelevant "
                + "never ends a card that is more relevant than the new one."),
        ConfigurationKey(
            "ceiling", .scalar("1 to 100"), .defaulted("\(defaults.ceiling)"),
            "Number of cards of one app that a phone shows. Apple publishes no number; developers report about five."),
        ConfigurationKey(
            "budgets", .object(budgets), .group(isOptional: true),
            "Estimates of how many pushes a device accepts per hour and per day; Apple publishes no numbers. Half of "
                + "each may be sent at once. Beyond them, updates and ends are sent at low priority and starts wait."),
    ]

    private static let quietHours: [ConfigurationKey] = [
        ConfigurationKey("from", .text("HH:MM"), .required("22:00"), "The first quiet minute."),
        ConfigurationKey(
            "to", .text("HH:MM"), .required("07:00"),
            "The first minute that is not quiet; if it is before `from`, it is on the next day."),
        ConfigurationKey(
            "zone", .text("time zone"), .optional("Europe/Berlin"),
            "The time zone of phones that have not named theirs. Left out, these phones have no quiet hours."),
        ConfigurationKey(
            "holdAlerts", .scalar("true or false"), .optional("true"),
            "Whether starts with an alert set by a call wait as well. Left out, they are sent."),
    ]

    private static let budgets: [ConfigurationKey] = [
        number("highPerHour", defaults.budgets.high.perHour, "High-priority updates and ends per hour."),
        number("highPerDay", defaults.budgets.high.perDay, "High-priority updates and ends per day."),
        number(
            "frequentPerHour", defaults.budgets.highFrequent.perHour,
            "High-priority updates and ends per hour for phones that report `frequentPushesEnabled`."),
        number(
            "frequentPerDay", defaults.budgets.highFrequent.perDay,
            "High-priority updates and ends per day for "
                + "these phones."),
        number("startsPerHour", defaults.budgets.start.perHour, "Number of starts per hour."),
        number("startsPerDay", defaults.budgets.start.perDay, "Number of starts per day."),
        ConfigurationKey(
            "reserve", .scalar("0 to 90"), .defaulted("\(defaults.budgets.high.reserve)"),
            "Percentage of the high-priority pushes that is reserved for alerts and ends."),
    ]

    private static func number(_ name: String, _ value: Int, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("2 to 100000"), .defaulted("\(value)"), meaning)
    }

    private static let highWhen: [ConfigurationKey] = [
        ConfigurationKey(
            "pointer", .text("JSON Pointer"), .required("/status"), "Where in the content state to look."),
        ConfigurationKey(
            "values", .scalars("JSON values"), .required("delivering"), "The values that match."),
    ]

    private static let startAlert: [ConfigurationKey] = [
        ConfigurationKey(
            "title", .text("text or {locKey, locArgs}"), .required("Your order"),
            "The alert's title; never only a {/pointer}, since it might be empty."),
        ConfigurationKey(
            "body", .text("text or {locKey, locArgs}"), .optional("Follow it here"), "The alert's body."),
        ConfigurationKey("sound", .text("text"), .optional("default"), "A sound file of the app, or `default`."),
    ]

    static func duration(_ name: String, _ value: Duration, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("duration"), .defaulted(Wording.duration(value)), meaning)
    }

    private static func oneOf<Case: CaseIterable & RawRepresentable>(_ type: Case.Type) -> String
    where Case.RawValue == String {
        let names = type.allCases.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }
}
