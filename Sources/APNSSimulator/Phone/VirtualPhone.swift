internal import APNSModel
import IsletBasics
internal import JSONText
internal import LiveActivityRegistration

/// A phone with one app: what comes in goes through the rules of iOS, what follows comes out as values.
///
/// Pure: the time is an argument (true time; the phone adds its own skew), the dice were given at the start. Whatever
/// iOS does in silence has a line in the device log. Every method first lets the time up to `now` pass.
struct VirtualPhone: Sendable {
    let id: PhoneID
    let limits: DeviceLimits
    /// What was said at creation and what the app reports of it; the switches of it are kept up to date.
    var profile: PhoneSpecification
    var dice: SplitMix64
    var isInstalled = true
    /// The person tapped Allow, or is never asked.
    var handsOutTokens: Bool
    /// Visible cards in the order of their start.
    var cards: [Card] = []
    var dismissed: [Card] = []
    var notifications: [ShownAlert] = []
    var log: [DeviceLogEntry] = []
    var deviceToken: DeviceToken?
    var pushToStartToken: PushToStartToken?
    var starts: [UnixTime] = []
    var highPriorityPushes: [UnixTime] = []
    var backgroundPushes: [UnixTime] = []
    var delayed: [DelayedPush] = []
    /// Whether the app has somebody to talk to; else nothing leaves, and nothing is waited for.
    let hasBackend: Bool
    /// What the app remembers across launches.
    var disk: RegistrationMemory
    /// What the app speaks with; what is borrowed is the person whose own token the app would give.
    var keychain = PhoneCredentials()
    /// What the client told the app's log last.
    var notes: [PhoneNote] = []
    /// The app's process, as far as it is the client; `nil` while it does not run.
    var client: RegistrationMachine?
    /// The process ends around the next thing that it has iOS do with a card.
    var death: Death?
    /// How long iOS takes to list the cards that there are after the next launches, as it may after a reboot.
    var listsCardsAfter = Duration.zero
    /// Before then the list of cards is empty, in true time.
    var listsCardsFrom: UnixTime?
    /// How often the app was launched: an answer to an earlier process is nobody's.
    var processes = 0
    var installations = 1
    /// The phone's own time, as far as it has passed.
    var present: UnixTime
    /// What the running call has brought about so far.
    var effects: [PhoneEffect] = []

    /// When a process ends that asked iOS for something.
    enum Death: Sendable, CaseIterable {
        case beforeItIsDone, beforeItHears
    }

    struct DelayedPush: Sendable {
        let due: UnixTime
        let push: DevicePush
    }

    init(
        id: PhoneID, specification: PhoneSpecification, limits: DeviceLimits, hasBackend: Bool = true, dice: SplitMix64
    ) {
        self.id = id
        self.limits = limits
        self.hasBackend = hasBackend
        self.dice = dice
        profile = specification
        handsOutTokens = !specification.asksToAllow
        disk = RegistrationMemory(device: id.text)
        present = UnixTime(milliseconds: 0)
    }

    /// The first launch of the app: tokens are made and everything is reported.
    mutating func install(at now: UnixTime) -> [PhoneEffect] {
        present = local(now)
        issueDeviceToken()
        issuePushToStartToken()
        reportEverything(at: local(now))
        restIfKilled()
        return takeEffects()
    }

    /// Lets time pass: what falls due happens in order, each at its own instant.
    mutating func elapse(to now: UnixTime) -> [PhoneEffect] {
        settle(to: local(now))
        tick(at: local(now))
        return takeEffects()
    }

    /// When `elapse` has something to do next, in true time.
    var nextDue: UnixTime? {
        let due = nextLocalDue.map { $0 - profile.clockSkew }
        guard let wake = client?.nextWake else { return due }
        let tick = UnixTime(milliseconds: Int64(max(wake, 0)))
        return due.map { min($0, tick) } ?? tick
    }

    var lockScreen: LockScreen {
        let hasMore = hasBackend && client.map { !$0.isSettled } == true
        let sorted = cards.enumerated().sorted { left, right in
            (-left.element.relevance, left.element.startedAt, left.offset)
                < (-right.element.relevance, right.element.startedAt, right.offset)
        }
        return LockScreen(
            cards: sorted.map(\.element), dismissed: dismissed, notifications: notifications,
            appState: profile.appState, isOnline: profile.isOnline, isLocked: profile.isLocked,
            activitiesEnabled: profile.activitiesEnabled, frequentPushesEnabled: profile.frequentPushesEnabled,
            notificationAuthorization: profile.notificationAuthorization, waitingReports: hasMore ? 1 : 0)
    }

    // MARK: Time

    func local(_ now: UnixTime) -> UnixTime { now + profile.clockSkew }
    func trueTime(_ local: UnixTime) -> UnixTime { local - profile.clockSkew }

    private var nextLocalDue: UnixTime? {
        var due = delayed.map(\.due).min()
        for card in cards {
            if let next = nextDue(of: card) { due = due.map { min($0, next) } ?? next }
        }
        return due
    }

