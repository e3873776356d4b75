internal import JSONText
internal import LiveActivityAPI

extension RegistrationMachine {
    /// What came of a call.
    ///
    /// - Parameters:
    ///   - answer: `nil` when there was none in time.
    ///   - dice: 0 up to 1: spreads the tries of many phones.
    package mutating func answered(_ number: Int, _ answer: PhoneAnswer?, dice: Double, _ now: PhoneMoment) {
        guard let call = inFlight, call.number == number else { return }
        inFlight = nil
        if let date = answer?.date { offset = date * 1_000 + 500 - now.wall }
        guard let answer else {
            failed(.serverUnreachable, nil, dice, now)
            return pump(now)
        }
        switch answer.status {
        case 200..<300:
            failures = 0
            nextAttempt = Int.min
            confirm(call, DesiredStates.read(answer.body), date: answer.date, now)
        case 401, 403: failed(.credentialsRefused, Self.code(of: answer), dice, now)
        case 408, 425, 429, 500...: failed(.serverUnreachable, Self.code(of: answer), dice, now)
        default: refused(call, Self.code(of: answer), dice, now)
        }
        pump(now)
    }

    private mutating func failed(_ code: PhoneNote.Code, _ detail: String?, _ dice: Double, _ now: PhoneMoment) {
        failures += 1
        let pause = min(limits.firstPause << min(failures - 1, 20), limits.longestPause)
        nextAttempt = now.steady + pause / 2 + Int(Double(pause) / 2 * dice)
        tell(PhoneNote(code, detail: detail))
    }

    /// A refusal that the same words would meet again.
    private mutating func refused(_ call: InFlight, _ code: String?, _ dice: Double, _ now: PhoneMoment) {
        switch (call.purpose, code) {
        case (.signOut, _):
            // A device that the server does not know has nothing to take back.
            return confirm(call, [], date: nil, now)
        case (.startToken(let type, let token), "dead_token"):
            change { $0.bury(dead: token) }
            return tell(PhoneNote(.tokenDead, type: type, detail: "push-to-start \(token)"))
        case (.device(let request), "dead_token"):
            guard let token = request.deviceToken else { break }
            change { $0.bury(dead: token) }
            return tell(PhoneNote(.tokenDead, detail: "device \(token)"))
        case (_, "unknown_device"):
            // The server has forgotten this phone: it is told everything again.
            forgetConfirmations()
        case (.device, _): break
        case (.announcement(let order), _):
            tell(PhoneNote(.callRefused, detail: code))
            return begin(order, isConfirmed: false, now)
        case (.startToken, _), (.inventory, _), (.card, _):
            tell(PhoneNote(.callRefused, detail: code))
            return settle(call)
        }
        failed(.callRefused, code, dice, now)
    }

    private static func code(of answer: PhoneAnswer) -> String? {
        (try? JSONValue(parsing: answer.body))?.object?["code"]?.string
    }

    // MARK: - Confirmation

    private mutating func confirm(
        _ call: InFlight, _ desired: [DesiredStatesAnswer.DesiredState], date: Int?, _ now: PhoneMoment
    ) {
        guard call.epoch == epoch else { return }
        settle(call)
        if case .signOut = call.purpose { return }
        apply(desired, of: call, date: date, now)
        if case .announcement(let order) = call.purpose { decide(order, sentAt: call.sentAt, desired, now) }
    }

    /// What was said need not be said again.
    private mutating func settle(_ call: InFlight) {
        let isCurrent = call.round == round
        switch call.purpose {
        case .signOut:
            change { $0.isLeaving = false }
            tell(PhoneNote(.signedOut))
        case .device(let request):
            if isCurrent { change { $0.confirmed = request } }
            tell(PhoneNote(.deviceConfirmed))
            if let token = request.deviceToken { tell(PhoneNote(.tokenConfirmed, detail: "device \(token)")) }
        case .startToken(let type, let token):
            if isCurrent { change { $0.confirmedStartTokens[type] = token } }
            tell(PhoneNote(.tokenConfirmed, type: type, detail: "push-to-start \(token)"))
        case .announcement: break
        case .inventory(let versions):
            if isCurrent { change { $0.owesInventory = false } }
            for (localID, version) in versions { confirmCard(localID, version) }
        case .card(let localID, let version): confirmCard(localID, version)
        }
    }

