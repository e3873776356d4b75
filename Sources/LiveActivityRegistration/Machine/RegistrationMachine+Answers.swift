internal import JSONText
internal import LiveActivityAPI

extension RegistrationMachine {
    /// Returns `true` if a call is still to be made. The shell asks just before it makes the call.
    ///
    /// A call that was decided while another person was signed in is not made, least of all with the next person's
    /// credential. A token that has changed since is not reported either.
    package mutating func isDue(_ number: Int, _ now: PhoneMoment) -> Bool {
        guard let call = line.call, call.number == number else { return false }
        var isNews = call.epoch == epoch
        if case .startToken(let type, let token) = call.purpose { isNews = isNews && memory.startTokens[type] == token }
        guard !isNews else { return true }
        line = .free
        pump(now)
        return false
    }

    /// Handles the result of a call.
    ///
    /// - Parameters:
    ///   - answer: `nil` if there was no answer in time.
    ///   - dice: A number from 0 up to 1, which spreads the retries of many phones.
    package mutating func answered(_ number: Int, _ answer: PhoneAnswer?, dice: Double, _ now: PhoneMoment) {
        guard let call = line.call, call.number == number else { return }
        line = .free
        if let date = answer?.date { offset = date * 1_000 + 500 - now.steady }
        guard let answer else {
            failed(.serverUnreachable, nil, dice, now)
            return pump(now)
        }
        switch answer.status {
        case 200..<300:
            if call.usesCredential, credential.isOwn { credential = .own(isUntried: false) }
            let body = (try? JSONValue(parsing: answer.body))?.object ?? [:]
            if let newer = body["supersededBy"]?.int, case .inventory = call.purpose {
                overtake(newer)
                failed(.callRefused, "superseded", dice, now)
                break
            }
            failures = 0
            keepCredential(body["credential"]?.string, of: call)
            confirm(call, DesiredStates.read(body), date: answer.date, now)
        // A server that answers with a redirect is not Islet.
        case 300..<400, 408, 425, 429, 500...: failed(.serverUnreachable, answer.code, dice, now)
        // A refused call for the previous person is not repeated.
        case _ where call.epoch != epoch: break
        case 401 where call.usesCredential: loseCredential()
        case 401, 403:
            let code = answer.code
            if case .device = call.purpose, code == "device_taken" { becomeAnother(dice) }
            failed(.credentialsRefused, code, dice, now)
        default: refused(call, answer.code, dice, now)
        }
        pump(now)
    }

    private mutating func keepCredential(_ credential: String?, of call: InFlight) {
        guard let credential, !credential.isEmpty, case .device = call.purpose, call.epoch == epoch,
            let user = memory.user
        else { return }
        self.credential = .own(isUntried: true)
        change { $0.isUnproven = false }
        act(.change(.keep(credential, of: user)))
    }

    /// Drops the phone's own credential, which the server refused. The next call uses the person's credential at once
    /// and asks for another of the phone's own.
    ///
    /// If the server never accepted the credential, the phone asks for no other one: something between the phone and
    /// the server may know only the person's.
    private mutating func loseCredential() {
        credentialsLost = credential == .own(isUntried: true) ? Self.mostLost : credentialsLost + 1
        credential = .none
        act(.change(.dropOwn))
        change { $0.confirmed = nil }
        tell(PhoneNote(.credentialsRefused))
    }

    /// `true` if the next device call asks for a credential of the phone's own.
    package var wantsCredential: Bool { !credential.isOwn && credentialsLost < Self.mostLost }

    /// The number of lost credentials after which a process keeps to the person's.
    private static let mostLost = 3

    /// Becomes another device, as after a new installation.
    ///
    /// The server has another person on this device and accepts no proof that the phone changed hands, because the
    /// proof was revoked or is too old. The first token of the new device tells the server that the previous device is
    /// gone.
    private mutating func becomeAnother(_ dice: Double) {
        let mark = String(UInt64(dice * 0x1p52), radix: 36)
        change {
            $0.device = String($0.device.prefix { $0 != "~" }) + "~" + mark
            $0.isUnproven = false
        }
        credential = .none
        act(.change(.dropOwn))
        forgetConfirmations()
    }

    /// Handles an inventory that changed nothing, because the server already has a newer one that the memory lost. The
    /// next inventory has a greater number.
    private mutating func overtake(_ newer: Int) {
        change {
            $0.sequence = max($0.sequence, min(newer, Self.lastSequence))
            $0.owesInventory = true
        }
    }

    /// The greatest sequence number. Any JSON reader can read it and count on from it.
    private static let lastSequence = 1 << 52