    private func nextDue(of card: Card) -> UnixTime? {
        switch card.state {
        case .active: min(card.startedAt + limits.activeFor, card.staleDate ?? card.startedAt + limits.activeFor)
        case .stale: card.startedAt + limits.activeFor
        case .ended: card.dismissesAt
        case .dismissed: nil
        }
    }

    mutating func settle(to now: UnixTime) {
        defer { present = now }
        while let due = nextLocalDue, due <= now {
            if let index = delayed.firstIndex(where: { $0.due == due }) {
                let push = delayed.remove(at: index).push
                note(.deliveredLate, "the throttled push was delivered after all", at: due, push: push.id)
                applyToCard(push, at: due, charged: true)
            } else if let index = cards.firstIndex(where: { nextDue(of: $0) == due }) {
                cardFallsDue(index, at: due)
            } else {
                return
            }
        }
    }

    private mutating func cardFallsDue(_ index: Int, at due: UnixTime) {
        let card = cards[index]
        if card.state == .ended {
            dismiss(index)
        } else if due >= card.startedAt + limits.activeFor {
            note(.eightHourLimit, "iOS ends a Live Activity after eight hours", at: due, card: card.localID)
            end(index, because: .eightHours, at: due, dismissesAt: due + limits.shownAfterEndFor)
        } else {
            cards[index].state = .stale
            noticeChange(of: index)
        }
        effects.append(.changed)
    }

    // MARK: Cards

    mutating func end(_ index: Int, because ending: Card.Ending, at now: UnixTime, dismissesAt: UnixTime) {
        cards[index].state = .ended
        cards[index].ending = ending
        cards[index].endedAt = now
        cards[index].dismissesAt = dismissesAt
        cards[index].isUnnoticed = true
        cards[index].wasWitnessed = profile.appState.runs
        retire(cards[index].token, .over, at: now)
        if dismissesAt <= now {
            dismiss(index)
        } else {
            noticeChange(of: index)
        }
        effects.append(.changed)
    }

    /// Takes a card off the lock screen; its end was told, or is told as soon as the app notices.
    mutating func dismiss(_ index: Int) {
        var card = cards.remove(at: index)
        card.state = .dismissed
        if card.isUnnoticed, !profile.appState.runs { card.wasWitnessed = false }
        dismissed.append(card)
        if dismissed.count > DeviceLimits.remembered { dismissed.removeFirst() }
        if card.isUnnoticed, noticesNow { tellNews(at: present) }
        effects.append(.changed)
    }

    /// The person's finger: a running card is over by it, an ended one only leaves the screen.
    mutating func swipe(_ index: Int, at now: UnixTime) {
        if cards[index].state.isRunning {
            end(index, because: .person, at: now, dismissesAt: now)
        } else {
            dismiss(index)
        }
    }

    mutating func endAll(because ending: Card.Ending, at now: UnixTime) {
        for index in cards.indices.reversed() {
            if cards[index].state.isRunning {
                end(index, because: ending, at: now, dismissesAt: now)
            } else {
                dismiss(index)
            }
        }
        delayed = []
    }

    // MARK: Log

    mutating func note(
        _ code: DeviceLogEntry.Code, _ words: String, at local: UnixTime, card localID: String? = nil,
        push: PushID? = nil
    ) {
        log.append(DeviceLogEntry(at: local, code: code, words: words, localID: localID, pushID: push))
        if log.count > DeviceLimits.logEntries { log.removeFirst(log.count - DeviceLimits.logEntries) }
        effects.append(.changed)
    }

    mutating func takeEffects() -> [PhoneEffect] {
        defer { effects = [] }
        return effects
    }
}

/// What follows from something that happened on a phone.
enum PhoneEffect: Sendable, Hashable {
    /// The app calls its server; there is one call at a time.
    case call(PhoneCall, PhoneCredentials)
    /// APNs knows this token from now on.
    case issued(hex: String, TokenUse)
    /// APNs learns that this token is over.
    case retired(hex: String, TokenEnd, at: UnixTime)
    /// What waits at APNs can be delivered.
    case cameOnline
    /// The lock screen or the device log is another one.
    case changed
}

/// What a token is for.
enum TokenUse: Sendable, Hashable {
    case device
    case pushToStart
    case update(localID: String)
    /// No token: whoever subscribed to the channel.
    case channel(ChannelID)
    /// What neither shows a notification nor a card.
    case other(PushType)
}

/// How a token came to its end.
enum TokenEnd: Sendable, Hashable {
    /// Another one took its place.
    case replaced
    /// The card is over: APNs goes on answering 200 for a while.
    case over
    /// The app was removed.
    case uninstalled
}

/// A push as it reaches a phone.
struct DevicePush: Sendable {
    let id: PushID
    let use: TokenUse
    let type: PushType
    let priority: Int
    let body: JSONObject
    var collapseID: String?
}
