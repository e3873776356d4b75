import APNSModel
import JSONText
import LiveActivityCore
import TestSupport

/// A phone with one app. It plays both iOS's part with pushes and the app's part with reports.
final class Phone {
    struct Card {
        var local: String
        var activity: String
        var type: String
        /// Number of the content state that the card shows. A negative number is a state of the app's own.
        var step: Int
        /// Newest timestamp that the card applied, in seconds, or 0 for none.
        var timestamp: Int64 = 0
        /// Newest timestamp of the app's own updates. iOS does not tell the app the timestamps of pushes.
        var ownTimestamp: Int64?
        var token: String?
        /// Broadcast channel on which the app started the card. iOS gives such a card no token.
        var channel: ChannelID?
        /// Start time in the server's time, if the app started the card.
        var saysStartedAt: UnixTime?
        var isOver = false
        /// `true` if iOS ended the card by itself and the app has not looked since.
        var isOverUnseen = false
        /// `true` if the person swiped the card away.
        var isSwiped = false
        /// Run and revision that the card shows. A real phone does not know them.
        var run: Int
        var revision: Revision
        /// `true` if the app started the card.
        var isApps = false
        /// `true` if the server has received a report of the card.
        var isReported = false
        var isSuccessor = false
        /// Push that started the card, or `nil` if the app did.
        var start: PushID?
    }

    /// Effect of a push on the phone.
    enum Effect {
        case appeared(Card)
        case applied(Card, before: Revision)
        case ended(Card, withState: Bool)
        /// The push's timestamp is not newer than that of the state shown.
        case older(Card)
        case nothing(String)
        case notified
    }

    /// A report that the server has accepted.
    struct Report {
        enum What {
            case card(local: String, activity: String, state: CardReport.State, token: String?)
            /// Cards that the inventory lists, with their tokens.
            case inventory([(local: String, activity: String, token: String?)])
            case superseded
            case registered(user: String, deviceToken: String)
            case startToken(String, type: String)
            case signedOut
        }

        var phone: Phone
        var device: String
        var what: What
        /// Newest timestamps of the app's own updates in the report, by local id.
        var timestamps: [String: Int64] = [:]
        /// Wall-clock time of the process that took the report.
        var now: UnixTime
    }

    let index: Int
    let app: AppSettings
    /// Number of times that the app was installed again.
    private(set) var installation = 0
    var user: String {
        didSet { session += 1 }
    }
    /// Number of times that another person signed in.
    private(set) var session = 0
    /// Person whom the server associates with the phone, from the last registration.
    private(set) var knownUser = ""
    private(set) var handOvers = 0
    var isSignedIn = true
    var isOnline = true
    var offlineSince: Int64 = 0
    /// `true` if the person has killed the app. It does not run when a start arrives.
    var isKilled = false
    let environment: APNSEnvironment
    let namesEnvironment: Bool
    let allowsFrequent: Bool
    /// `true` if the app can have cards on channels.
    let hasChannels: Bool
    /// `true` if the person allows Live Activities in iOS's settings.
    private(set) var allowsActivities = true
    var startToken = ""
    var deviceToken = ""
    var cards: [Card] = []
    var stored: (push: Push, destination: VirtualAPNS.Destination)?
    /// Cards whose end APNs has answered. They are over for every observer except the phone.
    var endTaken: Set<String> = []
    /// Number of the latest report of a card or of all cards.
    var sequence: Int64 = 0
    /// Number of the newest accepted report that showed each card, by local id.
    var newestTaken: [String: Int64] = [:]
    var cardsMade = 0
    /// Offset of the server's clock from true time at the app's last answer. The app uses it.
    var knownClock: Int64 = 0
    /// Arrival time of the app's last call. Calls arrive in order.
    var callsUntil: Int64 = 0
    /// Device ids of all installations so far.
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
        hasChannels = dice.chance(80)
        devices = [device]
    }

    var name: String { "phone \(index)" }
    /// Device id of this installation.
    var device: String { "phone\(index)-\(installation)" }
    var key: DeviceKey { Self.key(device) }

    static func key(_ device: String) -> DeviceKey {
        DeviceKey(bitPattern: Digest.fnv1a(device.utf8) >> 1)
    }

    /// Records an accepted registration. Report numbers begin again with another person.
    func isKnown(as user: String) {
        guard user != knownUser else { return }
        knownUser = user
        handOvers += 1
    }

    /// Returns the server's time as the app knows it.
    func time(in world: World) -> UnixTime { world.trueTime + .milliseconds(knownClock) }

    /// Deletes and reinstalls the app: its cards are gone, its tokens are invalid, and it has another id.
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

    /// Allows Live Activities or forbids them. When forbidden, iOS removes the cards that are there.
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
        // APNs continues to answer 200 for a while.
        world.apns.withdraw(
            cards[index].token, at: world.now, knownAfter: world.isCalm ? 0 : world.pick([0, 0, 2000, 1_800_000]))
    }

    /// Gives a card its first or its next token. A card on a channel gets none.
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
