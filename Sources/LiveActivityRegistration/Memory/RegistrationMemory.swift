package import JSONText
package import LiveActivityAPI

/// What a phone's app has to remember across launches: what it found, and what of it the server has confirmed.
///
/// Whatever is not confirmed is pending, so that nothing else has to be queued.
package struct RegistrationMemory: Sendable, Hashable, Codable {
    /// The id of this installation.
    package internal(set) var device: String
    /// Who is signed in.
    package internal(set) var user: String?
    /// The app said that nobody is; without a person and without this it has not said anything yet.
    var isSignedOut = false
    /// The server may not know yet that the last person left.
    package internal(set) var isLeaving = false
    /// Whose cards ended here without the server's knowing of it; `nil`: nobody's.
    var leaver: String?
    /// The server may have the person signed in here, and nothing that it gave proves that this is their phone.
    var isUnproven = false
    /// The phone as it was seen last; its `user` means nothing.
    var facts = DeviceRequest(user: "")
    /// What the server has confirmed of it.
    var confirmed: DeviceRequest?
    var startTokens: [String: TokenText] = [:]
    var confirmedStartTokens: [String: TokenText] = [:]
    /// Values that the server knows to be dead: never sent again.
    var deadTokens: [TokenText] = []
    var cards: [String: CardMemory] = [:]
    /// Cards that are over and reported, by local id: whatever comes of them is old news.
    var over: [String] = []
    /// Those of them that may still be on the lock screen, newest last; `nil`: none ever was.
    var farewells: [Farewell]?
    /// The number of the last inventory.
    var sequence = 0
    var owesInventory = true
    /// Numbers cards in the order in which they were seen, and the words before a start.
    var counter = 0

    /// The most cards that are remembered as over: iOS keeps an ended one for four hours.
    static let overLimit = 128
    /// The most cards that are remembered as gone, should they be there after all.
    static let lostLimit = 16
    static let deadLimit = 16

    /// The memory of an app that was just installed.
    package init(device: String) {
        self.device = device
    }

    /// What each card is known to hold.
    package var contents: [String: JSONObject] { cards.compactMapValues(\.content) }

    /// How often the person opened the app by a card.
    package func opens(of localID: String) -> Int { cards[localID]?.opens ?? 0 }

    mutating func bury(_ localID: String) {
        cards[localID] = nil
        over.removeAll { $0 == localID }
        over.append(localID)
        if over.count > Self.overLimit { over.removeFirst() }
    }

    /// A card that is gone, and reported as that, is kept: iOS may just not have listed it. Not all of them for ever.
    mutating func forgetLost() {
        let lost = cards.filter { $0.value.state == .gone && !$0.value.isPending }
        for (localID, _) in lost.sorted(by: { $0.value.number < $1.value.number }).dropLast(Self.lostLimit) {
            bury(localID)
        }
    }

    mutating func bury(dead token: TokenText) {
        guard !deadTokens.contains(token) else { return }
        deadTokens.append(token)
        if deadTokens.count > Self.deadLimit { deadTokens.removeFirst() }
    }

    /// The steady clock of an earlier process says nothing to this one.
    mutating func forgetMoments() {
        for localID in cards.keys {
            cards[localID]?.ahead?.at = nil
            for index in cards[localID]?.changes.indices ?? 0..<0 { cards[localID]?.changes[index].ahead?.at = nil }
        }
    }

    mutating func count() -> Int {
        counter += 1
        return counter
    }
}

/// One card as the app remembers it.
struct CardMemory: Sendable, Hashable, Codable {
    var type: String
    var activity: String?
    var attributes: JSONObject?
    var content: JSONObject?
    var token: TokenText?
    /// The broadcast channel whose pushes it shows, as long as it has no token.
    var channel: String?
    var state: InstanceRequest.State
    /// How often the person opened the app by it; `nil`: never.
    var opens: Int?
    /// The app started it, not a push.
    var isOwn = false
    /// When the app started it, by the server's clock.
    var startedAt: Instant?
    /// When it was started, as the server knows.
    var begunAt: Instant?
    /// Its place in the order in which cards were seen.
    var number: Int
    /// When it was first seen, in milliseconds since 1970; by the phone's clock where the server's was not known.
    var seenAt: Int
    /// The newest timestamp of an update by the app, in seconds since 1970.
    var lastTimestamp: Int?
    /// The newest timestamp that the server has used for it, in seconds since 1970.
    var pushedTimestamp: Int?
    /// The revision that it shows, where that is known.
    var revision: Int?
    /// When it was to look outdated, as the app last said.
    var staleAt: Instant?
    /// The app's own change of it, until the server's next state.
    var ahead: LocalChange?
    /// What iOS was asked to show and has not come back from, oldest first. The card's own until then is what it held.
    var changes: [Change] = []
    /// Grows with all that is to be reported.
    var version = 1
    var confirmedVersion = 0

    struct LocalChange: Sendable, Hashable, Codable {
        /// The revision that the card showed before, where that was known.
        var basedOn: Int?
        /// When, on the steady clock; `nil`: an earlier process did it.
        var at: Int?
    }

    /// One update on its way to the card.
    struct Change: Sendable, Hashable, Codable {
        let number: Int
        /// What the card held before it.
        var held: JSONObject?
        let content: JSONObject
        let staleAt: Instant?
        let timestamp: Int?
        /// The server's revision that it is; `nil`: the app's own.
        let revision: Int?
        /// The app's own change, with what it is based on.
        var ahead: LocalChange?
    }

    /// More are never on their way: an app that changes a card faster than iOS takes it loses the oldest.
    static let changeLimit = 16

    /// What the card holds now, whoever changed it.
    mutating func hold(_ content: JSONObject?) {
        self.content = content
        for index in changes.indices { changes[index].held = content }
    }

    var isOnChannel: Bool { channel != nil && token == nil }
    var isRunning: Bool { state.isRunning }
    /// A newer update has a newer timestamp than all of these.
    var newestTimestamp: Int? {
        ([lastTimestamp, pushedTimestamp] + changes.map(\.timestamp)).compactMap(\.self).max()
    }
    var isPending: Bool { version > confirmedVersion }
}

extension InstanceRequest.State {
    /// Whether updates still change such a card.
    package var isRunning: Bool {
        switch self {
        case .pending, .active, .stale: true
        case .requesting, .notStarted, .ended, .dismissed, .gone, .duplicate: false
        }
    }
}
