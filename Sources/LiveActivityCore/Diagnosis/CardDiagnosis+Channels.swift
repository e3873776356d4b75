import APNSModel
import JSONText

extension CardDiagnosis {
    /// Returns findings about the phone's route: the broadcast channel of its card, or the cause of its update token.
    func route(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        switch phone.card.state {
        case .starting, .unconfirmed, .live, .ending:
            guard phone.updateToken == nil, let id = phone.card.subscription else { return byToken(phone) }
            return onChannel(id, phone)
        case .absent, .requesting:
            guard activity.phase == .active, activity.start != .never else { return [] }
            return byToken(phone) + awaited(phone)
        case .ended, .dismissed, .gone: return []
        }
    }

    // MARK: - On a channel

    private func onChannel(_ id: ChannelID, _ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let channel = card.channels.first(where: { $0.id == id }) else {
            return [
                DiagnosisFinding(
                    .channel, .note,
                    "the card is on a broadcast channel that the server does not send to: one of the app's own, or one "
                        + "that is gone",
                    fix: "send the card's states to the channel, if it is the app's own; or let the app start the card "
                        + "with an update token, so that the server updates it",
                    evidence: ["channel": .string(id.text)])
            ]
        }
        var evidence = evidence(of: channel)
        evidence["channel"] = .string(id.text)
        let cause = start(of: phone, .firstOnChannel)?.channelCause
        evidence["cause"] = cause.map { .string($0.rawValue) }
        let what =
            channel.key.run == activity.run
            ? "the card is on the activity's broadcast channel, which brings it every state: it needs no update token"
            : "the card is on the broadcast channel of an earlier run of the activity, which brings it that run's end"
        return [
            DiagnosisFinding(.serverChannel, .note, what, evidence: evidence)
        ] + failure(of: channel)
    }

    /// Finding about the channel on which the phone's card would start.
    private func awaited(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let desired, desired.type.policy.delivery != .token, phone.device.takesChannels else { return [] }
        let environment = phone.pushToStartToken?.environment ?? phone.device.environment ?? .production
        guard let channel = desired.channel(in: environment) else { return [] }
        return failure(of: channel)
    }

    /// Finding about the last failure or refusal of an operation on the channel, which is tried again.
    private func failure(of channel: ChannelRecord) -> [DiagnosisFinding] {
        guard let reason = channel.reason else { return [] }
        let fix = ChannelStanding(channel, of: activity, in: facts.app, now: now).fix
        // `auto` starts cards with update tokens meanwhile.
        let isReplaced = channel.id == nil && type?.policy.delivery == .auto
        var evidence = evidence(of: channel)
        evidence["code"] = .string(reason.code.rawValue)
        evidence["tries"] = .number(JSONNumber(channel.tries))
        evidence["until"] = channel.retryAt.map { .string($0.description) }
        return [
            DiagnosisFinding(
                .channelWaits, isReplaced ? .warning : fix == nil ? .waiting : .blocked,
                "the activity's broadcast channel waits: \(reason.text)", fix: fix,
                evidence: evidence)
        ]
    }

    private func evidence(of channel: ChannelRecord) -> JSONObject {
        [
            "environment": .string(channel.key.environment.rawValue), "run": .number(JSONNumber(channel.key.run)),
            "wanted": .number(JSONNumber(Int(activity.revision))),
            "sent": .number(JSONNumber(Int(channel.sentRevision))),
        ]
    }

    // MARK: - By token

    private func byToken(_ phone: PhoneSituation) -> [DiagnosisFinding] {
        guard let cause = cause(phone) else { return [] }
        let what = phone.card.state.mayHaveCard ? "the card has" : "a card that starts now gets"
        return [
            DiagnosisFinding(
                .byToken, .note, "\(what) an update token, because \(cause.text)",
                evidence: ["cause": .string(cause.rawValue), "phones": .number(JSONNumber(card.phones))])
        ]
    }

    /// Returns why the phone's card has an update token, although the type's `delivery` takes channels.
    ///
    /// The cause is decided when a card starts, so the start in the timeline tells it. If the timeline does not reach
    /// back to the start, or if the app started the card, the cause that holds now is returned.
    private func cause(_ phone: PhoneSituation) -> TokenCause? {
        if phone.card.state.mayHaveCard, let reason = start(of: phone, .firstState) { return reason.tokenCause }
        guard case .token(let cause)? = desired?.routeOfApp(on: phone.device) else { return nil }
        return cause
    }

    /// Returns the reason of the start of the phone's card, if the timeline reaches back to it.
    private func start(of phone: PhoneSituation, _ code: Reason.Code) -> Reason? {
        let began = phone.card.run == activity.run ? activity.runStartedAt : .distantPast
        return card.history.first { $0.kind == .start && $0.reason?.code == code && $0.at >= began }?.reason
    }
}
