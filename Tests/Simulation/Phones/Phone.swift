import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// One phone with one app on it: what iOS does with pushes, and what the app says of it.
final class Phone {
    struct Card {
        var local: String
        var activity: String
        var type: String
        /// What the content state it shows is known by; negative: a state of the app's own.
        var step: Int
        /// The newest timestamp that it applied, in seconds; 0: none.
        var timestamp: Int64 = 0
        /// The newest of the app's own updates: iOS does not tell the app those of pushes.
        var ownTimestamp: Int64?
        var token: String?
        /// The broadcast channel that the app started it on: iOS gives it no token.
        var channel: ChannelID?
        /// In the server's time, where the app started it itself.
        var saysStartedAt: UnixTime?
        var isOver = false
        /// iOS ended it by itself, and the app has not looked since.
        var isOverUnseen = false
        /// The person swiped it away.
        var isSwiped = false
        /// The run and the revision that it shows, which a phone does not know.
        var run: Int
        var revision: Revision
        /// The app started it itself.
        var isApps = false
        /// The server has heard of it.
        var isReported = false
        var isSuccessor = false
        /// The push that started it; `nil`: the app did.
        var start: PushID?
    }

    /// What a push did.
    enum Effect {
        case appeared(Card)
        case applied(Card, before: Revision)
        case ended(Card, withState: Bool)
        /// Its timestamp is not newer than that of what is shown.
        case older(Card)
        case nothing(String)
        case notified
    }

    /// A report that stands in the store.
    struct Report {
        enum What {
            case card(local: String, activity: String, state: CardReport.State, token: String?)
            /// The cards that it lists, with their tokens.
            case inventory([(local: String, activity: String, token: String?)])
            case superseded
            case registered(user: String, deviceToken: String)
            case startToken(String, type: String)
            case signedOut
        }

        var phone: Phone
        var device: String
        var what: What
        /// The newest timestamps of the app's own updates that it names, by the cards' local ids.
        var timestamps: [String: Int64] = [:]
        /// By the process that took it.
        var now: UnixTime
    }

    let index: Int
    let app: AppSettings
    /// Grows each time that the app is installed anew.
    private(set) var installation = 0
    var user: String {
        didSet { session += 1 }
    }
    /// Grows when another person signs in.
    private(set) var session = 0
    /// Whom the server takes the phone for, as its last registration said, and how often that has become another.
    private(set) var knownUser = ""
    private(set) var handOvers = 0
    var isSignedIn = true
    var isOnline = true
    var offlineSince: Int64 = 0
    /// The person has killed the app: it does not run when a start comes.
    var isKilled = false
    let environment: APNSEnvironment
    let namesEnvironment: Bool
    let allowsFrequent: Bool
    /// The person allows Live Activities, in iOS's settings.
    private(set) var allowsActivities = true
    var startToken = ""
    var deviceToken = ""
    var cards: [Card] = []
    var stored: (push: Push, destination: VirtualAPNS.Destination)?
    /// Cards whose end APNs has answered: they are over for all that anybody can know.
    var endTaken: Set<String> = []
    /// Grows with each report, of a card or of all.
    var sequence: Int64 = 0
    /// The number of the newest report that the server took and that showed the card, by its local id.
    var newestTaken: [String: Int64] = [:]
    var cardsMade = 0
    /// How far the server's clock was from the true time when the app last had an answer: the app goes by that.
    var knownClock: Int64 = 0
    /// When the last of its calls arrives: they go one after another.
    var callsUntil: Int64 = 0
    /// The installations it had, by their ids.
    private(set) var devices: Set<String> = []

    init(index: Int, app: AppSettings, user: String, _ dice: inout SeededDice) {
        self.index = index
        self.app = app
        self.user = user
        let isSandbox = app.environments.contains(.sandbox) && dice.chance(15)
        environment = isSandbox ? .sandbox : .production
        namesEnvironment = dice.chance(70)
        allowsFrequent = dice.chance(50)
        allowsActivities = !dice.chance(3)
        devices = [device]
    }

