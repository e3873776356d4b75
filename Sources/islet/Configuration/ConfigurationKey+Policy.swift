import LiveActivityCore

extension ConfigurationKey {
    private static let defaults = TypePolicy()

    static let policy: [ConfigurationKey] = [
        duration(
            "endAfter", defaults.endAfter ?? .zero,
            "An activity that nobody has set for so long is ended by the server; 0s: never. iOS ends a card after 8 "
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
            "What a start says when the state brings no alert. Needed unless `start` is appOnly or never: a phone "
                + "drops a start without an alert. {/pointer} stands for a value of the state or the attributes, "
                + "{/pointer|otherwise} says what stands there without one, {{ and }} are the braces themselves."),
        ConfigurationKey(
            "fallback", .object(startAlert), .group(isOptional: true),
            "What an ordinary notification says on a phone that cannot show the card: once for the first state and for "
                + "each alert, never beside a card. The texts are templates as in `startAlert`. Left out, and where "
                + "the call that sets the state brings none, there is no notification."),
        ConfigurationKey(
            "reusable", .scalar("true or false"), .defaulted("\(defaults.isReusable)"),
            "An ended activity may be set again without asking for it."),
        ConfigurationKey(
            "start", .text(oneOf(ActivityRecord.StartMode.self)), .defaulted(defaults.start.rawValue),
            "Whether a push may start the card, or only the app does."),
        ConfigurationKey(
            "restart", .text(oneOf(ActivityRecord.Restart.self)), .defaulted(defaults.restart.rawValue),
            "Whether a card comes back after the person swiped it away or it vanished."),
        ConfigurationKey(
            "dismissAfter", .scalar("duration"), .optional("30m"),
            "When an ended card leaves the lock screen where the end does not say; at most 4h, 0s at once. Left out, "
                + "the system decides."),
        ConfigurationKey(
            "quietHours", .object(quietHours), .group(isOptional: true),
            "A time of day, by each phone's own clock, in which no card is started. Cards that are there are updated "
                + "and ended as ever."),
        ConfigurationKey(
            "renewal", .scalar("true or false"), .defaulted("\(defaults.renewal)"),
            "iOS stops updating a card after 8 hours. Starts it anew at 7h 15m, without a sound and outside quiet "
                + "hours, once; the first card is ended when the second one's token is there."),
        ConfigurationKey(
            "join", .text(oneOf(TypePolicy.Join.self)), .defaulted(defaults.join.rawValue),
            "Whom a phone that calls by itself lets in by reporting a card: the people of the audience, or everybody "
                + "who can name the activity."),
        ConfigurationKey(
            "authority", .text(oneOf(TypePolicy.Authority.self)), .defaulted(defaults.authority.rawValue),
            "Whose state a card shows that the app changed itself: the server's again after a minute, or the app's "
                + "until the server sets a newer one."),
        ConfigurationKey(
            "atCeiling", .text("word"), .defaulted(defaults.atCeiling.rawValue),
            "What happens to a start on a phone that shows `ceiling` cards of the app (ignore, wait, endOldest, "
                + "endLeastRelevant): it goes out and the phone "
                + "decides, it waits, or a card is ended for it. One of more relevance is never ended by "
                + "endLeastRelevant."),
        ConfigurationKey(
            "ceiling", .scalar("1 to 100"), .defaulted("\(defaults.ceiling)"),
            "How many cards of one app a phone shows. Apple tells no number; about five are reported."),
        ConfigurationKey(
            "budgets", .object(budgets), .group(isOptional: true),
            "Our estimates of what a device lets through in any hour and in any day; Apple tells no numbers. Half of "
                + "each may go at once. Beyond them updates and ends go at low priority, and starts wait."),
    ]

    private static let quietHours: [ConfigurationKey] = [
        ConfigurationKey("from", .text("HH:MM"), .required("22:00"), "The first minute that is quiet."),
        ConfigurationKey(
            "to", .text("HH:MM"), .required("07:00"),
            "The first minute that is not; before `from`, it is on the next day."),
        ConfigurationKey(
            "zone", .text("time zone"), .optional("Europe/Berlin"),
            "For phones that did not name their zone. Left out, these have no quiet hours."),
        ConfigurationKey(
            "holdAlerts", .scalar("true or false"), .optional("true"),
            "Starts that carry an alert of a call's wait as well. Left out, they go out."),
    ]

    private static let budgets: [ConfigurationKey] = [
        number("highPerHour", defaults.budgets.high.perHour, "High-priority updates and ends in an hour."),
        number("highPerDay", defaults.budgets.high.perDay, "The same in a day."),
        number(
            "frequentPerHour", defaults.budgets.highFrequent.perHour,
            "The same in an hour where the phone says `frequentPushesEnabled`."),
        number("frequentPerDay", defaults.budgets.highFrequent.perDay, "The same in a day where the phone says so."),
        number("startsPerHour", defaults.budgets.start.perHour, "Starts in an hour."),
        number("startsPerDay", defaults.budgets.start.perDay, "Starts in a day."),
        ConfigurationKey(
            "reserve", .scalar("0 to 90"), .defaulted("\(defaults.budgets.high.reserve)"),
            "Of a hundred high-priority pushes so many are kept for alerts and ends."),
    ]

    private static func number(_ name: String, _ value: Int, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("2 to 100000"), .defaulted("\(value)"), meaning)
    }

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

    static func duration(_ name: String, _ value: Duration, _ meaning: String) -> ConfigurationKey {
        ConfigurationKey(name, .scalar("duration"), .defaulted(Wording.duration(value)), meaning)
    }

    private static func oneOf<Case: CaseIterable & RawRepresentable>(_ type: Case.Type) -> String
    where Case.RawValue == String {
        let names = type.allCases.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }
}
