internal import JSONText
package import LiveActivityAPI

/// The decisions of an app about its Live Activities: what to report to the server and when, what to do with the cards,
/// and what an answer means.
///
/// The machine is pure. The time and the dice are arguments, and its actions are results. The shell passes on what iOS
/// reports and performs the actions in order.
package struct RegistrationMachine: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Time that a start waits for the server's answer before it proceeds without one. Limits are in milliseconds
        /// unless they say otherwise.
        package var patience = 3_000
        /// Time that a call may take, including its credential. A call without an answer by then is repeated. `nil`: no
        /// limit.
        package var answerPatience: Int? = 30_000
        /// Time after its announcement in which the app may perform a start. The server waits 120 s.
        package var announcementLease = 60_000
        /// Age of the app's own card from which a start of the server's is none that came too late for it.
        package var serversPatience = 120_000
        package var firstPause = 1_000
        package var longestPause = 300_000
        /// Time for which a state that the app set is kept against the server's older one.
        package var aheadLease = 60_000
        /// Seconds by which the states of answers may take a card with a token ahead of the server's clock. A later
        /// state is left to a push, because a push must be newer than what the card shows.
        package var secondsAhead = 10
        /// Time after a changed setting in which a vanished card does not count as swiped away.
        package var settlingAfterSwitch = 60_000
        /// Time that the report of a sign-out waits for cards that are still being ended.
        package var endingPatience = 10_000
        /// Time that the next action waits for iOS to return from an update or end.
        package var cardPatience = 5_000
        /// Time that a running card must be missing from iOS's list to count as gone. After a cold launch the list may
        /// not be complete yet.
        package var absence = 3_000
        /// Time for which an order is kept that iOS refused because the app was off the screen.
        package var orderLife = 3_600_000
        /// The age at which iOS ends a card by itself.
        package var cardLife = 8 * 3_600_000
        /// The age from which a second card is the server's renewal. Both cards stay until the new one has a token.
        package var renewalAge = 7 * 3_600_000

        package init() {}
    }

    /// The rules for one type of card.
    package struct TypeRules: Sendable, Hashable {
        /// `true` if the app starts cards that the server wants while it is on the screen.
        package var startsCards = true
        /// `true` if the app's last state stays until the server has a newer one.
        package var isAppAuthority = false

        package init(startsCards: Bool = true, isAppAuthority: Bool = false) {
            self.startsCards = startsCards
            self.isAppAuthority = isAppAuthority
        }
    }

    package private(set) var memory: RegistrationMemory
    package let limits: Limits
    var rules: [String: TypeRules]

    // State of this process, which is not saved.
    package internal(set) var isForeground = false
    var knowsFacts = false
    var knowsCards = false
    /// The server's clock minus the steady clock in milliseconds, or `nil` before the first answer. The phone's own
    /// clock has no part in it, because somebody may set it at any moment.
    var offset: Int?
    var line = Line.free
    var calls = 0
    /// A number that grows with every change of person. Answers of an earlier epoch are dropped.
    package internal(set) var epoch = 0
    /// A number that grows whenever everything is to be reported again.
    var round = 0
    /// The moment at which the last person left, on the steady clock.
    var leftAt: Int?
    /// The number of failed calls in a row.
    var failures = 0
    var orders: [Order] = []
    /// Announced orders whose card was not made. Each is reported, because the server would otherwise wait 120 s.
    var withdrawals: [(order: Int, card: CardOrder)] = []
    /// The cards that this process has seen running.
    var witnessed: Set<String> = []
    /// The cards that were running and that iOS does not list, with the moment since when, on the steady clock.
    var absent: [String: Int] = [:]
    /// The moment at which iOS's list is read again, on the steady clock, or `nil` if there is no need.
    var looksAgainAt: Int?
    /// The cards that were there before the app said that somebody, or nobody, is signed in.
    var unclaimed: [String: SeenCard] = [:]
    /// The cards whose end was requested and not yet seen.
    var ending: Set<String> = []
    /// The cards that were to leave the lock screen at once.
    var swept: Set<String> = []
    /// The updates that this process requested and from which iOS has not returned.
    var underWay: Set<Int> = []
    /// The revision that each card did not accept. It is tried again when the app is woken, and not before.
    var tried: [String: Int] = [:]
    var credential: Credential
    /// Number of the phone's own credentials that the server has refused in this process.
    var credentialsLost = 0
    /// The types whose push-to-start token iOS has named in this round. A token of an earlier round may be stale.
    var named: Set<String> = []
    /// The dismissal rule of each activity that is over, from the server's last answer. The key is the canonical
    /// spelling of its id.
    var endedActivities: [String: CardDismissal] = [:]
    /// The activities of the server's wishes that failed. They are not tried again until the app comes back to the
    /// screen.
    var failedWishes: Set<String> = []
    var switchedAt: Int?
    private var actions: [ClientAction] = []
    private var saved: RegistrationMemory

    /// Creates the machine of a process that was just launched.
    ///
    /// - Parameter credentials: The kept credentials.
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
        // A new process reports everything again, because tokens and the server's records may have changed meanwhile.
        sayAgain()
    }

    /// Returns what to do now, in order. Saving the memory comes before everything that depends on it, and after a
    /// credential that the memory depends on.
    package mutating func takeActions() -> [ClientAction] {
        defer { actions = [] }
        guard memory != saved else { return actions }
        saved = memory
        return actions.filter(\.isGain) + [.save] + actions.filter { !$0.isGain }
    }

    /// The moment to call ``tick(_:)``, on the steady clock, or `nil` if only an event can change anything.
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

    /// The moment at which the call under way is given up, on the steady clock.
    private var callEnd: Int? {
        guard let call = line.call, let patience = limits.answerPatience else { return nil }
        return call.sentAt + patience
    }

    /// `true` if the server has confirmed everything.
    package var isSettled: Bool {
        line.call == nil && !hasPending && !orders.contains(where: \.isUnderWay) && looksAgainAt == nil
    }

    // MARK: - What the shell says

    /// Performs what is due at this moment.
    package mutating func tick(_ now: PhoneMoment) {
        // Each phone has waited since a moment of its own, so there is nothing to spread.
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

    /// Notes whether the app is on the screen.
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

    /// Reports everything again, because a token, a start or a background push woke the app.
    package mutating func wake(_ now: PhoneMoment) {
        repeatEverything(now)
        pump(now)
    }

    /// Makes a waiting call at once, because the network is back.
    package mutating func retryNow(_ now: PhoneMoment) {
        line.endPause()
        pump(now)
    }

    /// Handles the phone as it is now. An absent field is not known, and the `user` means nothing.
    package mutating func see(_ facts: DeviceRequest, _ now: PhoneMoment) {
        var merged = facts
        merged.user = ""
        // Both become known some time after the launch.
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

    /// Handles the push-to-start token of a type. `nil` is not a token and changes nothing.
    package mutating func see(startToken token: TokenText?, for type: String, _ now: PhoneMoment) {
        guard let token else { return }
        if memory.startTokens[type] != token {
            memory.startTokens[type] = token
            obtained("push-to-start", token, type: type, now)
        }
        if named.insert(type).inserted { memory.confirmedStartTokens[type] = nil }
        pump(now)
    }

    /// Signs a person in. If it is another person than before, all cards end. Cards that were there before the first
    /// sign-in belong to this person.
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

    /// Signs the person out. Every card leaves at once, also an ended one. Then the server is told until it has
    /// confirmed.
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

    /// Reports everything again, because an app that comes back cannot know what was lost meanwhile.
    private mutating func repeatEverything(_ now: PhoneMoment) {
        line.endPause()
        tried = [:]
        sayAgain()
    }

    /// Marks everything that iOS reports now as unconfirmed. A push-to-start token that iOS does not name again is not
    /// reported, because it may be an old one.
    private mutating func sayAgain() {
        round += 1
        named = []
        memory.confirmed = nil
        memory.owesInventory = true
    }

    /// Marks everything as unconfirmed, because the server has nothing or must get everything again.
    mutating func forgetConfirmations() {
        sayAgain()
        memory.confirmedStartTokens = [:]
    }

    private mutating func endEverything() {
        for (localID, card) in memory.cards {
            if card.isRunning { end(localID, content: nil, .immediate, timestamp: nil) }
            memory.bury(localID)
        }
        // An ended card that is still shown says as much about the person as a running one.
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
        // A new token is reported at once, however long the pause after the last failure is.
        line.endPause()
        tell(PhoneNote(.tokenObtained, type: type, detail: "\(kind) \(token)"))
    }

    // MARK: - Credentials

    /// Turns the credential of the previous person into the proof that the phone was handed over.
    ///
    /// If the server may know somebody here and nothing proves that this is their phone, the previous person is signed
    /// out first. The same holds for a person who returns before the server knew that they left. Otherwise the server
    /// would find their cards gone and start no others.
    private mutating func handOver(to user: String) {
        if memory.isUnproven || memory.leaver == user { return takeLeave() }
        memory.isLeaving = false
        if case .own(let isUntried) = credential { credential = .proof(isUntried: isUntried) }
        act(.change(.turnIntoProof))
    }

    /// Notes that this person's cards end here and that the server does not know it yet.
    private mutating func owesLeave() {
        memory.leaver = memory.leaver ?? memory.user
    }

    /// Notes that the server must be told that the last person left, whoever it knows. The call uses the phone's own
    /// credential, or the last person's if that is refused.
    private mutating func takeLeave() {
        memory.isLeaving = true
        guard case .proof(let isUntried) = credential else { return }
        credential = .own(isUntried: isUntried)
        act(.change(.turnIntoOwn))
    }

    /// Forgets all credentials.
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

    /// Returns milliseconds since 1970 by the server's clock, or `nil` if it is not known.
    func serverTime(_ now: PhoneMoment) -> Int? { offset.map { now.steady + $0 } }

    /// Returns milliseconds since 1970 by the server's clock, or by the phone's until that is known.
    func time(_ now: PhoneMoment) -> Int { serverTime(now) ?? now.wall }

    /// Returns seconds since 1970 by the server's clock, or `nil` if it is not known.
    func serverSeconds(_ now: PhoneMoment) -> Int? { serverTime(now).map { $0 / 1_000 } }
}
