import APNSModel
import JSONText

extension CardDiagnosis {
    /// Returns findings about the token that the next push needs: whether it exists, its length, and whether APNs still
    /// accepts it.
    func tokens(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        switch phone.card.state {
        case .live, .ending: updateToken(phone)
        case .absent, .requesting: startToken(phone)
        case .starting, .unconfirmed: startToken(phone) + updateToken(phone)
        case .ended, .dismissed, .gone: []
        }
    }

    private func updateToken(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let token = phone.updateToken else {
            // iOS gives a card on a broadcast channel no update token.
            guard phone.card.state.mayHaveCard, phone.card.subscription == nil else { return [] }
            return [
                DiagnosisFinding(
                    .updateTokenMissing, .waiting, "the card has no update token: nothing can be sent to it",
                    fix: "the app must observe `pushTokenUpdates` of every activity from launch on and report each "
                        + "token; iOS may hold back the token of a card that a push started until the person taps "
                        + "Allow",
                    evidence: ["state": .string(phone.card.state.name)])
            ]
        }
        if let at = token.deadAt {
            return [
                DiagnosisFinding(
                    .updateTokenDead, .blocked, "APNs refused the update token: it is not used again",
                    fix: "the app must report the next token from iOS; a 410 usually means that the card is over",
                    evidence: shape(token.value, token.environment, token.firstSeenAt, deadAt: at, why: phone))
            ]
        }
        return [
            DiagnosisFinding(
                .token, .note, "update token \(token.value), generation \(token.generation)",
                evidence: shape(token.value, token.environment, token.firstSeenAt))
        ] + headers(.liveactivity, token.environment)
    }

    private func startToken(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        let token = facts.deviceTokens.first { $0.kind == .pushToStart && $0.type == activity.type }
        let mayStart = activity.start == .ifPossible && activity.phase == .active
        guard let token else {
            guard mayStart, phone.card.state == .absent else { return [] }
            return [
                DiagnosisFinding(
                    .startTokenMissing, .blocked, "the phone reported no push-to-start token for `\(activity.type)`",
                    fix: "the app must observe `pushToStartTokenUpdates`, read `pushToStartToken` at every launch, and "
                        + "report the token for this type",
                    evidence: ["type": .string(activity.type)])
            ]
        }
        if let at = token.deadAt {
            return [
                DiagnosisFinding(
                    .startTokenDead, mayStart ? .blocked : .warning,
                    "APNs refused the push-to-start token, or it was given up: it is not used again",
                    fix: "the app must read `pushToStartToken` again and report it",
                    evidence: shape(token.value, token.environment, token.firstSeenAt, deadAt: at, why: phone))
            ]
        }
        var findings: [DiagnosisFinding] = []
        if token.missedStarts >= 2 {
            var evidence = shape(token.value, token.environment, token.firstSeenAt)
            evidence["missedStarts"] = .number(JSONNumber(token.missedStarts))
            findings.append(
                DiagnosisFinding(
                    .startTokenSuspect, .warning,
                    "APNs accepted \(token.missedStarts) starts through this token, but the phone did not list their "
                        + "cards afterwards",
                    fix: "the app must read `pushToStartToken` again and report it", evidence: evidence))
        }
        guard phone.updateToken == nil else { return findings }
        return findings
            + [
                DiagnosisFinding(
                    .token, .note, "push-to-start token \(token.value), generation \(token.generation)",
                    evidence: shape(token.value, token.environment, token.firstSeenAt))
            ] + headers(.liveactivity, token.environment)
    }

    /// Returns the length of a token and its first characters, never more. Apple gives tokens no fixed length.
    private func shape(
        _ value: TokenValue, _ environment: APNSEnvironment, _ seen: UnixTime, deadAt: UnixTime? = nil,
        why phone: PhoneSituation? = nil
    ) -> JSONObject {
        var evidence: JSONObject = [
            "token": .string(value.description), "digits": .number(JSONNumber(value.hex.utf8.count)),
            "environment": .string(environment.rawValue), "firstSeenAt": .string(seen.description),
        ]
        evidence["deadAt"] = deadAt.map { .string($0.description) }
        if deadAt != nil, let last = phone?.card.last {
            evidence["code"] = .string(last.reason.code.rawValue)
            evidence["status"] = .number(JSONNumber(last.status))
        }
        return evidence
    }

    private func headers(_ type: PushType, _ environment: APNSEnvironment) -> [DiagnosisFinding] {
        let topic = Topic(facts.app.bundleID, type)
        return [
            DiagnosisFinding(
                .headers, .note, "pushes go out as \(type.rawValue) for \(topic) in \(environment.rawValue)",
                evidence: [
                    "apns-push-type": .string(type.rawValue), "apns-topic": .string(topic.text),
                    "environment": .string(environment.rawValue),
                ])
        ]
    }

    // MARK: - Budgets

    func budgets(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let type else { return [] }
        let policy = type.policy
        var findings: [DiagnosisFinding] = []
        let high = policy.budgets.high(phone.device)
        let opens = high.opens(phone.highBudget, for: .ordinary, now: now)
        if opens > now {
            findings.append(
                DiagnosisFinding(
                    .highBudget, .warning,
                    "the phone's high-priority budget (an estimate) is used up: updates go out at low priority, which "
                        + "iOS delivers when it sees fit",
                    fix: "set `high` only for updates that the person needs at once; an app with frequent updates must "
                        + "report `frequentPushesEnabled`",
                    evidence: budget(high, phone.highBudget, opens)))
        }
        let starts = policy.budgets.start
        let nextStart = starts.opens(phone.startBudget, for: .ordinary, now: now)
        if nextStart > now, !phone.card.state.mayHaveCard {
            findings.append(
                DiagnosisFinding(
                    .startBudget, .waiting, "the phone's start budget (an estimate) is used up",
                    evidence: budget(starts, phone.startBudget, nextStart)))
        }
        if let last = phone.card.lastHighAt, last + policy.highPriorityInterval > now {
            findings.append(
                DiagnosisFinding(
                    .highMinute, .note,
                    "the last high-priority push was just now: the next goes out at low priority, unless it carries "
                        + "an alert",
                    evidence: ["until": .string((last + policy.highPriorityInterval).description)]))
        }
        return findings
    }

    private func budget(_ limit: BudgetLimit, _ record: BudgetRecord?, _ opens: UnixTime) -> JSONObject {
        let used = limit.used(record, now: now)
        return [
            "usedOfHour": .number(JSONNumber(used.hour)), "usedOfDay": .number(JSONNumber(used.day)),
            "perHour": .number(JSONNumber(limit.perHour)), "perDay": .number(JSONNumber(limit.perDay)),
            "opensAt": .string(opens.description), "estimate": .bool(true),
        ]
    }
}
