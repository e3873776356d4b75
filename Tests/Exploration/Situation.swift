import APNSModel
package import LiveActivityCore
import TestSupport

/// One phone, one activity and one server at an instant, with everything that is on its way between them.
///
/// A value: whoever explores copies it for each event that can come next.
package struct Situation: Sendable {
    let kind: Kind
    private(set) var focus: Focus
    /// All rows of the store.
    var rows = Snapshot()
    /// The server's time, which is also the phone's.
    var now = Sample.now
    var phone = Phone()
    var process = Process()
    /// Calls of the app that are on their way to the server.
    var calls: [Call] = []
    /// Pushes that APNs has and the phone does not.
    var pushes: [Push] = []
    var backend = Backend()
    var seen = Seen()

    package init(_ kind: Kind, _ focus: Focus) {
        self.kind = kind
        self.focus = focus
    }

    struct Backend: Hashable {
        var puts: UInt8 = 0
        var alerts: UInt8 = 0
        var ends: UInt8 = 0
        var leaves: UInt8 = 0
    }

    /// A card on the phone's lock screen, or one that was there.
    struct Card: Hashable {
        enum End: Hashable { case byPush, bySystem, swiped }

        var number: UInt8
        var run: Int
        /// The step of the content state that the card shows.
        var step: Int
        var revision: Revision
        /// The timestamp of the newest push that the card took, in seconds.
        var timestamp: Int64
        var appearedAt: UnixTime
        /// A renewal started the card beside another.
        var isSuccessor = false
        /// The app started it itself: beside a start that was on its way, it is the app that has one too many.
        var isApps = false
        /// The number of tokens that iOS has given the card. The last one is valid.
        var tokens: UInt8 = 0
        /// The time of the last rotation, or of the card's end: tokens from before lead nowhere since then.
        var tokenEndedAt: UnixTime?
        var end: End?
        /// APNs has answered an end of it, so that it is over for all that the server can know.
        var isEndAnswered = false
        /// The app has reported that the card is over.
        var isReported = false
        var isOver: Bool { end != nil }
    }

    struct Phone: Hashable {
        var cards: [Card] = []
        /// How often its app said that it would start a card itself.
        var requests: UInt8 = 0
        var withdrawals: UInt8 = 0
        /// The number of its last report.
        var sequence: Int64 = 0
    }

    /// A flight that the process has claimed and not settled.
    struct Held {
        enum Stage: Hashable {
            case sent(Event.Fate)
            /// A settlement wrote that the answer is awaited until this time.
            case awaited(Event.Fate, until: UnixTime)
        }
        var flight: Flight
        /// The step of the flight's content state.
        var step: Int
        var stage = Stage.sent(.notSent)
        /// The time that APNs names with a 410: since then the token leads nowhere.
        var inactiveSince: UnixTime?

        var seat: Flight.Seat { flight.seats[0] }
    }

    struct Process {
        var node: Int64 = 1
        /// The process has not yet claimed, so flights of another process may be open.
        var isNew = false
        var held: [Held] = []
    }

    /// A call of the app.
    struct Call: Hashable {
        struct Listed: Hashable {
            var card: UInt8
            var step: Int
            var token: UInt8
        }
        enum What: Hashable {
            case report(Listed)
            case over(UInt8, dismissed: Bool)
            case inventory([Listed])
            /// The app is about to start a card itself.
            case request
            case withdraw
        }
        var what: What
        var sequence: Int64
        var madeAt: UnixTime
    }

    /// A push on its way from APNs to the phone.
    struct Push: Hashable {
        var kind: PushKind
        var isSuccessor: Bool
        /// `nil` for a start.
        var card: UInt8?
        var run: Int
        var step: Int
        var revision: Revision
        var alert: Revision
        var timestamp: Int64
        var expiresAt: UnixTime
    }

    /// Facts that the promises are judged by, beside the rows.
    struct Seen: Hashable {
        struct Token: Hashable {
            var card: UInt8
            var version: UInt8
        }
        /// Tokens whose replacement or refusal was written down.
        var dead: [Token] = []
        /// The newest token of each card that the server was told of.
        var named: [Token] = []
        /// The number of the newest report that showed a card.
        var shownIn: [UInt8: Int64] = [:]
        /// Alerts that the phone has rung for.
        var rung: [Revision] = []
        /// The newest push to each card that APNs took.
        var stamps: [UInt8: Stamp] = [:]

        struct Stamp: Hashable {
            var timestamp: Int64
            var revision: Revision
        }
    }
}

