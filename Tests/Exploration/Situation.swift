import APNSModel
package import LiveActivityCore
import TestSupport

/// One phone, one activity and one server at an instant, with everything on its way between them.
///
/// It is a value. The explorer copies it for each event that can come next.
package struct Situation: Sendable {
    let kind: Kind
    private(set) var focus: Focus
    /// All rows of the store.
    var rows = Snapshot()
    /// Time of the server and of the phone.
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
        /// Step of the content state that the card shows.
        var step: Int
        var revision: Revision
        /// Timestamp of the newest push that the card took, in seconds.
        var timestamp: Int64
        var appearedAt: UnixTime
        /// `true` if a renewal started the card beside another.
        var isSuccessor = false
        /// `true` if the app started the card. Beside a start that was on its way, the app must end the extra card.
        var isApps = false
        /// Number of tokens that iOS has given the card. The last one is valid.
        var tokens: UInt8 = 0
        /// Time of the last rotation or of the card's end. Earlier tokens are invalid from then on.
        var tokenEndedAt: UnixTime?
        var end: End?
        /// `true` if APNs has answered an end of the card, so that it is over for all that the server can know.
        var isEndAnswered = false
        /// `true` if the app has reported that the card is over.
        var isReported = false
        var isOver: Bool { end != nil }
    }

    struct Phone: Hashable {
        var cards: [Card] = []
        /// Number of times that the app announced a card of its own.
        var requests: UInt8 = 0
        var withdrawals: UInt8 = 0
        /// Number of the phone's last report.
        var sequence: Int64 = 0
    }

    /// A flight that the process has claimed and not settled.
    struct Held {
        enum Stage: Hashable {
            case sent(Event.Fate)
            /// A settlement recorded that the answer is awaited until this time.
            case awaited(Event.Fate, until: UnixTime)
        }
        var flight: Flight
        /// Step of the flight's content state.
        var step: Int
        var stage = Stage.sent(.notSent)
        /// Time in a 410 from which the token has been invalid.
        var inactiveSince: UnixTime?

        var seat: Flight.Seat { flight.seats[0] }
    }

    struct Process {
        var node: Int64 = 1
        /// `true` if the process has not claimed yet, so that flights of another process may be open.
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
        /// Number of the card, or `nil` for a start.
        var card: UInt8?
        var run: Int
        var step: Int
        var revision: Revision
        var alert: Revision
        var timestamp: Int64
        var expiresAt: UnixTime
    }

    /// Facts beside the rows that the promises are judged by.
    struct Seen: Hashable {
        struct Token: Hashable {
            var card: UInt8
            var version: UInt8
        }
        /// Tokens whose replacement or refusal was recorded.
        var dead: [Token] = []
        /// Newest token of each card that the server knows.
        var named: [Token] = []
        /// Number of the newest report that showed each card.
        var shownIn: [UInt8: Int64] = [:]
        /// Alerts that the phone has given.
        var rung: [Revision] = []
        /// Newest push to each card that APNs took.
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

    /// Set of events that an exploration plays. A search with fewer events goes deeper.
    package enum Focus: String, Sendable, CaseIterable {
        case everything
        /// Answers of APNs, and processes that die.
        case delivery
        /// Calls of the app that are late, duplicated, reordered or lost.
        case reports
        /// Runs, audiences, swiped cards, and their times.
        case lives
    }

    /// Activity types that are explored. They differ in what follows a card's end.
    package enum Kind: String, Sendable, CaseIterable {
        /// A card that is over is not started again.
        case order
        /// An alert starts a new card after the last is over. Cards are renewed before eight hours have passed.
        case ride
        /// A new card always follows one that is over. Cards are renewed.
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
    /// A copy in which every event is possible, regardless of the focus.
    var withEveryEvent: Self {
        var copy = self
        copy.focus = .everything
        return copy
    }
    func card(_ number: UInt8) -> Int? { phone.cards.firstIndex { $0.number == number } }
}
