internal import APNSModel
internal import JSONText
internal import LiveActivityAPI
internal import LiveActivityRegistration

extension VirtualPhone {
    /// Performs an action on the phone. Returns the local id of the new card, if there is one.
    mutating func perform(
        _ action: PhoneAction, at now: UnixTime
    ) throws(SimulatorError) -> (localID: String?, effects: [PhoneEffect]) {
        let local = local(now)
        settle(to: local)
        present = local
        let localID = try act(action, at: local)
        tick(at: local)
        effects.append(.changed)
        return (localID, takeEffects())
    }

    private mutating func act(_ action: PhoneAction, at now: UnixTime) throws(SimulatorError) -> String? {
        switch action {
        case .offline, .online, .lock, .unlock, .install: break
        default: guard isInstalled else { throw SimulatorError(.actionRefused, "the app was removed") }
        }
        switch action {
        case .foreground, .background, .launch, .kill, .forceQuit, .uninstall: try changeApp(action, at: now)
        case .install: try installAnew(at: now)
        case .allow: allow(at: now)
        case .swipe(let localID):
            for id in try localIDs(localID, running: false) {
                if let index = cards.firstIndex(where: { $0.localID == id }) { swipe(index, at: now) }
            }
        case .tap(let localID):
            let card = try localIDs(localID, running: false).first
            try changeApp(.foreground, at: now)
            if let card { tellClient(at: now) { _ = $0.opened(card, $1) } }
        case .offline: profile.isOnline = false
        case .online:
            profile.isOnline = true
            tellClient(at: now) { $0.retryNow($1) }
            effects.append(.cameOnline)
        case .lock: profile.isLocked = true
        case .unlock: profile.isLocked = false
        case .rotateUpdateToken(let localID): try rotateUpdateTokens(localID, at: now)
        case .rotatePushToStartToken: try rotatePushToStartToken(at: now)
        case .rotateDeviceToken:
            retire(deviceToken, .replaced, at: now)
            issueDeviceToken()
            if wake(at: now) { tellFacts(at: now) }
        case .spendBudget: spendBudget(at: now)
        case .startLocally(let start): return try startLocally(start, at: now)
        case .updateLocally(let update): try updateLocally(update, at: now)
        case .endLocally(let localID, let contentState, let isImmediate):
            try endLocally(localID, contentState, isImmediate: isImmediate, at: now)
        case .setActivitiesEnabled(let isOn): setActivitiesEnabled(isOn, at: now)
        case .setFrequentPushes(let isOn): setFrequentPushes(isOn, at: now)
        case .setNotificationAuthorization(let status):
            profile.notificationAuthorization = status
            if profile.appState.runs { tellFacts(at: now) }
        case .signIn(let user): signIn(user, at: now)
        }
        return nil
    }

    // MARK: The app's process

    private mutating func changeApp(_ action: PhoneAction, at now: UnixTime) throws(SimulatorError) {
        switch action {
        case .foreground:
            let wasThere = profile.appState == .foreground
            profile.appState = .foreground
            if !wasThere {
                tellClient(at: now) { $0.setForeground(true, $1) }
                reportEverything(at: now)
            }
        case .background:
            guard profile.appState.runs else { throw SimulatorError(.actionRefused, "the app is not running") }
            profile.appState = .background
            tellClient(at: now) { $0.setForeground(false, $1) }
        case .launch:
            guard !profile.appState.runs else { return }
            profile.appState = .background
            reportEverything(at: now)
        case .kill: stop(.killed)
        case .forceQuit: stop(.forceQuit)
        default: uninstall(at: now)
        }
    }

    mutating func stop(_ state: AppState) {
        profile.appState = state
        killClient()
        // Changes that the process had not noticed yet have no witness.
        for index in cards.indices where cards[index].isUnnoticed { cards[index].wasWitnessed = false }
        for index in dismissed.indices where dismissed[index].isUnnoticed { dismissed[index].wasWitnessed = false }
    }