    private mutating func confirmCard(_ localID: String, _ version: Int) {
        guard let card = memory.cards[localID] else { return }
        change(localID) { $0.confirmedVersion = max($0.confirmedVersion, version) }
        let note = PhoneNote(.cardConfirmed, type: card.type, activity: card.activity, localID: localID)
        tell(note)
        if card.version == version, let token = card.token {
            tell(
                PhoneNote(
                    .tokenConfirmed, type: card.type, activity: card.activity, localID: localID,
                    detail: "update \(token)"))
        }
        if !card.isRunning, card.version == version { change { $0.bury(localID) } }
    }

    // MARK: - Desired states

    /// Brings the cards to what the server wants, as far as they still hold what they held when the call left.
    private mutating func apply(
        _ desired: [DesiredStatesAnswer.DesiredState], of call: InFlight, date: Int?, _ now: PhoneMoment
    ) {
        for wish in desired {
            if wish.phase == "ended" {
                endedActivities.insert(wish.activity)
            } else {
                endedActivities.remove(wish.activity)
            }
            let running = memory.cards.filter {
                $0.value.isRunning && $0.value.type == wish.type && $0.value.activity == wish.activity
            }
            if running.isEmpty { consider(wish, now) }
            for (localID, card) in running {
                guard let held = call.contents[localID], held == card.content else { continue }
                if wish.phase == "ended" {
                    end(localID, wish, date: date, now)
                } else {
                    adopt(localID, wish, date, now)
                }
            }
        }
    }

    private mutating func end(
        _ localID: String, _ wish: DesiredStatesAnswer.DesiredState, date: Int?, _ now: PhoneMoment
    ) {
        // Without a last state the person has no part in it any more.
        end(
            localID, content: wish.state.isEmpty ? nil : wish.state, isImmediate: wish.state.isEmpty,
            timestamp: date ?? serverSeconds(now))
        change(localID) { card in
            card.state = .ended
            card.token = nil
            card.version += 1
        }
        tell(PhoneNote(.endApplied, type: wish.type, activity: wish.activity, localID: localID))
    }

    private mutating func adopt(
        _ localID: String, _ wish: DesiredStatesAnswer.DesiredState, _ date: Int?, _ now: PhoneMoment
    ) {
        guard let card = memory.cards[localID] else { return }
        if card.content == wish.state {
            change(localID) { card in
                card.revision = wish.revision
                card.ahead = nil
            }
            // Without a token no push can move the stale date.
            guard card.token == nil, let staleAt = wish.staleAt, staleAt != card.staleAt else { return }
        } else {
            guard !isAhead(card, of: wish, now), (card.revision ?? -1) < wish.revision else { return }
        }
        let timestamp = (date ?? serverSeconds(now)).map { max($0, (card.lastTimestamp ?? 0) + 1) }
        change(localID) { card in
            if card.content != wish.state { card.version += 1 }
            card.content = wish.state
            card.revision = wish.revision
            card.staleAt = wish.staleAt
            card.ahead = nil
            card.lastTimestamp = timestamp ?? card.lastTimestamp
        }
        echoing[localID] = wish.state
        act(.update(localID: localID, content: wish.state, staleAt: wish.staleAt, timestamp: timestamp))
        tell(
            PhoneNote(
                .stateApplied, type: wish.type, activity: wish.activity, localID: localID,
                detail: "revision \(wish.revision)"))
    }

    /// The app's own change stands against what the server had before: for a while or, if the type says so, for good.
    private func isAhead(
        _ card: CardMemory, of wish: DesiredStatesAnswer.DesiredState, _ now: PhoneMoment
    ) -> Bool {
        guard let ahead = card.ahead else { return false }
        if let based = ahead.basedOn, wish.revision > based { return false }
        return rules[card.type]?.isAppAuthority == true || now.wall - ahead.at < limits.aheadLease
    }
}

/// Reads what a call answered. What a newer server adds is passed over, and so is what does not fit.
enum DesiredStates {
    static func read(_ body: [UInt8]) -> [DesiredStatesAnswer.DesiredState] {
        let activities = (try? JSONValue(parsing: body))?.object?["activities"]?.array ?? []
        return activities.compactMap { value in
            guard let object = value.object, let activity = object["activity"]?.string,
                let type = object["type"]?.string, let state = object["state"]?.object,
                let revision = object["revision"]?.int, let phase = object["phase"]?.string
            else { return nil }
            return DesiredStatesAnswer.DesiredState(
                activity: activity, type: type, attributes: object["attributes"]?.object, state: state,
                revision: revision, phase: phase, staleAt: object["staleAt"]?.string.flatMap { Instant($0) })
        }
    }
}
