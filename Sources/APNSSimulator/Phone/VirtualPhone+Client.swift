internal import APNSModel
internal import IsletBasics
internal import JSONText
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// The app's process. It runs the decisions of `LiveActivityClient`. This extension is its thin shell, like the
/// ActivityKit edge on a real phone.
extension VirtualPhone {
    // MARK: The process

    /// Starts the process, which reads everything, as the client does at launch.
    mutating func launchClient(at local: UnixTime) {
        guard client == nil else { return }
        processes += 1
        listsCardsFrom = listsCardsAfter > .zero ? trueTime(local) + listsCardsAfter : nil
        client = RegistrationMachine(disk, types: clientRules, limits: clientLimits, credentials: keychain)
        let isForeground = profile.appState == .foreground
        tellClient(at: local) { $0.setForeground(isForeground, $1) }
        identify(at: local)
        lookAgain(at: local)
    }

    /// Ends the process. What was not written to disk is forgotten.
    mutating func killClient() {
        client = nil
    }

    /// Runs the client if it is due.
    mutating func tick(at local: UnixTime) {
        guard let wake = client?.nextWake, wake <= trueTime(local).milliseconds else { return }
        tellClient(at: local) { $0.tick($1) }
    }

    /// Reads everything that can be read: who is signed in, the switches, tokens, and every card.
    mutating func lookAgain(at local: UnixTime) {
        tellFacts(at: local)
        tellStartToken(at: local)
        tellNews(at: local)
        let all = listedCards(at: local).map { seen(cards[$0]) }
        tellClient(at: local) { $0.see(all: all, $1) }
    }

    /// Returns the indexes of the cards that iOS would list to the app now.
    private func listedCards(at local: UnixTime) -> Range<Int> {
        listsCardsFrom.map { trueTime(local) < $0 } == true ? 0..<0 : cards.indices
    }

    mutating func identify(at local: UnixTime) {
        let user = profile.user
        tellClient(at: local) { user.isEmpty ? $0.signOut($1) : $0.signIn(user, $1) }
    }

    mutating func tellFacts(at local: UnixTime) {
        let facts = facts
        tellClient(at: local) { $0.see(facts, $1) }
    }

    mutating func tellStartToken(at local: UnixTime) {
        guard let token = pushToStartToken.flatMap({ TokenText($0.hex) }) else { return }
        let types = profile.activityTypes.map(\.type)
        tellClient(at: local) { machine, now in
            for type in types { machine.see(startToken: token, for: type, now) }
        }
    }

    /// Tells the client what happened to cards since the app looked last, in iOS's order.
    mutating func tellNews(at local: UnixTime) {
        // The client's reaction to one card may change the others.
        for localID in dismissed.filter(\.isUnnoticed).map(\.localID) {
            guard let index = dismissed.firstIndex(where: { $0.localID == localID }) else { continue }
            dismissed[index].isUnnoticed = false
            let card = dismissed[index]
            // A card that nobody saw go is missing from the next look at all cards.
            guard card.wasWitnessed else { continue }
            var last = seen(card)
            last.state = card.ending == .person || card.ending == .settings ? .dismissed : .ended
            if card.ending == .settings { tellFacts(at: local) }
            tellClient(at: local) { $0.see(last, $1) }
        }
        for localID in cards.filter(\.isUnnoticed).map(\.localID) {
            guard let index = cards.firstIndex(where: { $0.localID == localID }) else { continue }
            cards[index].isUnnoticed = false
            let card = seen(cards[index])
            tellClient(at: local) { $0.see(card, $1) }
        }
    }

    /// Gives the client the answer to a call, or none. A process that ended meanwhile does not get it.
    mutating func answer(_ number: Int, _ answer: PhoneAnswer?, at now: UnixTime) -> [PhoneEffect] {
        let local = local(now)
        settle(to: local)
        let fraction = dice.fraction()
        tellClient(at: local) { $0.answered(number, answer, dice: fraction, $1) }
        restIfKilled()
        return takeEffects()
    }

    /// Passes an event to the machine and performs its actions, until there are no more.
    mutating func tellClient(at local: UnixTime, _ body: (inout RegistrationMachine, PhoneMoment) -> Void) {
        guard client != nil else { return }
        var queue = ask(at: local, body)
        while !queue.isEmpty, client != nil {
            let action = queue.removeFirst()
            queue += carryOut(action, at: local)
        }
    }