    private mutating func failed(_ code: PhoneNote.Code, _ detail: String?, _ dice: Double, _ now: PhoneMoment) {
        failures += 1
        let pause = min(limits.firstPause << min(failures - 1, 20), limits.longestPause)
        line = .pausing(until: now.steady + pause / 2 + Int(Double(pause) / 2 * dice))
        tell(PhoneNote(code, detail: detail))
    }

    /// Handles a refusal that an unchanged call would meet again.
    private mutating func refused(_ call: InFlight, _ code: String?, _ dice: Double, _ now: PhoneMoment) {
        switch (call.purpose, code) {
        case (.signOut, _):
            // The server does not know the device, so there is nothing to sign out.
            return confirm(call, [], date: nil, now)
        case (.startToken(let type, let token), "dead_token"):
            change { $0.bury(dead: token) }
            return tell(PhoneNote(.tokenDead, type: type, detail: "push-to-start \(token)"))
        case (.device(let request), "dead_token"):
            guard let token = request.deviceToken else { break }
            change { $0.bury(dead: token) }
            return tell(PhoneNote(.tokenDead, detail: "device \(token)"))
        case (_, "unknown_device"):
            // The server has forgotten this phone, so everything is reported again.
            forgetConfirmations()
        case (.device, _): break
        case (.announcement(let order), _):
            tell(PhoneNote(.callRefused, detail: code))
            return begin(order, isConfirmed: false, now)
        case (.inventory(let versions), _):
            // One refused card must not keep the others from the server, so each is reported by itself.
            change { $0.owesInventory = false }
            for localID in versions.keys { change(localID) { $0.confirmedVersion = 0 } }
            return tell(PhoneNote(.callRefused, detail: code))
        case (.startToken, _), (.card, _), (.withdrawal, _):
            settle(call, isTaken: false)
            return tell(PhoneNote(.callRefused, detail: code))
        }
        failed(.callRefused, code, dice, now)
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

    /// Notes that the call need not be repeated. Only what the server accepted counts as confirmed.
    private mutating func settle(_ call: InFlight, isTaken: Bool = true) {
        let isCurrent = call.round == round
        switch call.purpose {
        case .signOut:
            change {
                $0.isLeaving = false
                $0.isUnproven = false
                $0.leaver = nil
            }
            dropCredentials()
            tell(PhoneNote(.signedOut))
        case .device(let request):
            if isCurrent { change { $0.confirmed = request } }
            // The previous person has no card on the server any more either.
            change { $0.leaver = nil }
            if credential.isProof {
                credential = .none
                act(.change(.dropProof))
            }
            tell(PhoneNote(.deviceConfirmed))
            if let token = request.deviceToken { tell(PhoneNote(.tokenConfirmed, detail: "device \(token)")) }
        case .startToken(let type, let token):
            if isCurrent { change { $0.confirmedStartTokens[type] = token } }
            if isTaken { tell(PhoneNote(.tokenConfirmed, type: type, detail: "push-to-start \(token)")) }
        case .announcement: break
        case .withdrawal(let order): withdrawals.removeAll { $0.order == order }
        case .inventory(let versions):
            if isCurrent { change { $0.owesInventory = false } }
            for (localID, version) in versions { settleCard(localID, version, isTaken) }
        case .card(let localID, let version): settleCard(localID, version, isTaken)
        }
    }

    private mutating func settleCard(_ localID: String, _ version: Int, _ isTaken: Bool) {
        guard let card = memory.cards[localID] else { return }
        change(localID) { $0.confirmedVersion = max($0.confirmedVersion, version) }
        if isTaken {
            tell(PhoneNote(.activityConfirmed, type: card.type, activity: card.activity, localID: localID))
            if card.version == version, let token = card.token {
                tell(
                    PhoneNote(
                        .tokenConfirmed, type: card.type, activity: card.activity, localID: localID,
                        detail: "update \(token)"))
            }
        }
        guard !card.isRunning, card.version == version else { return }
        if card.state == .gone { change { $0.forgetLost() } } else { change { $0.bury(localID) } }
    }

    // MARK: - Desired states

    /// Brings the cards to what the server wants, if they still hold what they held when the call left.
    private mutating func apply(
        _ desired: [DesiredStatesAnswer.DesiredState], of call: InFlight, date: Int?, _ now: PhoneMoment
    ) {
        for wish in desired {
            endedActivities[Self.canonical(wish.activity)] = wish.phase == "ended" ? dismissal(wish, now) : nil
            name(wish)
            let running = memory.cards.filter {
                $0.value.isRunning && $0.value.type == wish.type && Self.isSame($0.value.activity, wish.activity)
            }
            if running.isEmpty { consider(wish, now) }
            for (localID, card) in running {
                // An answer does not overrule a change since the call left, and an update under way is finished first.
                guard let held = call.contents[localID], held == card.content, card.changes.isEmpty else { continue }
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
        bidFarewell(
            localID, content: wish.state.isEmpty ? nil : wish.state, dismissal(wish, now),
            timestamp: timestamp(for: localID, date, now))
        close(localID) { $0.state = .ended }
        tell(PhoneNote(.endApplied, type: wish.type, activity: wish.activity, localID: localID))
    }

    private func dismissal(_ wish: DesiredStatesAnswer.DesiredState, _ now: PhoneMoment) -> CardDismissal {
        // Without a last state the activity no longer concerns the person.
        guard !wish.state.isEmpty else { return .immediate }
        return unlessPast(wish.dismissAt.map(CardDismissal.at) ?? .systemDefault, now)
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
            // Without a token no push can change the stale date.
            guard card.token == nil, let staleAt = wish.staleAt, staleAt != card.staleAt else { return }
        } else {
            guard !isAhead(localID, of: wish, now), (card.revision ?? -1) < wish.revision,
                (tried[localID] ?? -1) < wish.revision
            else { return }
        }
        let timestamp = timestamp(for: localID, date, now)
        if card.token != nil, let timestamp, let second = date ?? serverSeconds(now),
            timestamp > second + limits.secondsAhead
        {
            return
        }
        ask(
            localID, wish.state, CardPresentation(staleAt: wish.staleAt, relevance: wish.relevance),
            timestamp: timestamp, revision: wish.revision, ahead: nil)
        tell(
            PhoneNote(
                .stateApplied, type: wish.type, activity: wish.activity, localID: localID,
                detail: "revision \(wish.revision)"))
    }

    /// Returns the server's time in seconds, or the next second that iOS accepts. iOS ignores what is older than what
    /// the card shows.
    private func timestamp(for localID: String, _ date: Int?, _ now: PhoneMoment) -> Int? {
        (date ?? serverSeconds(now)).map { max($0, (memory.cards[localID]?.newestTimestamp ?? 0) + 1) }
    }

    /// Takes over what the server knows of a card: its activity if the card does not name it, its start, and the newest
    /// timestamp of a push to it.
    private mutating func name(_ wish: DesiredStatesAnswer.DesiredState) {
        guard let localID = wish.localID, let card = memory.cards[localID], card.type == wish.type else { return }
        let pushed = wish.lastTimestamp.map { $0.milliseconds / 1_000 }
        change(localID) { card in
            card.activity = card.activity ?? wish.activity
            guard Self.isSame(card.activity, wish.activity) else { return }
            // For the two cards of a renewal the server knows one time. The older one belongs to the older card.
            card.begunAt = [card.begunAt, wish.startedAt].compactMap(\.self).min()
            card.pushedTimestamp = [card.pushedTimestamp, pushed].compactMap(\.self).max()
        }
    }

    /// Returns `true` while the app's own change is kept against the server's older state: for a limited time, or for
    /// good if the type says so.
    private mutating func isAhead(
        _ localID: String, of wish: DesiredStatesAnswer.DesiredState, _ now: PhoneMoment
    ) -> Bool {
        guard let ahead = memory.cards[localID]?.ahead else { return false }
        if let based = ahead.basedOn, wish.revision > based { return false }
        // The time of an earlier process's change is unknown, so its limited time begins with the first answer.
        let since = ahead.at ?? now.steady
        change(localID) { $0.ahead?.at = since }
        return rules[wish.type]?.isAppAuthority == true || now.steady - since < limits.aheadLease
    }
}

/// Reads the activities of an answer. It skips members that a newer server adds and entries that do not fit.
enum DesiredStates {
    static func read(_ body: JSONObject) -> [DesiredStatesAnswer.DesiredState] {
        (body["activities"]?.array ?? []).compactMap { state($0) }
    }

    /// Reads one activity. Returns `nil` if the value does not fit.
    static func state(_ value: JSONValue) -> DesiredStatesAnswer.DesiredState? {
        guard let object = value.object, let activity = object["activity"]?.string,
            let type = object["type"]?.string, let state = object["state"]?.object,
            let revision = object["revision"]?.int, let phase = object["phase"]?.string
        else { return nil }
        var wish = DesiredStatesAnswer.DesiredState(
            activity: activity, type: type, attributes: object["attributes"]?.object, state: state,
            revision: revision, phase: phase, staleAt: object["staleAt"]?.string.flatMap { Instant($0) })
        wish.relevance = object["relevance"]?.double
        wish.localID = object["localID"]?.string
        wish.channel = object["channel"]?.string
        wish.lastTimestamp = object["lastTimestamp"]?.string.flatMap { Instant($0) }
        wish.startedAt = object["startedAt"]?.string.flatMap { Instant($0) }
        wish.dismissAt = object["dismissAt"]?.string.flatMap { Instant($0) }
        return wish
    }
}
