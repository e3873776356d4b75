import APNSModel
import JSONText
import LiveActivityAPI
import LiveActivityCore
import LiveActivityServer

/// Converts the policy of a type from its written form to the reconciler's form.
struct PolicyBuilder {
    /// Time zones of the system, looked up once for all types.
    static let zones = ZoneDirectory()
    /// Maximum time for which the system keeps an ended card.
    static let longestDismissal = Duration.seconds(4 * 3600)

    let file: String
    let problems: ConfigurationProblems

    func policy(_ given: ConfigurationFile.Policy?, _ place: String) throws(ConfigurationError) -> TypePolicy {
        var policy = TypePolicy()
        guard let given else { return policy }
        durations(given, &policy, place)
        budgets(given.budgets, &policy.budgets, "\(place)/budgets")
        policy.isReusable = given.reusable ?? false
        policy.renewal = given.renewal ?? policy.renewal
        if let start = given.start { policy.start = ActivityRecord.StartMode(rawValue: start.rawValue) ?? policy.start }
        if let restart = given.restart {
            policy.restart = ActivityRecord.Restart(rawValue: restart.rawValue) ?? policy.restart
        }
        policy.join = word(given.join, "\(place)/join") ?? policy.join
        policy.delivery = word(given.delivery, "\(place)/delivery") ?? policy.delivery
        policy.channelStorage = storage(given.channelStorage, "\(place)/channelStorage") ?? policy.channelStorage
        policy.channelAlerts = word(given.channelAlerts, "\(place)/channelAlerts") ?? policy.channelAlerts
        policy.authority = word(given.authority, "\(place)/authority") ?? policy.authority
        policy.atCeiling = word(given.atCeiling, "\(place)/atCeiling") ?? policy.atCeiling
        policy.ceiling = number(given.ceiling, 1...100, "\(place)/ceiling") ?? policy.ceiling
        policy.quietHours = given.quietHours.flatMap { quietHours($0, "\(place)/quietHours") }
        if let rule = given.highWhen {
            policy.highWhen = TypePolicy.HighWhen(
                pointer: try pointer(rule.pointer, "\(place)/highWhen/pointer"), values: rule.values)
        }
        if let alert = given.startAlert {
            policy.startAlert = try template(alert, "\(place)/startAlert")
        }
        if let alert = given.fallback {
            policy.fallback = try template(alert, "\(place)/fallback")
        }
        return policy
    }

    /// Checks that a policy with starts by push has an alert for them.
    ///
    /// - Throws: A problem at `startAlert` if it is missing.
    func checkStart(_ policy: TypePolicy, _ place: String) throws(ConfigurationError) {
        guard policy.start == .ifPossible, policy.startAlert == nil else { return }
        throw problem(
            "\(place)/startAlert",
            "missing: APNs accepts a start without an alert, but the phone drops it silently; give `title` and `body`, "
                + "or set `start` to appOnly")
    }

    private func storage(_ given: String?, _ place: String) -> MessageStoragePolicy? {
        switch given {
        case nil: return nil
        case "mostRecent": return .mostRecent
        case "none": return MessageStoragePolicy.none
        case .some:
            note(place, "mostRecent or none")
            return nil
        }
    }

    private func durations(_ given: ConfigurationFile.Policy, _ policy: inout TypePolicy, _ place: String) {
        policy.coalescingWindow = given.coalescingWindow?.duration ?? policy.coalescingWindow
        if !(.seconds(1)...ActivityRecord.longestHold ~= policy.coalescingWindow) {
            note("\(place)/coalescingWindow", "1s to 5m: the timestamps of pushes have whole seconds")
        }
        if let endAfter = given.endAfter?.duration {
            policy.endAfter = endAfter == .zero ? nil : endAfter
            if endAfter > .zero, endAfter < .seconds(3600) {
                note("\(place)/endAfter", "at least 1h, or 0s for never")
            }
        }
        policy.startGrace = given.startGrace?.duration ?? policy.startGrace
        policy.startWindow = given.startWindow?.duration ?? policy.startWindow
        policy.startStaleAfter = given.startStaleAfter?.duration ?? policy.startStaleAfter
        if policy.startStaleAfter <= policy.startWindow {
            note(
                "\(place)/startStaleAfter",
                "longer than startWindow (\(Wording.duration(policy.startWindow))): a start that arrives after its "
                    + "stale date is never shown")
        }
        policy.staleAfter = given.staleAfter?.duration
        if let staleAfter = policy.staleAfter, staleAfter < .seconds(10) {
            note("\(place)/staleAfter", "at least 10s: a push may take that long")
        }
        policy.dismissAfter = given.dismissAfter?.duration
        if let dismissAfter = policy.dismissAfter, dismissAfter > Self.longestDismissal {
            note("\(place)/dismissAfter", "at most 4h: after that the system removes an ended card itself")
        }
        policy.highPriorityInterval = given.highPriorityInterval?.duration ?? policy.highPriorityInterval
    }