    private mutating func ask(
        at local: UnixTime, _ body: (inout RegistrationMachine, PhoneMoment) -> Void
    ) -> [ClientAction] {
        guard var machine = client else { return [] }
        body(&machine, moment(local))
        let actions = machine.takeActions()
        // The memory is saved before any action follows from it.
        if actions.contains(.save) { disk = machine.memory }
        client = machine
        return actions
    }

    func moment(_ local: UnixTime) -> PhoneMoment {
        PhoneMoment(wall: Int(local.milliseconds), steady: Int(trueTime(local).milliseconds))
    }

    /// Asks the client for a card, on behalf of the app.
    mutating func orderCard(_ start: PhoneAction.LocalStart, at local: UnixTime) throws(SimulatorError) {
        guard let type = profile.activityTypes.first(where: { $0.name == start.attributesType }) else {
            throw SimulatorError(.actionRefused, "the app has no ActivityAttributes type of that name")
        }
        var order = CardOrder(
            type: type.type, activity: start.activity ?? type.activity(in: start.attributes),
            attributes: start.attributes, content: start.contentState,
            staleAt: start.staleDate.flatMap { Instant(milliseconds: Int($0.milliseconds)) },
            relevance: start.relevance)
        order.channel = start.channel?.text
        tellClient(at: local) { _ = $0.start(order, $1) }
    }

    // MARK: What it does

    private mutating func carryOut(
        _ action: ClientAction, at local: UnixTime
    ) -> [ClientAction] {
        switch action {
        case .save: break
        case .look: lookAgain(at: local)
        case .tell(let note):
            notes.append(note)
            if notes.count > DeviceLimits.remembered { notes.removeFirst() }
        case .change(let change): keychain.apply(change)
        case .send(let call):
            // As in the client, a call that was decided before all events were told is not sent any more.
            var isDue = false
            let instead = ask(at: local) { isDue = $0.isDue(call.number, $1) }
            guard isDue else { return instead }
            // As in the client, a borrowed credential is used until it is dropped.
            if keychain.own == nil, keychain.borrowed == nil, !profile.user.isEmpty {
                keychain.borrow(profile.user, of: client?.memory.user)
            }
            if hasBackend { effects.append(.call(call, keychain)) }
        case .start, .update, .end:
            // A process may end at any moment, and what it asked for may have been done all the same.
            let death = self.death
            self.death = nil
            if death == .beforeItIsDone || (death == .beforeItHears && !action.isStart) { stop(.killed) }
            return death == .beforeItIsDone ? [] : change(action, dies: death != nil, at: local)
        }
        return []
    }

    /// Changes a card as iOS does, and tells the process about it, if there is one.
    private mutating func change(_ action: ClientAction, dies: Bool, at local: UnixTime) -> [ClientAction] {
        switch action {
        case .start(let number, let order):
            do throws(SimulatorError) {
                let card = try makeCard(order, at: local)
                if dies { stop(.killed) }
                return ask(at: local) { $0.started(number, card, $1) }
            } catch {
                let (words, isHidden) = (error.detail, profile.appState != .foreground)
                return ask(at: local) { $0.notStarted(number, words, isHidden: isHidden, $1) }
            }
        case .update(let change, let localID, let content, let presentation, let timestamp):
            guard let index = listedCards(at: local).first(where: { cards[$0].localID == localID }),
                cards[index].state.isRunning
            else {
                return ask(at: local) { $0.lost(localID, $1) }
            }
            apply(content, presentation, timestamp, to: index, at: local)
            let card = seen(cards[index])
            return ask(at: local) { $0.updated(change, card, $1) }
        case .end(let localID, let content, let dismissal, let timestamp):
            guard let index = listedCards(at: local).first(where: { cards[$0].localID == localID }) else {
                return ask(at: local) { $0.lost(localID, $1) }
            }
            return end(index, content, dismissal, timestamp, at: local)
        case .save, .change, .send, .look, .tell: return []
        }
    }

    /// Ends a card by the app. For a card that is over, it changes the time at which the card leaves the lock screen.
    private mutating func end(
        _ index: Int, _ content: JSONObject?, _ dismissal: CardDismissal, _ timestamp: Int?, at local: UnixTime
    ) -> [ClientAction] {
        let isOver = !cards[index].state.isRunning
        if !isOver { apply(content, .init(), timestamp, to: index, at: local) }
        var card = seen(cards[index])
        card.state = .ended
        let latest = (cards[index].endedAt ?? local) + limits.shownAfterEndFor
        let dismissesAt =
            switch dismissal {
            case .immediate: local
            case .systemDefault: latest
            case .at(let date): min(max(UnixTime(milliseconds: Int64(date.milliseconds)), local), latest)
            }
        if !isOver {
            end(index, because: .app, at: local, dismissesAt: dismissesAt)
        } else if dismissesAt <= local {
            dismiss(index)
        } else {
            cards[index].dismissesAt = dismissesAt
        }
        return ask(at: local) { $0.see(card, $1) }
    }