// MARK: - Constants of the scene

extension Situation {
    static let device = Sample.device("phone")
    static let deviceKey: DeviceKey = 7
    static let user = Sample.user("ann")
    static let activityID = Sample.activityID("a")

    /// The set of events that an exploration plays. A search with fewer events goes deeper.
    package enum Focus: String, Sendable, CaseIterable {
        case everything
        /// Answers of APNs, and processes that die.
        case delivery
        /// Calls of the app that come late, twice, in another order or never.
        case reports
        /// Runs, audiences, cards that are swiped away, and their times.
        case lives
    }

    /// The activity types that are explored. They differ in what follows a card's end.
    package enum Kind: String, Sendable, CaseIterable {
        /// A card that is over stays away.
        case order
        /// An alert brings it back, and it is renewed before eight hours are over.
        case ride
        /// It always comes back, and is renewed.
        case watch

        var renews: Bool { self != .order }

        static let types = Dictionary(uniqueKeysWithValues: allCases.map { ($0, type(of: $0)) })

        private static func type(of kind: Kind) -> ActivityType {
            Sample.type(kind.rawValue) { policy in
                switch kind {
                case .order: break
                case .ride:
                    policy.restart = .onAlert
                    policy.renewal = true
                case .watch:
                    policy.restart = .always
                    policy.renewal = true
                }
            }
        }

        static let app = AppSettings(
            bundleID: Sample.bundleID, types: allCases.compactMap { types[$0] }, environments: [.production])
    }

    /// Limits on the number of cards, and of tokens for each card.
    static let mostCards = 4
    static let mostTokens = 2
    private static let tokens = (0...mostCards).map { card in
        (0...mostTokens).map { Sample.token("card \(card) token \($0)", as: UpdateTokenKind.self) }
    }
    private static let tokensByValue = Dictionary(
        uniqueKeysWithValues: tokens.enumerated().flatMap { card, all in
            all.enumerated().map { version, token in
                (TokenValue(token), Seen.Token(card: UInt8(card), version: UInt8(version)))
            }
        })
    private static let locals = (0...mostCards).map { Sample.local("card-\($0)") }

    static func token(_ card: UInt8, _ version: UInt8) -> UpdateToken? {
        version == 0 ? nil : tokens[Int(card)][Int(version)]
    }
    static func token(of value: TokenValue) -> Seen.Token? { tokensByValue[value] }
    static func local(_ card: UInt8) -> LocalID { locals[Int(card)] }
}

// MARK: - Looking

extension Situation {
    var activity: ActivityRecord? {
        rows.activityNumbers[.init(Sample.bundleID, Self.activityID)].flatMap { rows.activities[$0] }
    }

    var instanceKey: Snapshot.PhoneKey? { activity.map { .init($0.number, Self.deviceKey) } }
    package var instance: CardMachine? { instanceKey.flatMap { rows.cards[$0] } }
    var updateToken: UpdateTokenRecord? { instanceKey.flatMap { rows.updateTokens[$0] } }
    var lane: LaneRecord? { activity.flatMap { rows.lanes[$0.number]?.first } }
    var isInAudience: Bool { activity.map { rows.members[$0.number]?.isEmpty == false } ?? false }
    var nextWorkAt: UnixTime? { ModelStore(rows: rows).nextWakeAt }
    /// The same situation in which every event counts as possible, whatever the focus.
    var withEveryEvent: Self {
        var copy = self
        copy.focus = .everything
        return copy
    }
    func card(_ number: UInt8) -> Int? { phone.cards.firstIndex { $0.number == number } }
}