    private mutating func uninstall(at now: UnixTime) {
        stop(.forceQuit)
        for card in cards { retire(card.token, .uninstalled, at: now) }
        retire(deviceToken, .uninstalled, at: now)
        retire(pushToStartToken, .uninstalled, at: now)
        cards = []
        delayed = []
        deviceToken = nil
        pushToStartToken = nil
        isInstalled = false
    }

    /// Installs the app again as another installation, which remembers nothing.
    private mutating func installAnew(at now: UnixTime) throws(SimulatorError) {
        guard !isInstalled else { throw SimulatorError(.actionRefused, "the app is already installed") }
        isInstalled = true
        installations += 1
        disk = RegistrationMemory(device: "\(id.text)-\(installations)")
        keychain = PhoneCredentials()
        dismissed = []
        issueDeviceToken()
        issuePushToStartToken()
        profile.appState = .foreground
        reportEverything(at: now)
    }

    private mutating func signIn(_ user: String?, at now: UnixTime) {
        profile.user = user ?? ""
        // The person signs in or out in the app.
        if wake(at: now) { identify(at: now) }
    }

    // MARK: Tokens and switches

    private mutating func allow(at now: UnixTime) {
        handsOutTokens = true
        for index in cards.indices where cards[index].state.isRunning && cards[index].token == nil {
            issueUpdateToken(index)
            cards[index].isUnnoticed = true
        }
        if cards.contains(where: \.isUnnoticed), wake(at: now) { tellNews(at: now) }
    }

    private mutating func rotateUpdateTokens(_ localID: String?, at now: UnixTime) throws(SimulatorError) {
        for id in try localIDs(localID, running: true) {
            guard let index = cards.firstIndex(where: { $0.localID == id }), cards[index].token != nil else { continue }
            retire(cards[index].token, .replaced, at: now)
            issueUpdateToken(index)
            cards[index].isUnnoticed = true
        }
        if cards.contains(where: \.isUnnoticed), wake(at: now) { tellNews(at: now) }
    }

    private mutating func rotatePushToStartToken(at now: UnixTime) throws(SimulatorError) {
        guard pushToStartToken != nil else {
            throw SimulatorError(.actionRefused, "the phone has no push-to-start token")
        }
        retire(pushToStartToken, .replaced, at: now)
        issuePushToStartToken()
        if wake(at: now) { tellStartToken(at: now) }
    }

    private mutating func setActivitiesEnabled(_ isOn: Bool, at now: UnixTime) {
        guard profile.activitiesEnabled != isOn else { return }
        profile.activitiesEnabled = isOn
        if isOn {
            issuePushToStartToken()
        } else {
            endAll(because: .settings, at: now)
            retire(pushToStartToken, .over, at: now)
            pushToStartToken = nil
        }
        if profile.appState.runs { reportEverything(at: now) }
    }

    private mutating func setFrequentPushes(_ isOn: Bool, at now: UnixTime) {
        guard profile.frequentPushesEnabled != isOn else { return }
        profile.frequentPushesEnabled = isOn
        // Apple documents that changing this switch ends activities (WWDC23, session 10185), so one check per activity
        // is enough.
        endAll(because: .settings, at: now)
        if profile.appState.runs { reportEverything(at: now) }
    }

    // MARK: The app's own changes

    /// Starts a card. With a backend the client tells the server first; without one the card is there at once.
    private mutating func startLocally(
        _ start: PhoneAction.LocalStart, at now: UnixTime
    ) throws(SimulatorError) -> String? {
        try admit(start)
        let known = Set(cards.map(\.localID))
        try orderCard(start, at: now)
        tick(at: now)
        return cards.first { !known.contains($0.localID) }?.localID
    }