    var name: String { "phone \(index)" }
    /// The app's id of this installation.
    var device: String { "phone\(index)-\(installation)" }
    var key: DeviceKey { Self.key(device) }

    static func key(_ device: String) -> DeviceKey {
        DeviceKey(bitPattern: Digest.fnv1a(device.utf8) >> 1)
    }

    /// A registration stands: report numbers begin anew with another person.
    func isKnown(as user: String) {
        guard user != knownUser else { return }
        knownUser = user
        handOvers += 1
    }

    /// The server's time, as the app knows it.
    func time(in world: World) -> UnixTime { world.trueTime + .milliseconds(knownClock) }

    /// The app is deleted and installed anew: cards are gone, tokens lead nowhere, and it has another id.
    func reinstall(in world: World) {
        for card in cards.indices { close(card, in: world) }
        world.count(.installedAnew)
        let delay = world.pick([Int64(0), 5000, 600_000])
        world.apns.withdraw(startToken, at: world.now, knownAfter: delay)
        world.apns.withdraw(deviceToken, at: world.now, knownAfter: delay)
        cards = []
        stored = nil
        sequence = 0
        installation += 1
        devices.insert(device)
        takeTokens(in: world)
    }

    /// The person allows Live Activities, or does not any more: iOS takes away those that are there.
    func toggleActivities(in world: World) {
        allowsActivities.toggle()
        world.count(.activitiesToggled)
        world.note(name, allowsActivities ? "allows Live Activities" : "allows Live Activities no more")
        guard !allowsActivities else { return }
        for card in cards.indices where !cards[card].isOver { close(card, in: world) }
    }

    func takeTokens(in world: World) {
        startToken = world.apns.issue(.start, self)
        deviceToken = world.apns.issue(.device, self)
    }

    func close(_ index: Int, in world: World) {
        guard !cards[index].isOver else { return }
        cards[index].isOver = true
        // APNs goes on answering 200 for a while.
        world.apns.withdraw(
            cards[index].token, at: world.now, knownAfter: world.isCalm ? 0 : world.pick([0, 0, 2000, 1_800_000]))
    }

    /// iOS hands out another token for a card, or its first; to one on a channel none.
    func giveToken(_ index: Int, in world: World) {
        guard cards[index].channel == nil else { return }
        world.apns.withdraw(
            cards[index].token, at: world.now, knownAfter: world.isCalm ? 0 : world.pick([0, 1000, 60_000]))
        cards[index].token = world.apns.issue(.card(cards[index].local), self)
    }

    func newCard(_ activity: String, _ type: String, step: Int, run: Int, in world: World) -> Card {
        cardsMade += 1
        let local = "\(device)-card\(cardsMade)"
        // iOS ends a card eight hours after its start.
        world.after(Reconciler.activityLifetime.wholeMilliseconds) { [self] in
            guard let index = cards.firstIndex(where: { $0.local == local }), !cards[index].isOver else { return }
            world.note(name, "iOS ends \(local) after eight hours")
            close(index, in: world)
            cards[index].isOverUnseen = true
        }
        return Card(local: local, activity: activity, type: type, step: step, run: run, revision: 0)
    }
}

extension Phone.Effect {
    func words(_ sent: SentPush) -> String {
        switch self {
        case .appeared(let card): "\(card.local) of \(card.activity) appears, step \(card.step)"
        case .applied(let card, _): "\(card.local) shows step \(card.step), ts \(card.timestamp)"
        case .ended(let card, _): "\(card.local) is ended, step \(card.step)"
        case .older(let card): "ignores \(sent.words): \(card.local) is at ts \(card.timestamp)"
        case .nothing(let why): "\(why): \(sent.words)"
        case .notified: "shows \(sent.words)"
        }
    }
}
