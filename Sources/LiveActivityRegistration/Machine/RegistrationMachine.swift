internal import JSONText
package import LiveActivityAPI

/// Everything that an app on a phone decides about its Live Activities: what to tell the server and when, what to do
/// with the cards, and what an answer means.
///
/// Pure: the time and the dice are arguments, and what is to be done comes out as actions. Whoever keeps it feeds it
/// with what iOS says and performs the actions in their order.
package struct RegistrationMachine: Sendable {
    package struct Limits: Sendable, Hashable {
        /// How long a start waits for the server's word before it is done without.
        package var patience = 3_000
        /// How long a call may take, the credential for it included; what nobody answered by then is asked again.
        /// `nil`: for good.
        package var answerPatience: Int? = 30_000
        /// How long after the app announced a start it may still do it: the server waits 120 s.
        package var announcementLease = 60_000
        package var firstPause = 1_000
        package var longestPause = 300_000
        /// How long a state that the app set itself stays against the server's older one.
        package var aheadLease = 60_000
        /// How far, in seconds, the states of answers may take a card with a token ahead of the server's clock. A later
        /// state is left to a push, because pushes have to be newer than what the card shows.
        package var secondsAhead = 10
        /// After a switch was turned, what vanishes was not swiped away.
        package var settlingAfterSwitch = 60_000
        /// How long the server is not told that a person left because cards are still being ended.
        package var endingPatience = 10_000
        /// How long the next action waits for iOS to come back from one on a card.
        package var cardPatience = 5_000
        /// How long iOS must not list a card that ran for it to count as gone: after a cold launch the list may not be
        /// filled yet.
        package var absence = 3_000
        /// How long a card that was ordered off the screen, and that iOS refused for that, is waited with.
        package var orderLife = 3_600_000
        /// iOS ends a card by itself after this time.
        package var cardLife = 8 * 3_600_000
        /// From this age on a second card is the server's renewal, and both stay until the new one has a token.
        package var renewalAge = 7 * 3_600_000

        package init() {}
    }

    /// How one type of card is treated.
    package struct TypeRules: Sendable, Hashable {
        /// Cards that the server would have shown are started by the app while it is on the screen.
        package var startsCards = true
        /// What the app showed last stays until the server has something new.
        package var isAppAuthority = false

        package init(startsCards: Bool = true, isAppAuthority: Bool = false) {
            self.startsCards = startsCards
            self.isAppAuthority = isAppAuthority
        }
    }

    package private(set) var memory: RegistrationMemory
    package let limits: Limits
    var rules: [String: TypeRules]

    // What lasts as long as the process.
    package internal(set) var isForeground = false
    var knowsFacts = false
    var knowsCards = false
    /// The server's clock less the steady one, in milliseconds; `nil` until an answer told. The phone's own clock has
    /// no part in it: somebody may set it at any moment.
    var offset: Int?
    var line = Line.free
    var calls = 0
    /// Grows with every change of person: answers of an earlier time are dropped.
    package internal(set) var epoch = 0
    /// Grows whenever everything is to be said again.
    var round = 0
    /// When the last person left, on the steady clock.
    var leftAt: Int?
    /// Calls that failed one after another.
    var failures = 0
    var orders: [Order] = []
    /// Orders of which the server has heard, and whose card was not made: it is told, or waits its two minutes.
    var withdrawals: [(order: Int, card: CardOrder)] = []
    /// Cards that were seen running by this process.
    var witnessed: Set<String> = []
    /// Cards that iOS does not list and that ran when they were last heard of: since when, on the steady clock.
    var absent: [String: Int] = [:]
    /// When iOS is to be asked for its list again, on the steady clock; `nil`: there is no need.
    var looksAgainAt: Int?
    /// Cards that were there before the app said who is signed in, or that nobody is.
    var unclaimed: [String: SeenCard] = [:]
    /// Cards whose end was asked for and not seen yet.
    var ending: Set<String> = []
    /// Cards that were to leave the lock screen at once.
    var swept: Set<String> = []
    /// The updates that this process asked for and that iOS has not come back from.
    var underWay: Set<Int> = []
    /// The revision that a card did not take: it is tried again when the app is woken, and not before.
    var tried: [String: Int] = [:]
    var credential: Credential
    /// How often one of its own was taken back from this process.
    var credentialsLost = 0
    /// The types whose push-to-start token iOS has named in this round: what it named in an earlier one may be stale.
    var named: Set<String> = []
    /// What the server said last of each activity that is over, by one spelling of its id: when its card leaves the
    /// lock screen.
    var endedActivities: [String: CardDismissal] = [:]
    /// Wishes that could not be fulfilled: not again until the app comes back to the screen.
    var failedWishes: Set<String> = []
    var switchedAt: Int?
    private var actions: [ClientAction] = []
    private var saved: RegistrationMemory

    /// The machine of a process that was just launched.
    ///
    /// - Parameter credentials: What is kept of them.
    package init(
        _ memory: RegistrationMemory, types: [String: TypeRules], limits: Limits = Limits(),
        credentials: PhoneCredentials = PhoneCredentials()
    ) {
        var kept = credentials
        if let change = kept.changeLeft(by: memory) {
            kept.apply(change)
            actions = [.change(change)]
        }
        self.memory = memory
        credential = kept.own != nil ? .own(isUntried: false) : kept.proof != nil ? .proof(isUntried: false) : .none
        saved = memory
        rules = types
        self.limits = limits
        if credential.isOwn, !memory.isLeaving { self.memory.isUnproven = false }
        self.memory.forgetMoments()
        // What was confirmed is said again by a new process: tokens and the server's rows may have changed meanwhile.
        sayAgain()
    }

    /// What to do now, in order: the memory is written down before anything follows from it, and after a credential
    /// that it counts on.
    package mutating func takeActions() -> [ClientAction] {
        defer { actions = [] }
        guard memory != saved else { return actions }
        saved = memory
        return actions.filter(\.isGain) + [.save] + actions.filter { !$0.isGain }
    }

    /// When to call ``tick(_:)``, on the steady clock; `nil`: when something happens.
    package var nextWake: Int? {
        var due = orders.compactMap(\.deadline)
        if line.call == nil, hasPending {
            let pauseEnd = if case .pausing(let until) = line { until } else { Int.min }
            let isEnding = memory.user == nil && !ending.isEmpty
            due.append(max(pauseEnd, isEnding ? (leftAt ?? 0) + limits.endingPatience : Int.min))
        }
        if let callEnd { due.append(callEnd) }
        if let looksAgainAt { due.append(looksAgainAt) }
        return due.min()
    }

    /// When nobody waits any more for the call under way, on the steady clock.
    private var callEnd: Int? {
        guard let call = line.call, let patience = limits.answerPatience else { return nil }
        return call.sentAt + patience
    }

    /// Whether the server has confirmed all there is to say.
    package var isSettled: Bool {
        line.call == nil && !hasPending && !orders.contains(where: \.isUnderWay) && looksAgainAt == nil
    }

    // MARK: - What the shell says

    /// Time has passed.
    package mutating func tick(_ now: PhoneMoment) {
        // Each phone has waited from a moment of its own: there is nothing to spread.
        if let call = line.call, let callEnd, callEnd <= now.steady { answered(call.number, nil, dice: 0.5, now) }
        for order in orders {
            if let deadline = order.deadline, deadline <= now.steady { begin(order.number, isConfirmed: false, now) }
        }
        if let time = looksAgainAt, time <= now.steady {
            looksAgainAt = nil
            act(.look)
        }
        pump(now)
    }

    /// The app is on the screen, or no longer.
    package mutating func setForeground(_ isForeground: Bool, _ now: PhoneMoment) {
        let returns = isForeground && !self.isForeground
        self.isForeground = isForeground
        if returns {
            failedWishes = []
            ending = []
            swept = []
            repeatEverything(now)
            resumePostponed(now)
        }
        pump(now)
    }

    /// Something woke the app: a token, a start or a background push. Everything is said again.
    package mutating func wake(_ now: PhoneMoment) {
        repeatEverything(now)
        pump(now)
    }

    /// The network is back: what waits for a pause goes at once.
    package mutating func retryNow(_ now: PhoneMoment) {
        line.endPause()
        pump(now)
    }

    /// The phone as it is now; an absent field is not known. The `user` means nothing.
    package mutating func see(_ facts: DeviceRequest, _ now: PhoneMoment) {
        var merged = facts
        merged.user = ""
        // Both are told some time after the launch.
        merged.deviceToken = facts.deviceToken ?? memory.facts.deviceToken
        merged.notificationAuthorization = facts.notificationAuthorization ?? memory.facts.notificationAuthorization
        if let token = merged.deviceToken, token != memory.facts.deviceToken { obtained("device", token, now) }
        let old = memory.facts
        if knowsFacts || old.activitiesEnabled != nil,
            old.activitiesEnabled != merged.activitiesEnabled
                || old.frequentPushesEnabled != merged.frequentPushesEnabled
        {
            switchedAt = now.steady
            line.endPause()
        }
        memory.facts = merged
        knowsFacts = true
        pump(now)
    }

    /// The push-to-start token of a type; `nil` is not one, and changes nothing.
    package mutating func see(startToken token: TokenText?, for type: String, _ now: PhoneMoment) {
        guard let token else { return }
        if memory.startTokens[type] != token {
            memory.startTokens[type] = token
            obtained("push-to-start", token, type: type, now)
        }
        if named.insert(type).inserted { memory.confirmedStartTokens[type] = nil }
        pump(now)
    }

    /// A person is signed in. Another one than before sees nothing of what ran; what was there before anybody was named
    /// is theirs.
    package mutating func signIn(_ user: String, _ now: PhoneMoment) {
        if memory.user != user {
            owesLeave()
            endEverything()
            epoch += 1
            handOver(to: user)
            memory.user = user
            memory.isSignedOut = false
            forgetConfirmations()
            line.endPause()
            claim(now)
        }
        pump(now)
    }

    /// Nobody is signed in any more: every card leaves at once, also one that is over, then the server is told until it
    /// has confirmed.
    package mutating func signOut(_ now: PhoneMoment) {
        memory.isSignedOut = true
        disown()
        guard memory.user != nil else { return pump(now) }
        owesLeave()
        endEverything()
        epoch += 1
        leftAt = now.steady
        memory.user = nil
        takeLeave()
        forgetConfirmations()
        line.endPause()
        pump(now)
    }

    // MARK: - Parts

    /// Everything is sent anew: an app that comes back cannot know what was lost meanwhile.
    private mutating func repeatEverything(_ now: PhoneMoment) {
        line.endPause()
        tried = [:]
        sayAgain()
    }

    /// All that iOS says now. A push-to-start token that it does not name would only tell what it once was.
    private mutating func sayAgain() {
        round += 1
        named = []
        memory.confirmed = nil
        memory.owesInventory = true
    }

    /// The server has nothing, or should have.
    mutating func forgetConfirmations() {
        sayAgain()
        memory.confirmedStartTokens = [:]
    }

    private mutating func endEverything() {
        for (localID, card) in memory.cards {
            if card.isRunning { end(localID, content: nil, .immediate, timestamp: nil) }
            memory.bury(localID)
        }
        // What is over and still shown says as much about the person as what runs.
        for farewell in memory.farewells ?? [] { sweep(farewell.localID) }
        (orders, withdrawals) = ([], [])
        (absent, looksAgainAt) = ([:], nil)
        endedActivities = [:]
        failedWishes = []
    }

    mutating func end(_ localID: String, content: JSONObject?, _ dismissal: CardDismissal, timestamp: Int?) {
        guard ending.insert(localID).inserted else { return }
        if dismissal == .immediate { swept.insert(localID) }
        act(.end(localID: localID, content: content, dismissal, timestamp: timestamp))
    }

    private mutating func obtained(_ kind: String, _ token: TokenText, type: String? = nil, _ now: PhoneMoment) {
        // Something new is tried at once, however long the pause after the last failure is.
        line.endPause()
        tell(PhoneNote(.tokenObtained, type: type, detail: "\(kind) \(token)"))
    }

    // MARK: - Credentials

    /// What lets this phone speak is one person's: of the next one it is the proof that they hold the phone. Where the
    /// server may know somebody here and nothing proves that this is their phone, they take their leave first.
    ///
    /// Who comes back before the server heard of their leaving does so as well: else it would find their cards gone,
    /// and make them no others.
    private mutating func handOver(to user: String) {
        if memory.isUnproven || memory.leaver == user { return takeLeave() }
        memory.isLeaving = false
        if case .own(let isUntried) = credential { credential = .proof(isUntried: isUntried) }
        act(.change(.turnIntoProof))
    }

    /// This person's cards end here, and the server is not told yet.
    private mutating func owesLeave() {
        memory.leaver = memory.leaver ?? memory.user
    }

    /// The server is to be told that the last person left, whichever it knows: with the phone's own credential, and
    /// where that is not taken with what the last person lent.
    private mutating func takeLeave() {
        memory.isLeaving = true
        guard case .proof(let isUntried) = credential else { return }
        credential = .own(isUntried: isUntried)
        act(.change(.turnIntoOwn))
    }

    /// Whatever lets this phone speak for somebody is forgotten.
    mutating func dropCredentials() {
        credential = .none
        act(.change(.dropAll))
    }

    mutating func act(_ action: ClientAction) { actions.append(action) }
    mutating func tell(_ note: PhoneNote) { actions.append(.tell(note)) }

    mutating func change(_ body: (inout RegistrationMemory) -> Void) { body(&memory) }

    mutating func change(_ localID: String, _ body: (inout CardMemory) -> Void) {
        guard var card = memory.cards[localID] else { return }
        body(&card)
        memory.cards[localID] = card
    }

    /// Milliseconds since 1970 by the server's clock, where that is known.
    func serverTime(_ now: PhoneMoment) -> Int? { offset.map { now.steady + $0 } }

    /// Milliseconds since 1970, by the phone's clock until the server's is known.
    func time(_ now: PhoneMoment) -> Int { serverTime(now) ?? now.wall }

    /// Seconds since 1970 by the server's clock, where that is known.
    func serverSeconds(_ now: PhoneMoment) -> Int? { serverTime(now).map { $0 / 1_000 } }
}