    /// Adds the card of a start, if iOS allows it. The card has no token yet.
    mutating func addCard(_ start: PhoneAction.LocalStart, at now: UnixTime) throws(SimulatorError) -> Int {
        try admit(start)
        let second = UnixTime(seconds: now.seconds)
        var card = Card(
            localID: dice.uuid().description.uppercased(), attributesType: start.attributesType,
            attributes: start.attributes, contentState: start.contentState, state: .active, startedAt: now,
            updatedAt: now, timestamp: second, staleDate: start.staleDate, relevance: start.relevance,
            startedByPush: false, activity: start.activity)
        card.channel = start.channel
        cards.append(card)
        if let channel = card.channel { effects.append(.subscribed(channel)) }
        effects.append(.changed)
        return cards.count - 1
    }

    /// Throws if iOS refuses the start at once.
    private func admit(_ start: PhoneAction.LocalStart) throws(SimulatorError) {
        guard profile.iOS >= .activities else { throw SimulatorError(.actionRefused, "unsupported: iOS below 16.1") }
        guard profile.activitiesEnabled else { throw SimulatorError(.actionRefused, "denied: cards are switched off") }
        guard profile.appState == .foreground else {
            throw SimulatorError(.actionRefused, "visibility: the app is not on the screen")
        }
        guard cards.count(where: \.state.isRunning) < limits.runningCards else {
            throw SimulatorError(.actionRefused, "targetMaximumExceeded: \(limits.runningCards) are already running")
        }
        guard start.channel == nil || profile.iOS >= .channels else {
            throw SimulatorError(.actionRefused, "unsupported: channels need iOS 18")
        }
        let type = try installed(start.attributesType)
        if let mistake = type.mistake(inAttributes: start.attributes) {
            throw SimulatorError(.actionRefused, "attributes: \(mistake)")
        }
        try check(start.contentState, type)
    }

    private mutating func updateLocally(
        _ update: PhoneAction.LocalUpdate, at now: UnixTime
    ) throws(SimulatorError) {
        let index = try ownRunningCard(update.localID)
        try check(update.contentState, installed(cards[index].attributesType))
        let staleAt = update.staleDate.flatMap { Instant(milliseconds: Int($0.milliseconds)) }
        tellClient(at: now) {
            _ = $0.update(update.localID, content: update.contentState, presentation: .init(staleAt: staleAt), $1)
        }
    }

    private mutating func endLocally(
        _ localID: String, _ contentState: JSONObject?, isImmediate: Bool, at now: UnixTime
    ) throws(SimulatorError) {
        let index = try ownRunningCard(localID)
        if let contentState { try check(contentState, installed(cards[index].attributesType)) }
        tellClient(at: now) {
            _ = $0.end(localID, content: contentState, isImmediate ? .immediate : .systemDefault, $1)
        }
    }

    private func ownRunningCard(_ localID: String) throws(SimulatorError) -> Int {
        guard profile.appState.runs else { throw SimulatorError(.actionRefused, "the app is not running") }
        guard let index = cards.firstIndex(where: { $0.localID == localID }), cards[index].state.isRunning else {
            throw SimulatorError(.actionRefused, "no running card has that local id")
        }
        return index
    }

    private func localIDs(_ localID: String?, running: Bool) throws(SimulatorError) -> [String] {
        let candidates = cards.filter { !running || $0.state.isRunning }.map(\.localID)
        guard let localID else { return candidates }
        guard candidates.contains(localID) else {
            throw SimulatorError(.actionRefused, "no such card is on the lock screen")
        }
        return [localID]
    }

    private func installed(_ name: String) throws(SimulatorError) -> InstalledActivityType {
        guard let type = profile.activityTypes.first(where: { $0.name == name }) else {
            throw SimulatorError(.actionRefused, "the app has no ActivityAttributes type of that name")
        }
        return type
    }

    private func check(_ contentState: JSONObject, _ type: InstalledActivityType) throws(SimulatorError) {
        if let mistake = type.mistake(inContentState: contentState) {
            throw SimulatorError(.actionRefused, "content state: \(mistake)")
        }
    }
}