    /// Applies a local change as ActivityKit does. A change older than what the card shows is ignored.
    private mutating func apply(
        _ content: JSONObject?, _ presentation: CardPresentation, _ timestamp: Int?, to index: Int, at local: UnixTime
    ) {
        let time = timestamp.map { UnixTime(seconds: Int64($0)) } ?? UnixTime(seconds: local.seconds)
        guard let content, time >= cards[index].timestamp,
            let type = profile.activityTypes.first(where: { $0.name == cards[index].attributesType }),
            type.mistake(inContentState: content) == nil
        else { return }
        cards[index].contentState = content
        cards[index].timestamp = time
        cards[index].updatedAt = local
        cards[index].staleDate = presentation.staleAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
        if let relevance = presentation.relevance { cards[index].relevance = relevance }
        cards[index].state = cards[index].staleDate.map { $0 <= local } == true ? .stale : .active
        effects.append(.changed)
    }

    private mutating func makeCard(_ order: CardOrder, at local: UnixTime) throws(SimulatorError) -> SeenCard {
        guard let type = profile.activityTypes.first(where: { $0.type == order.type }) else {
            throw SimulatorError(.actionRefused, "the app has no such type")
        }
        let start = PhoneAction.LocalStart(
            attributesType: type.name, attributes: order.attributes, contentState: order.content,
            activity: order.activity,
            staleDate: order.staleAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) },
            relevance: order.relevance ?? 0, channel: order.channel.flatMap { ChannelID($0) })
        let index = try addCard(start, at: local)
        issueUpdateToken(index)
        return seen(cards[index])
    }

    // MARK: Forms

    func seen(_ card: Card) -> SeenCard {
        let type = profile.activityTypes.first { $0.name == card.attributesType }
        var seen = SeenCard(localID: card.localID, type: type?.type ?? card.attributesType, state: .active)
        switch card.state {
        case .active: seen.state = .active
        case .stale: seen.state = .stale
        case .ended: seen.state = .ended
        case .dismissed: seen.state = .dismissed
        }
        seen.activity = card.activity ?? type?.activity(in: card.attributes)
        seen.attributes = card.attributes
        seen.content = card.contentState
        seen.token = card.token.flatMap { TokenText($0.hex) }
        // iOS does not tell the app which channel a push has put the card on.
        seen.channel = card.startedByPush ? nil : card.channel?.text
        return seen
    }

    private var facts: DeviceRequest {
        var facts = DeviceRequest(user: "")
        facts.platform = .ios
        facts.timeZone = profile.timeZone
        facts.locale = profile.locale
        facts.osVersion = profile.iOS.description
        facts.appVersion = profile.appVersion
        facts.build = profile.build
        facts.model = profile.model
        facts.environment = DeviceRequest.Environment(rawValue: profile.environment.rawValue)
        facts.activitiesEnabled = profile.activitiesEnabled
        facts.frequentPushesEnabled = profile.frequentPushesEnabled
        facts.channels = profile.iOS >= .channels ? true : nil
        facts.notificationAuthorization = .init(rawValue: profile.notificationAuthorization.rawValue)
        facts.deviceToken = deviceToken.flatMap { TokenText($0.hex) }
        return facts
    }

    private var clientRules: [String: RegistrationMachine.TypeRules] {
        var rules: [String: RegistrationMachine.TypeRules] = [:]
        for type in profile.activityTypes { rules[type.type] = .init(startsCards: profile.startsWantedCards) }
        return rules
    }

    private var clientLimits: RegistrationMachine.Limits {
        var limits = RegistrationMachine.Limits()
        limits.cardLife = Int(self.limits.activeFor / .milliseconds(1))
        if !hasBackend { limits.patience = 0 }
        // The client does not give up waiting for answers: a call takes real time, in which the phones' clock may
        // advance by hours. The carrier always returns, with or without an answer.
        limits.answerPatience = nil
        return limits
    }
}

extension ClientAction {
    fileprivate var isStart: Bool { if case .start = self { true } else { false } }
}
