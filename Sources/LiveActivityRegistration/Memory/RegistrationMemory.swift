package import JSONText
package import LiveActivityAPI

/// The memory of a phone's app across launches: what it found, and what of it the server has confirmed.
///
/// Everything that is not confirmed is pending, so there is no other queue.
package struct RegistrationMemory: Sendable, Hashable, Codable {
    /// The id of this installation.
    package internal(set) var device: String
    /// The signed-in person.
    package internal(set) var user: String?
    /// `true` if the app said that nobody is signed in. Without a person and without this the app has not said anything
    /// yet.
    var isSignedOut = false
    /// `true` while the server may not know that the last person left.
    package internal(set) var isLeaving = false
    /// The person whose cards ended here without the server's knowledge, or `nil` for nobody.
    var leaver: String?
    /// `true` if the server may have the person signed in here, and nothing that it gave proves that this is their
    /// phone.
    var isUnproven = false
    /// The phone as it was last seen. Its `user` means nothing.
    var facts = DeviceRequest(user: "")
    /// The facts that the server has confirmed.
    var confirmed: DeviceRequest?
    var startTokens: [String: TokenText] = [:]
    var confirmedStartTokens: [String: TokenText] = [:]
    /// Tokens that the server knows to be dead. They are never sent again.
    var deadTokens: [TokenText] = []
    var cards: [String: CardMemory] = [:]
    /// The local ids of cards that are over and reported. Later news of them is old.
    var over: [String] = []
    /// The ended cards that may still be on the lock screen, the newest last, or `nil` if there never were any.
    var farewells: [Farewell]?
    /// The number of the last inventory.
    var sequence = 0
    var owesInventory = true
    /// The counter that numbers cards in the order of their appearance, and announcements of starts.
    var counter = 0

    /// The most cards that are remembered as over. iOS keeps an ended card for four hours.
    static let overLimit = 128
    /// The most cards that are remembered as gone, in case they are there after all.
    static let lostLimit = 16
    static let deadLimit = 16

    /// Creates the memory of an app that was just installed.
    package init(device: String) {
        self.device = device
    }

    /// The content that each card is known to hold.
    package var contents: [String: JSONObject] { cards.compactMapValues(\.content) }

    /// Returns how often the person opened the app by a card.
    package func opens(of localID: String) -> Int { cards[localID]?.opens ?? 0 }

    mutating func bury(_ localID: String) {
        cards[localID] = nil
        over.removeAll { $0 == localID }
        over.append(localID)
        if over.count > Self.overLimit { over.removeFirst() }
    }

    /// Drops the oldest cards that are gone and reported as gone. Some are kept, because iOS may just not have listed
    /// them.
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

    /// Forgets moments of the steady clock of an earlier process, which mean nothing to this one.
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

/// A card as the app remembers it.
struct CardMemory: Sendable, Hashable, Codable {
    var type: String
    var activity: String?
    var attributes: JSONObject?
    var content: JSONObject?
    var token: TokenText?
    /// The broadcast channel whose pushes the card shows, while it has no token.
    var channel: String?
    /// The broadcast channel that the server named when the app started the card, or `nil` for none.
    var serversChannel: String?
    var state: InstanceRequest.State
    /// The number of times the person opened the app by the card, or `nil` for none.
    var opens: Int?
    /// `true` if the app started the card, not a push.
    var isOwn = false
    /// The time at which the app started the card, by the server's clock.
    var startedAt: Instant?
    /// The start of the card as the server knows it.
    var begunAt: Instant?
    /// The card's place in the order in which cards were seen.
    var number: Int
    /// The time at which the card was first seen, in milliseconds since 1970, by the phone's clock if the server's was
    /// not known.
    var seenAt: Int
    /// The newest timestamp of an update by the app, in seconds since 1970.
    var lastTimestamp: Int?
    /// The newest timestamp of the server's pushes to the card, in seconds since 1970.
    var pushedTimestamp: Int?
    /// The revision that the card shows, if it is known.
    var revision: Int?
    /// The time from which the card looks outdated, as the app last set it.
    var staleAt: Instant?
    /// The app's own change, until the server's next state.
    var ahead: LocalChange?
    /// The updates from which iOS has not returned, the oldest first. Until it returns, the card's content is the
    /// previous one.
    var changes: [Change] = []
    /// A number that grows with every change that is to be reported.
    var version = 1
    var confirmedVersion = 0

    struct LocalChange: Sendable, Hashable, Codable {
        /// The revision that the card showed before the change, if it was known.
        var basedOn: Int?
        /// The moment of the change on the steady clock, or `nil` if an earlier process made it.
        var at: Int?
    }

    /// An update on its way to the card.
    struct Change: Sendable, Hashable, Codable {
        let number: Int
        /// The content of the card before the update.
        var held: JSONObject?
        let content: JSONObject
        let staleAt: Instant?
        let timestamp: Int?
        /// The server's revision, or `nil` for the app's own change.
        let revision: Int?
        /// The app's own change with its base, or `nil` for a revision of the server.
        var ahead: LocalChange?
    }

    /// The most updates on their way. An app that changes a card faster than iOS accepts loses the oldest.
    static let changeLimit = 16

    /// Notes what the card holds now, whoever changed it.
    mutating func hold(_ content: JSONObject?) {
        self.content = content
        for index in changes.indices { changes[index].held = content }
    }

    var isOnChannel: Bool { channel != nil && token == nil }
    /// `true` if the card is on a channel of the app's own, to which the server sends nothing.
    var isOnOwnChannel: Bool { isOnChannel && channel != serversChannel }
    var isRunning: Bool { state.isRunning }
    /// The newest of all timestamps. A newer update has a newer one.
    var newestTimestamp: Int? {
        ([lastTimestamp, pushedTimestamp] + changes.map(\.timestamp)).compactMap(\.self).max()
    }
    var isPending: Bool { version > confirmedVersion }
}

extension InstanceRequest.State {
    /// `true` if updates still change such a card.
    package var isRunning: Bool {
        switch self {
        case .pending, .active, .stale: true
        case .requesting, .notStarted, .ended, .dismissed, .gone, .duplicate: false
        }
    }
}