    private func budgets(_ given: ConfigurationFile.Budgets?, _ policy: inout BudgetPolicy, _ place: String) {
        guard let given else { return }
        func limit(_ limit: inout BudgetLimit, _ hour: Int?, _ day: Int?, _ names: (String, String)) {
            limit.perHour = number(hour, 2...100_000, "\(place)/\(names.0)") ?? limit.perHour
            limit.perDay = number(day, 2...100_000, "\(place)/\(names.1)") ?? limit.perDay
            if limit.perDay < limit.perHour {
                note("\(place)/\(names.1)", "at least \(names.0) (\(limit.perHour)): an hour is part of a day")
            }
        }
        limit(&policy.high, given.highPerHour, given.highPerDay, ("highPerHour", "highPerDay"))
        limit(&policy.highFrequent, given.frequentPerHour, given.frequentPerDay, ("frequentPerHour", "frequentPerDay"))
        limit(&policy.start, given.startsPerHour, given.startsPerDay, ("startsPerHour", "startsPerDay"))
        if let reserve = number(given.reserve, 0...90, "\(place)/reserve") {
            policy.high.reserve = reserve
            policy.highFrequent.reserve = reserve
        }
    }

    private func quietHours(_ given: ConfigurationFile.QuietHours, _ place: String) -> QuietHours? {
        func time(_ text: String, _ name: String) -> TimeOfDay? {
            guard let time = TimeOfDay(text) else {
                note("\(place)/\(name)", "`\(text)` is not a time of day such as 22:00")
                return nil
            }
            return time
        }
        let (from, to) = (time(given.from, "from"), time(given.to, "to"))
        if let zone = given.zone, Self.zones.rules(of: zone) == nil {
            note("\(place)/zone", "`\(zone)` is not a time zone such as Europe/Berlin")
        }
        guard let from, let to else { return nil }
        guard from != to else {
            note("\(place)/to", "the same as `from`: no card would ever be started, or any; set `start` for the former")
            return nil
        }
        return QuietHours(
            from: from, to: to, zone: given.zone, holdsAlerts: given.holdAlerts ?? false, zones: Self.zones)
    }

    private func number(_ given: Int?, _ range: ClosedRange<Int>, _ place: String) -> Int? {
        guard let given else { return nil }
        guard range.contains(given) else {
            note(place, "a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return given
    }

    private func word<Word: RawRepresentable & CaseIterable>(_ given: String?, _ place: String) -> Word?
    where Word.RawValue == String {
        guard let given else { return nil }
        guard let word = Word(rawValue: given) else {
            note(place, "one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
            return nil
        }
        return word
    }

    private func note(_ place: String, _ text: String) { problems.note(problem(place, text)) }

    private func problem(_ place: String, _ text: String) -> ConfigurationError {
        ConfigurationError(file: file, pointer: place, problem: text)
    }

    func pointer(_ text: String, _ place: String) throws(ConfigurationError) -> JSONPointer {
        do throws(JSONPointerError) {
            return try JSONPointer(text)
        } catch {
            throw problem(place, error.detail)
        }
    }

    private func template(
        _ alert: ConfigurationFile.Alert, _ place: String
    ) throws(ConfigurationError) -> AlertTemplate {
        let title = try text(alert.title, "\(place)/title")
        let body = try alert.body.map { body throws(ConfigurationError) in try text(body, "\(place)/body") }
        do throws(AlertTemplateError) {
            return try AlertTemplate(title: title, body: body, sound: alert.sound)
        } catch {
            throw problem("\(place)/title", error.description)
        }
    }

    private func text(_ text: AlertText, _ place: String) throws(ConfigurationError) -> AlertTemplate.Text {
        do throws(AlertTemplateError) {
            switch text {
            case .text(let text): return .text(try Phrase(text))
            case .localized(let key, let arguments):
                var phrases: [Phrase] = []
                for argument in arguments { phrases.append(try Phrase(argument)) }
                return .localized(key: key, arguments: phrases)
            }
        } catch {
            throw problem(place, error.description)
        }
    }
}
