internal import APNSModel
internal import JSONText
internal import LiveActivityAPI
internal import LiveActivityRegistration

/// The app's process: it runs the decisions of `LiveActivityClient`, and this is its thin shell, as ActivityKit's edge
/// is on a real phone.
extension VirtualPhone {
    // MARK: The process

    /// The process begins: it reads everything, as the client does at launch.
    mutating func launchClient(at local: UnixTime) {
        guard client == nil else { return }
        processes += 1
        client = RegistrationMachine(disk, types: clientRules, limits: clientLimits)
        let isForeground = profile.appState == .foreground
        tellClient(at: local) { $0.setForeground(isForeground, $1) }
        identify(at: local)
        lookAgain(at: local)
    }

    /// The process ends: what was not written down is forgotten.
    mutating func killClient() { client = nil }

    /// Everything that can be read is read: who is signed in, the switches, tokens, and every card.
    mutating func lookAgain(at local: UnixTime) {
        tellFacts(at: local)
        tellStartToken(at: local)
        tellNews(at: local)
        let all = cards.map(seen)
        tellClient(at: local) { $0.see(all: all, $1) }
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
        for type in profile.activityTypes { tellClient(at: local) { $0.see(startToken: token, for: type.type, $1) } }
    }

    /// What happened to cards since the app looked last, in the order in which iOS tells it.
    mutating func tellNews(at local: UnixTime) {
        for index in dismissed.indices where dismissed[index].isUnreported {
            dismissed[index].isUnreported = false
            let card = dismissed[index]
            // What nobody saw go is missing from the next look at all cards.
            guard card.wasWitnessed else { continue }
            var last = seen(card)
            last.state = card.ending == .person || card.ending == .settings ? .dismissed : .ended
            if card.ending == .settings { tellFacts(at: local) }
            tellClient(at: local) { $0.see(last, $1) }
        }
        for index in cards.indices where cards[index].isUnreported {
            cards[index].isUnreported = false
            let card = seen(cards[index])
            tellClient(at: local) { $0.see(card, $1) }
        }
    }

    /// The answer to a call, or none; a process that ended meanwhile never hears of it.
    mutating func answer(_ number: Int, _ answer: PhoneAnswer?, at now: UnixTime) -> [PhoneEffect] {
        let local = local(now)
        settle(to: local)
        let fraction = dice.fraction()
        tellClient(at: local) { $0.answered(number, answer, dice: fraction, $1) }
        return takeEffects()
    }

    /// Says something to the machine and does what it wants, until it wants nothing more.
    mutating func tellClient(at local: UnixTime, _ body: (inout RegistrationMachine, PhoneMoment) -> Void) {
        guard client != nil else { return }
        var queue = ask(at: local, body)
        while !queue.isEmpty {
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
        // Written before anything follows from it.
        if actions.first == .save { disk = machine.memory }
        client = machine
        return actions
    }

    func moment(_ local: UnixTime) -> PhoneMoment {
        PhoneMoment(wall: Int(local.milliseconds), steady: Int(trueTime(local).milliseconds))
    }

    /// The app asks the client for a card.
    mutating func orderCard(_ start: PhoneAction.LocalStart, at local: UnixTime) throws(SimulatorError) {
        guard let type = profile.activityTypes.first(where: { $0.name == start.attributesType }) else {
            throw SimulatorError(.actionRefused, "the app has no ActivityAttributes type of that name")
        }
        let order = CardOrder(
            type: type.type, activity: start.activity ?? type.activity(in: start.attributes),
            attributes: start.attributes, content: start.contentState,
            staleAt: start.staleDate.flatMap { Instant(milliseconds: Int($0.milliseconds)) })
        tellClient(at: local) { _ = $0.start(order, $1) }
    }

    // MARK: What it does

    private mutating func carryOut(
        _ action: ClientAction, at local: UnixTime
    ) -> [ClientAction] {
        switch action {
        case .save, .tell: return []
        case .send(let call):
            effects.append(.call(call))
            return []
        case .start(let number, let order):
            do throws(SimulatorError) {
                let card = try makeCard(order, at: local)
                return ask(at: local) { $0.started(number, card, $1) }
            } catch {
                let words = error.detail
                return ask(at: local) { $0.notStarted(number, words, $1) }
            }
        case .update(let localID, let content, let staleAt, let timestamp):
            guard let index = cards.firstIndex(where: { $0.localID == localID }), cards[index].state.isRunning else {
                return ask(at: local) { $0.lost(localID, $1) }
            }
            apply(content, staleAt, timestamp, to: index, at: local)
            let card = seen(cards[index])
            return ask(at: local) { $0.see(card, $1) }
        case .end(let localID, let content, let isImmediate, let timestamp):
            guard let index = cards.firstIndex(where: { $0.localID == localID }), cards[index].state.isRunning else {
                return ask(at: local) { $0.lost(localID, $1) }
            }
            apply(content, nil, timestamp, to: index, at: local)
            var card = seen(cards[index])
            card.state = .ended
            let dismissal = isImmediate ? local : local + limits.shownAfterEndFor
            end(index, because: .app, at: local, dismissesAt: dismissal)
            return ask(at: local) { $0.see(card, $1) }
        }
    }

    /// A local change as ActivityKit takes it: what is older than what the card shows is ignored.
    private mutating func apply(
        _ content: JSONObject?, _ staleAt: Instant?, _ timestamp: Int?, to index: Int, at local: UnixTime
    ) {
        let time = timestamp.map { UnixTime(seconds: Int64($0)) } ?? UnixTime(seconds: local.seconds)
        guard let content, time >= cards[index].timestamp,
            let type = profile.activityTypes.first(where: { $0.name == cards[index].attributesType }),
            type.mistake(inContentState: content) == nil
        else { return }
        cards[index].contentState = content
        cards[index].timestamp = time
        cards[index].updatedAt = local
        cards[index].staleDate = staleAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) }
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
            staleDate: order.staleAt.map { UnixTime(milliseconds: Int64($0.milliseconds)) })
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
        return limits
    }
}
