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
            guard phone.card.state.mayHaveCard else { return [] }
            if let channel = phone.card.channel {
                return [
                    DiagnosisFinding(
                        .channel, .note,
                        "the card shows what is sent to a broadcast channel: iOS gives it no update token",
                        fix: "send to the channel what the card is to show; the app starts it with a token if the "
                            + "server is to decide",
                        evidence: ["channel": .string(channel.text)])
                ]
            }
            return [
                DiagnosisFinding(
                    .updateTokenMissing, .waiting, "the card has no update token: nothing can be sent to it",
                    fix: "the app observes `pushTokenUpdates` of every activity from launch on and reports each token; "
                        + "of a card that a push started iOS may hold it back until the person taps Allow",
                    evidence: ["state": .string(phone.card.state.name)])
            ]
        }
        if let at = token.deadAt {
            return [
                DiagnosisFinding(
                    .updateTokenDead, .blocked, "APNs refused the update token: it is not used again",
                    fix: "the app reports the token that iOS hands out next; a 410 mostly means that the card is over",
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
                    fix: "the app observes `pushToStartTokenUpdates`, reads `pushToStartToken` at every launch, and "
                        + "reports the token for this type",
                    evidence: ["type": .string(activity.type)])
            ]
        }
        if let at = token.deadAt {
            return [
                DiagnosisFinding(
                    .startTokenDead, mayStart ? .blocked : .warning,
                    "APNs refused the push-to-start token, or it was given up: it is not used again",
                    fix: "the app reads `pushToStartToken` anew and reports it",
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
                    "\(token.missedStarts) starts through this token were accepted by APNs and not listed by the phone "
                        + "afterwards", fix: "the app reads `pushToStartToken` anew and reports it", evidence: evidence)
            )
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
                    "our estimate of high-priority pushes is used up: updates go out at low priority, which iOS "
                        + "delivers when it sees fit",
                    fix: "ask for `high` only where the person needs it at once; an app with frequent updates reports "
                        + "`frequentPushesEnabled`",
                    evidence: budget(high, phone.highBudget, opens)))
        }
        let starts = policy.budgets.start
        let nextStart = starts.opens(phone.startBudget, for: .ordinary, now: now)
        if nextStart > now, !phone.card.state.mayHaveCard {
            findings.append(
                DiagnosisFinding(
                    .startBudget, .waiting, "our estimate of the starts this phone lets through is used up",
                    evidence: budget(starts, phone.startBudget, nextStart)))
        }
        if let last = phone.card.lastHighAt, last + policy.highPriorityInterval > now {
            findings.append(
                DiagnosisFinding(
                    .highMinute, .note,
                    "the last high-priority push was just now: the next goes out at low priority, unless it brings an "
                        + "alert",
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
