internal import APNSModel
import IsletBasics
internal import JSONText
internal import LiveActivityRegistration

/// A phone with one app. Input passes through the rules of iOS, and consequences come out as values.
///
/// The type is pure: time is an argument, and random numbers come from a seed given at the start. Arguments are true
/// time, to which the phone adds its own skew. Everything that iOS does silently has a line in the device log. Every
/// method first advances the phone to `now`.
struct VirtualPhone: Sendable {
    let id: PhoneID
    let limits: DeviceLimits
    /// The settings at creation, with switches kept up to date. The app reports from them.
    var profile: PhoneSpecification
    var dice: SplitMix64
    var isInstalled = true
    /// `true` if the person tapped Allow or is never asked.
    var handsOutTokens: Bool
    /// Visible cards, in the order of their start.
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
    /// `true` if the app has a backend. Without one nothing is sent, and nothing is waited for.
    let hasBackend: Bool
    /// The app's storage across launches.
    var disk: RegistrationMemory
    /// The app's credentials. The borrowed one is the person whose own token the app would send.
    var keychain = PhoneCredentials()
    /// The latest notes of the client to the app's log.
    var notes: [PhoneNote] = []
    /// The client in the app's process; `nil` while the app does not run.
    var client: RegistrationMachine?
    /// Set to end the process around the next operation on a card that it asks of iOS.
    var death: Death?
    /// Time that iOS takes to list the cards after the next launches, as it may after a reboot.
    var listsCardsAfter = Duration.zero
    /// Time from which iOS lists the cards, in true time. Before it the list is empty.
    var listsCardsFrom: UnixTime?
    /// Number of launches of the app. An answer to an earlier process is dropped.
    var processes = 0
    var installations = 1
    /// The phone's own time up to which it has advanced.
    var present: UnixTime
    /// Effects of the running call so far.
    var effects: [PhoneEffect] = []

    /// The moment at which a process ends that asked iOS for something.
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

    /// Launches the app for the first time, which creates tokens and reports everything.
    mutating func install(at now: UnixTime) -> [PhoneEffect] {
        present = local(now)
        issueDeviceToken()
        issuePushToStartToken()
        reportEverything(at: local(now))
        restIfKilled()
        return takeEffects()
    }

    /// Advances time. Work that becomes due happens in order, each at its own instant.
    mutating func elapse(to now: UnixTime) -> [PhoneEffect] {
        settle(to: local(now))
        tick(at: local(now))
        return takeEffects()
    }

    /// Time at which `elapse` has something to do next, in true time.
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

    /// Removes a card from the lock screen. The app is told of its end as soon as it notices.
    mutating func dismiss(_ index: Int) {
        var card = cards.remove(at: index)
        card.state = .dismissed
        if card.isUnnoticed, !profile.appState.runs { card.wasWitnessed = false }
        dismissed.append(card)
        if dismissed.count > DeviceLimits.remembered { dismissed.removeFirst() }
        if card.isUnnoticed, noticesNow { tellNews(at: present) }
        effects.append(.changed)
    }

    /// Swipes a card away. A running card ends; an ended one only leaves the screen.
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

/// A consequence of something that happened on a phone.
enum PhoneEffect: Sendable, Hashable {
    /// The app calls its server. There is one call at a time.
    case call(PhoneCall, PhoneCredentials)
    /// APNs knows this token from now on.
    case issued(hex: String, TokenUse)
    /// APNs learns that this token has ended.
    case retired(hex: String, TokenEnd, at: UnixTime)
    /// A new card subscribes to this channel.
    case subscribed(ChannelID)
    /// The phone came online, so what waits at APNs can be delivered.
    case cameOnline
    /// The lock screen or the device log changed.
    case changed
}

/// The purpose of a token.
enum TokenUse: Sendable, Hashable {
    case device
    case pushToStart
    case update(localID: String)
    /// No token: the subscribers of the channel.
    case channel(ChannelID)
    /// A token for pushes that show neither a notification nor a card.
    case other(PushType)
}

/// The reason for a token's end.
enum TokenEnd: Sendable, Hashable {
    /// Another token replaced it.
    case replaced
    /// The card is over. APNs continues to answer 200 for a while.
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
